#include "test/runtime/comm/CommunicatorConformance.h"

#include "runtime/base/Half.h"
#include "runtime/comm/Ring.h"
#include "runtime/plan/KernelDefs.h"
#include "runtime/plan/Traffic.h"

#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>

namespace cleave::rt::test {

namespace {

// Element i of rank r. All are different, and none is exact in binary.
double element(int rank, size_t i) { return std::sin(0.1 + rank * 7.3 + static_cast<double>(i) * 0.37); }

template <typename T> std::vector<T> values(int rank, size_t count) {
  std::vector<T> result(count);
  for (size_t i = 0; i < count; ++i)
    result[i] = static_cast<T>(static_cast<float>(element(rank, i)));
  return result;
}

std::string differs(const char *what, size_t i, double got, double expected) {
  return std::string(what) + " element " + std::to_string(i) + ": got " + std::to_string(got) + ", expected " +
         std::to_string(expected);
}

// The ring's documented order: c+1, c+2, ..., c. Each partial sum is rounded to T.
template <typename T> T ringSum(const Group &group, size_t i, size_t chunk) {
  int n = group.size();
  auto at = [&](int k) {
    return values<T>(group.members[static_cast<size_t>((static_cast<int>(chunk) + k) % n)], i + 1)[i];
  };
  T sum = at(1);
  for (int k = 2; k <= n; ++k)
    sum = static_cast<T>(sum + at(k));
  return sum;
}

template <typename T> struct Ringed {
  std::vector<T> data, staging;
  RingData ring;
};

template <typename T> Ringed<T> ringed(Communicator &comm, const Group &group, size_t perRank, fb::DType dtype) {
  Ringed<T> r;
  size_t count = perRank * static_cast<size_t>(group.size());
  r.data = values<T>(comm.rank(), count);
  r.staging.resize(perRank);
  r.ring = {reinterpret_cast<std::byte *>(r.data.data()), reinterpret_cast<std::byte *>(r.staging.data()), count,
            dtype};
  return r;
}

template <typename T>
std::string allReduce(Communicator &comm, const Group &group, size_t perRank, fb::DType dtype, double tolerance) {
  auto r = ringed<T>(comm, group, perRank, dtype);
  uint64_t before = comm.bytesSent();
  if (Status s = ringAllReduce(comm, group, 0, r.ring); !s.isOk())
    return s.message();
  size_t bytes = r.data.size() * sizeof(T), n = static_cast<size_t>(group.size());
  if (comm.bytesSent() - before != 2 * (n - 1) * bytes / n)
    return "sent " + std::to_string(comm.bytesSent() - before) + " bytes for " + std::to_string(bytes);
  for (size_t i = 0; i < r.data.size(); ++i) {
    double exact = 0;
    for (int member : group.members)
      exact += element(member, i);
    if (std::abs(static_cast<double>(r.data[i]) - exact) > tolerance * static_cast<double>(n))
      return differs("all_reduce", i, static_cast<double>(r.data[i]), exact);
    T bitwise = ringSum<T>(group, i, i / perRank);
    if (std::memcmp(&bitwise, &r.data[i], sizeof(T)) != 0)
      return differs("the ring order of", i, static_cast<double>(r.data[i]), static_cast<double>(bitwise));
  }
  return "";
}

std::string reduceScatter(Communicator &comm, const Group &group, size_t perRank, unsigned channel = 0) {
  auto r = ringed<double>(comm, group, perRank, fb::DType::f64);
  uint64_t before = comm.bytesSent();
  if (Status s = ringReduceScatter(comm, group, channel, r.ring); !s.isOk())
    return s.message();
  // The counter is for all channels, so it is exact only if no other channel is used.
  if (channel == 0 && comm.bytesSent() - before != static_cast<uint64_t>(group.size() - 1) * perRank * 8)
    return "reduce_scatter sent " + std::to_string(comm.bytesSent() - before) + " bytes";
  size_t first = static_cast<size_t>(group.index) * perRank;
  for (size_t i = first; i < first + perRank; ++i) {
    double exact = 0;
    for (int member : group.members)
      exact += static_cast<double>(static_cast<float>(element(member, i)));
    if (std::abs(r.data[i] - exact) > 1e-12)
      return differs("reduce_scatter", i, r.data[i], exact);
  }
  return "";
}

std::string allGather(Communicator &comm, const Group &group, size_t perRank, unsigned channel = 1) {
  auto r = ringed<double>(comm, group, perRank, fb::DType::f64);
  if (Status s = ringAllGather(comm, group, channel, r.ring); !s.isOk())
    return s.message();
  for (size_t i = 0; i < r.data.size(); ++i) {
    double exact = static_cast<float>(element(group.members[i / perRank], i));
    if (r.data[i] != exact)
      return differs("all_gather", i, r.data[i], exact);
  }
  return "";
}

// The root gets the same bits as from an all-reduce.
std::string reduce(Communicator &comm, const Group &group, size_t perRank, int root) {
  auto r = ringed<float>(comm, group, perRank, fb::DType::f32);
  uint64_t before = comm.bytesSent();
  if (Status s = ringReduce(comm, group, 0, r.ring, root); !s.isOk())
    return s.message();
  size_t bytes = r.data.size() * sizeof(float), n = static_cast<size_t>(group.size());
  if (comm.bytesSent() - before != reduceBytesSent(bytes, n, group.index == root))
    return "reduce sent " + std::to_string(comm.bytesSent() - before) + " of " + std::to_string(bytes) + " bytes";
  for (size_t i = 0; i < r.data.size() && group.index == root; ++i) {
    float bitwise = ringSum<float>(group, i, i / perRank);
    if (std::memcmp(&bitwise, &r.data[i], sizeof(float)) != 0)
      return differs("reduce", i, r.data[i], bitwise);
  }
  return "";
}

std::string broadcast(Communicator &comm, const Group &group, size_t perRank, int root, unsigned channel = 0) {
  auto r = ringed<double>(comm, group, perRank, fb::DType::f64);
  uint64_t before = comm.bytesSent();
  if (Status s = ringBroadcast(comm, group, channel, r.ring, root); !s.isOk())
    return s.message();
  uint64_t bytes = r.data.size() * sizeof(double), n = static_cast<uint64_t>(group.size());
  if (comm.bytesSent() - before != broadcastBytesSent(bytes, n, group.index == root))
    return "broadcast sent " + std::to_string(comm.bytesSent() - before) + " of " + std::to_string(bytes) + " bytes";
  std::vector<double> expected = values<double>(group.members[static_cast<size_t>(root)], r.data.size());
  for (size_t i = 0; i < r.data.size(); ++i)
    if (r.data[i] != expected[i])
      return differs("broadcast", i, r.data[i], expected[i]);
  return "";
}

std::string fromEveryRoot(Communicator &comm, const Group &group) {
  for (int root = 0; root < group.size(); ++root)
    for (size_t perRank : {1, 7, 200}) {
      std::string error = reduce(comm, group, perRank, root) + broadcast(comm, group, perRank, root);
      if (!error.empty())
        return "root " + std::to_string(root) + ": " + error;
    }
  return "";
}

std::string reductions(Communicator &comm, const Group &group) {
  for (Reduction reduction : {Reduction::Max, Reduction::Min}) {
    auto r = ringed<float>(comm, group, 5, fb::DType::f32);
    r.ring.reduction = reduction;
    if (Status s = ringAllReduce(comm, group, 0, r.ring); !s.isOk())
      return s.message();
    for (size_t i = 0; i < r.data.size(); ++i) {
      float best = static_cast<float>(element(group.members[0], i));
      for (int member : group.members) {
        auto value = static_cast<float>(element(member, i));
        best = reduction == Reduction::Max ? std::max(best, value) : std::min(best, value);
      }
      if (r.data[i] != best)
        return differs("max or min", i, r.data[i], best);
    }
  }
  return "";
}

std::string broadcast(Communicator &comm) {
  for (int root = 0; root < comm.size(); ++root) {
    double value = comm.rank() == root ? 0.5 + root : -1;
    if (Status s = comm.broadcast(&value, sizeof(value), root); !s.isOk())
      return s.message();
    if (value != 0.5 + root)
      return differs("broadcast from", static_cast<size_t>(root), value, 0.5 + root);
    if (Status s = comm.barrier(); !s.isOk())
      return s.message();
  }
  return "";
}

// All ranks get the text of the first one that has some.
std::string firstText(Communicator &comm) {
  for (int first = 0; first <= comm.size(); ++first) {
    std::string text = comm.rank() < first ? "" : "rank " + std::to_string(comm.rank()) + std::string(2000, 'x');
    std::string expected =
        first == comm.size() ? "" : ("rank " + std::to_string(first) + std::string(2000, 'x')).substr(0, 999);
    if (Status s = comm.firstText(&text); !s.isOk())
      return s.message();
    if (text != expected)
      return "the first text from rank " + std::to_string(first) + ": expected '" + expected + "', got '" + text + "'";
  }
  return "";
}

// Every thread of a rank has a channel, and collectives of different channels run at the same time. Here ranks begin
// them in different orders, so each channel has to make progress while the others wait. A transport that serves one
// thread runs the channels one after the other.
std::string concurrently(Communicator &comm, const Group &group) {
  std::string errors[kChannels];
  auto begin = [&](unsigned channel) {
    unsigned late = (channel + static_cast<unsigned>(comm.rank())) % kChannels;
    if (comm.servesThreads())
      std::this_thread::sleep_for(std::chrono::milliseconds(2 * late));
    for (size_t perRank : {1, 300, 7, 50000})
      if (errors[channel].empty())
        errors[channel] =
            channel % 2 ? allGather(comm, group, perRank, channel) : reduceScatter(comm, group, perRank, channel);
  };
  std::vector<std::thread> threads;
  for (unsigned channel = 1; channel < kChannels; ++channel)
    comm.servesThreads() ? static_cast<void>(threads.emplace_back(begin, channel)) : begin(channel);
  for (std::thread &thread : threads)
    thread.join();
  std::string all;
  for (const std::string &error : errors)
    all += error;
  return all;
}

Group everybody(Communicator &comm) { return meshGroup({static_cast<uint32_t>(comm.size())}, {0}, comm.rank()); }

} // namespace

std::vector<ConformanceCheck> conformanceChecks(int ranks) {
  std::vector<ConformanceCheck> checks;
  for (size_t perRank : {1, 7, 1000, 100000}) {
    std::string size = " of " + std::to_string(perRank);
    if (perRank <= 1000) { // the time of the bitwise reference is quadratic
      checks.push_back({"all_reduce f32" + size, [=](Communicator &c) {
                          return allReduce<float>(c, everybody(c), std::min<size_t>(perRank, 200), fb::DType::f32,
                                                  1e-6);
                        }});
      checks.push_back({"all_reduce f64" + size, [=](Communicator &c) {
                          return allReduce<double>(c, everybody(c), std::min<size_t>(perRank, 200), fb::DType::f64,
                                                   1e-7);
                        }});
      checks.push_back({"all_reduce bf16" + size, [=](Communicator &c) {
                          return allReduce<BFloat16>(c, everybody(c), std::min<size_t>(perRank, 200), fb::DType::bf16,
                                                     2e-2);
                        }});
      checks.push_back({"all_reduce f16" + size, [=](Communicator &c) {
                          return allReduce<Float16>(c, everybody(c), std::min<size_t>(perRank, 200), fb::DType::f16,
                                                    2e-3);
                        }});
    }
    checks.push_back(
        {"reduce_scatter" + size, [=](Communicator &c) { return reduceScatter(c, everybody(c), perRank); }});
    checks.push_back({"all_gather" + size, [=](Communicator &c) { return allGather(c, everybody(c), perRank); }});
  }
  checks.push_back({"reductions", [](Communicator &c) { return reductions(c, everybody(c)); }});
  checks.push_back({"broadcast of a step's number", [](Communicator &c) { return broadcast(c); }});
  checks.push_back({"the first text", [](Communicator &c) { return firstText(c); }});
  checks.push_back({"reduce and broadcast", [](Communicator &c) { return fromEveryRoot(c, everybody(c)); }});
  checks.push_back({"concurrent channels", [](Communicator &c) { return concurrently(c, everybody(c)); }});
  for (std::vector<uint32_t> mesh : {std::vector<uint32_t>{2, 2}, {2, 3}})
    if (static_cast<int>(mesh[0] * mesh[1]) == ranks)
      for (std::vector<uint32_t> axes : {std::vector<uint32_t>{0}, {1}, {0, 1}, {1, 0}})
        checks.push_back({"groups", [=](Communicator &c) {
                            Group group = meshGroup(mesh, axes, c.rank());
                            std::string error = allReduce<float>(c, group, 11, fb::DType::f32, 1e-6);
                            error = error.empty() ? fromEveryRoot(c, group) : error;
                            return error.empty() ? concurrently(c, group) : error;
                          }});
  return checks;
}

} // namespace cleave::rt::test
