#include "test/runtime/device/DeviceConformance.h"

#include "runtime/comm/LocalWorld.h"
#include "runtime/plan/KernelDefs.h"
#include "runtime/state/ElementValue.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <set>
#include <thread>

namespace cleave::rt::test {

using Contents = std::vector<std::byte>;

// ---- the rank and its programs --------------------------------------------------------------------------------------

Address RankWithDevice::memory(size_t bytes, fb::Space space, unsigned frames) {
  Address address;
  address.bytes = address.stride = bytes;
  address.frames = frames;
  OnDevice scope(device_);
  Status status = device_.allocate(space, bytes * frames, &address.base);
  EXPECT_TRUE(status.isOk()) << status.message();
  return address;
}

void RankWithDevice::put(const Address &at, const Contents &bytes, unsigned frame) {
  OnDevice scope(device_);
  Status status = device_.upload(at.base + frame * at.stride, bytes.data(), bytes.size());
  if (status.isOk())
    status = device_.synchronize();
  EXPECT_TRUE(status.isOk()) << status.message();
}

Contents RankWithDevice::get(const Address &at, unsigned frame) {
  Contents bytes(at.bytes);
  OnDevice scope(device_);
  Status status = device_.download(bytes.data(), at.base + frame * at.stride, bytes.size());
  if (status.isOk())
    status = device_.synchronize();
  EXPECT_TRUE(status.isOk()) << status.message();
  return bytes;
}

// Keeps the action that `bind` makes.
template <typename Bind> void DeviceProgram::add(unsigned stream, Bind bind, Frames frames) {
  Item item{stream, frames, nullptr};
  OnDevice scope(rank_.device());
  Status status = bind(rank_.device(), &item.action);
  ASSERT_TRUE(status.isOk()) << status.message();
  items_.push_back(std::move(item));
}

void DeviceProgram::copy(unsigned stream, const Address &target, const Address &source, Frames frames) {
  add(
      stream, [&](Device &device, ActionPtr *action) { return device.copy(stream, target, source, action); }, frames);
}

void DeviceProgram::fill(unsigned stream, const Address &target, uint64_t pattern, unsigned width) {
  add(stream, [&](Device &device, ActionPtr *action) { return device.fill(stream, target, pattern, width, action); });
}

void DeviceProgram::record(unsigned stream, unsigned event) {
  add(stream, [&](Device &device, ActionPtr *action) { return device.record(stream, event, action); });
}

void DeviceProgram::wait(unsigned stream, unsigned event) {
  add(stream, [&](Device &device, ActionPtr *action) { return device.wait(stream, event, action); });
}

void DeviceProgram::collective(const CollectiveRequest &request) {
  add(request.stream, [&](Device &device, ActionPtr *action) { return device.collective(request, action); });
}

void DeviceProgram::transfer(const TransferRequest &request) {
  add(request.stream, [&](Device &device, ActionPtr *action) { return device.transfer(request, action); });
}

Status DeviceProgram::walk(unsigned thread) {
  Device &device = rank_.device();
  Status status = device.enterThread(thread);
  for (bool mustRun = true; mustRun && status.isOk();) {
    bool isDone = mustRun = false;
    if (thread == 0)
      status = device.beginProgram(number_, &isDone);
    for (Item &item : items_)
      if (status.isOk() && !isDone && device.threadOf(item.stream) == thread)
        status = item.action->run(item.frames, runs_);
    if (status.isOk() && !isDone && thread == 0)
      status = device.endProgram(number_, &mustRun);
  }
  if (!status.isOk() && !rank_.failed().exchange(true))
    rank_.comm().abort(status);
  device.leaveThread(thread);
  return status;
}

Status DeviceProgram::run() {
  ++runs_;
  std::set<unsigned> others;
  for (const Item &item : items_)
    if (unsigned thread = rank_.device().threadOf(item.stream); thread != 0)
      others.insert(thread);
  std::vector<std::thread> threads;
  for (unsigned thread : others)
    threads.emplace_back([this, thread] { walk(thread); });
  Status status = walk(0);
  for (std::thread &thread : threads)
    thread.join();
  CLEAVE_TRY(std::move(status));
  if (rank_.failed())
    return internal("another thread of the rank has failed");
  OnDevice scope(rank_.device());
  return rank_.device().synchronize();
}

// ---- the fixture ----------------------------------------------------------------------------------------------------

void DeviceConforms::SetUp() {
  for (const auto &[name, value] : GetParam().variables)
    ::setenv(name.c_str(), value.c_str(), 1);
}

void DeviceConforms::TearDown() {
  for (const auto &[name, value] : GetParam().variables)
    ::unsetenv(name.c_str());
}

void DeviceConforms::onRanks(const std::vector<uint32_t> &mesh, const std::vector<GroupShape> &groups,
                             const std::function<void(RankWithDevice &)> &body) const {
  int ranks = 1;
  for (uint32_t size : mesh)
    ranks *= static_cast<int>(size);
  LocalWorld world(ranks);
  auto onRank = [&](int rank) {
    Communicator &comm = world.communicator(rank);
    std::atomic<bool> failed{false};
    DeviceOptions options;
    options.failed = &failed;
    options.rank = rank;
    std::unique_ptr<Device> device;
    Status status = createDevice(GetParam().target, options, &device);
    if (status.isOk()) {
      OnDevice scope(*device);
      status = device->connect({comm, mesh, groups});
    }
    EXPECT_TRUE(status.isOk()) << status.message();
    if (status.isOk()) {
      RankWithDevice own(*device, comm, failed);
      body(own);
      status = comm.barrier(); // nobody leaves while others communicate
      EXPECT_TRUE(status.isOk()) << status.message();
    } else {
      comm.abort(status);
    }
  };
  std::vector<std::thread> threads;
  for (int rank = 1; rank < ranks; ++rank)
    threads.emplace_back(onRank, rank);
  onRank(0);
  for (std::thread &thread : threads)
    thread.join();
}

namespace {

// Contents that differ from their neighbours, and from those of another seed.
Contents pattern(size_t count, unsigned seed) {
  Contents bytes(count);
  for (size_t i = 0; i < count; ++i)
    bytes[i] = static_cast<std::byte>((i * 7 + i / 251 + seed * 31 + 1) & 0xff);
  return bytes;
}

Address part(Address whole, size_t offset, size_t bytes) {
  whole.base += offset;
  whole.bytes = bytes;
  return whole;
}

void expectSame(const Contents &got, const Contents &expected, const std::string &what) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_EQ(static_cast<int>(got[i]), static_cast<int>(expected[i])) << what << ", byte " << i;
}

void expectRuns(DeviceProgram &program, int run = 1) {
  Status status = program.run();
  ASSERT_TRUE(status.isOk()) << "run " << run << ": " << status.message();
}

// A device may execute the first run, record the second, and replay later ones.
constexpr int kRuns = 4;

// ---- memory, copies, fills ------------------------------------------------------------------------------------------

TEST_P(DeviceConforms, AllocatesZeroedAndAlignedMemory) {
  onOneRank([](RankWithDevice &rank) {
    for (fb::Space space : {fb::Space::device, fb::Space::host})
      for (size_t bytes : {1u, 100u, 4097u, 1u << 20}) {
        Address memory = rank.memory(bytes, space);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.base) % 64, 0u) << bytes << " bytes";
        expectSame(rank.get(memory), Contents(bytes), "new memory");
      }
  });
}

TEST_P(DeviceConforms, SaysWhenThereIsNotEnoughMemory) {
  onOneRank([](RankWithDevice &rank) {
    OnDevice scope(rank.device());
    std::byte *data = nullptr;
    Status status = rank.device().allocate(fb::Space::device, size_t{1} << 52, &data);
    EXPECT_FALSE(status.isOk());
    EXPECT_FALSE(status.message().empty());
    EXPECT_TRUE(rank.device().allocate(fb::Space::device, 64, &data).isOk()) << "after a refusal";
  });
}

TEST_P(DeviceConforms, MovesBytesToAndFromTheHost) {
  onOneRank([](RankWithDevice &rank) {
    Address memory = rank.memory(4000);
    Contents expected(4000), middle = pattern(3001, 1);
    std::copy(middle.begin(), middle.end(), expected.begin() + 13);
    rank.put(part(memory, 13, 3001), middle);
    expectSame(rank.get(memory), expected, "the memory");
    expectSame(rank.get(part(memory, 13, 3001)), middle, "the middle");
  });
}

TEST_P(DeviceConforms, CopiesBetweenSpacesAndTouchesNothingElse) {
  onOneRank([](RankWithDevice &rank) {
    unsigned program = 0;
    for (fb::Space from : {fb::Space::device, fb::Space::host})
      for (fb::Space to : {fb::Space::device, fb::Space::host})
        for (size_t bytes : {1u, 7u, 64u, 1001u}) {
          Address source = rank.memory(1200, from), target = rank.memory(1200, to);
          rank.put(source, pattern(1200, 1));
          rank.put(target, pattern(1200, 2));
          Contents expected = pattern(1200, 2), moved = pattern(1200, 1);
          std::copy_n(moved.begin() + 5, bytes, expected.begin() + 66);
          DeviceProgram copies(rank, program++);
          copies.copy(0, part(target, 66, bytes), part(source, 5, bytes));
          expectRuns(copies);
          expectSame(rank.get(target), expected, std::to_string(bytes) + " bytes");
          expectSame(rank.get(source), pattern(1200, 1), "the source");
        }
  });
}

TEST_P(DeviceConforms, FillsRepeatTheirPattern) {
  constexpr uint64_t kPattern = 0x0102030405060708;
  onOneRank([](RankWithDevice &rank) {
    unsigned program = 0;
    for (uint64_t value : {kPattern, uint64_t{0}})
      for (unsigned width : {1u, 2u, 4u, 8u})
        for (size_t count : {1u, 3u, 250u}) {
          size_t bytes = width * count;
          Address memory = rank.memory(2100);
          rank.put(memory, pattern(2100, 3));
          Contents expected = pattern(2100, 3);
          for (size_t i = 0; i < bytes; ++i)
            std::memcpy(&expected[40 + i], reinterpret_cast<const char *>(&value) + i % width, 1);
          DeviceProgram fills(rank, program++);
          fills.fill(0, part(memory, 40, bytes), value, width);
          expectRuns(fills);
          expectSame(rank.get(memory), expected, std::to_string(count) + " of width " + std::to_string(width));
        }
  });
}

TEST_P(DeviceConforms, AddressesFollowTheFramesOfTheProgram) {
  onOneRank([](RankWithDevice &rank) {
    Address source = rank.memory(100, fb::Space::device, 3), target = rank.memory(100, fb::Space::device, 5);
    for (unsigned frame = 0; frame < 3; ++frame)
      rank.put(source, pattern(100, frame), frame);
    DeviceProgram program(rank, 0);
    Address before = source; // the frame before that of the program
    before.frame = -1;
    for (int64_t frame = 0; frame < 5; ++frame)
      program.copy(0, target, before, Frames::ofMicroBatch(frame));
    for (int run = 1; run <= kRuns; ++run) {
      expectRuns(program, run);
      for (unsigned frame = 0; frame < 5; ++frame)
        expectSame(rank.get(target, frame), pattern(100, (frame + 2) % 3), "frame " + std::to_string(frame));
      for (unsigned frame = 0; frame < 5; ++frame)
        rank.put(target, Contents(100), frame);
    }
  });
}

// ---- streams and events ---------------------------------------------------------------------------------------------

TEST_P(DeviceConforms, AStreamRunsItsActionsInOrder) {
  onOneRank([](RankWithDevice &rank) {
    Address x = rank.memory(1 << 16), first = rank.memory(1 << 16), second = rank.memory(1 << 16);
    DeviceProgram program(rank, 0);
    for (unsigned stream : {0u, 3u}) {
      unsigned done = rank.device().makeEvent();
      program.fill(stream, x, 1 + stream, 1);
      program.copy(stream, first, x);
      program.fill(stream, x, 2 + stream, 1);
      program.copy(stream, second, x);
      program.record(stream, done);
      program.wait(3 - stream, done);
    }
    for (int run = 1; run <= kRuns; ++run) {
      expectRuns(program, run);
      expectSame(rank.get(first), Contents(1 << 16, std::byte{4}), "the first copy");
      expectSame(rank.get(second), Contents(1 << 16, std::byte{5}), "the second copy");
    }
  });
}

// A chain of copies, each on another stream: more streams than a rank has threads.
TEST_P(DeviceConforms, EventsOrderStreams) {
  constexpr unsigned kStreams = kThreads + 3;
  constexpr size_t kBytes = 1 << 18;
  onOneRank([](RankWithDevice &rank) {
    std::vector<Address> links;
    for (unsigned i = 0; i <= kStreams; ++i)
      links.push_back(rank.memory(kBytes));
    DeviceProgram program(rank, 0);
    unsigned before = 0;
    for (unsigned stream = 0; stream < kStreams; ++stream) {
      if (stream > 0)
        program.wait(stream, before);
      program.copy(stream, links[stream + 1], links[stream]);
      before = rank.device().makeEvent();
      program.record(stream, before);
    }
    program.wait(0, before);
    for (int run = 1; run <= kRuns; ++run) {
      rank.put(links[0], pattern(kBytes, static_cast<unsigned>(run)));
      expectRuns(program, run);
      expectSame(rank.get(links.back()), pattern(kBytes, static_cast<unsigned>(run)), "run " + std::to_string(run));
    }
  });
}

// One record, many waits; and streams that meet again.
TEST_P(DeviceConforms, StreamsForkAndJoin) {
  constexpr size_t kBytes = 1 << 16;
  onOneRank([](RankWithDevice &rank) {
    Address source = rank.memory(kBytes), joined = rank.memory(4 * kBytes), result = rank.memory(4 * kBytes);
    DeviceProgram program(rank, 0);
    unsigned forked = rank.device().makeEvent();
    program.record(0, forked);
    for (unsigned stream = 1; stream <= 4; ++stream) {
      program.wait(stream, forked);
      program.copy(stream, part(joined, (stream - 1) * kBytes, kBytes), source);
    }
    for (unsigned stream = 1; stream <= 4; ++stream) {
      unsigned done = rank.device().makeEvent();
      program.record(stream, done);
      program.wait(0, done);
    }
    program.copy(0, result, joined);
    for (int run = 1; run <= kRuns; ++run) {
      rank.put(source, pattern(kBytes, static_cast<unsigned>(run)));
      expectRuns(program, run);
      Contents got = rank.get(result);
      for (size_t stream = 0; stream < 4; ++stream)
        expectSame(Contents(got.begin() + static_cast<ptrdiff_t>(stream * kBytes),
                            got.begin() + static_cast<ptrdiff_t>((stream + 1) * kBytes)),
                   pattern(kBytes, static_cast<unsigned>(run)), "stream " + std::to_string(stream + 1));
    }
  });
}

// Nobody records the event: another thread has failed before. Then a thread that waits goes on. A device that only
// enqueues never waits.
TEST_P(DeviceConforms, NoWaitLastsForEver) {
  onOneRank([](RankWithDevice &rank) {
    bool executes = rank.device().threadOf(1) != 0;
    DeviceProgram program(rank, 0);
    program.wait(1, rank.device().makeEvent());
    std::thread failing;
    if (executes)
      failing = std::thread([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        rank.failed() = true;
      });
    EXPECT_EQ(program.run().isOk(), !executes);
    if (executes)
      failing.join();
  });
}

// Each run may fail at any action. A device that records the second run must not go on recording.
TEST_P(DeviceConforms, AProgramThatFailsLeavesTheDeviceUsable) {
  onOneRank([](RankWithDevice &rank) {
    Device &device = rank.device();
    Address x = rank.memory(1000), y = rank.memory(1000), z = rank.memory(1000);
    ActionPtr action;
    {
      OnDevice scope(device);
      ASSERT_TRUE(device.copy(3, y, x, &action).isOk());
    }
    for (uint32_t run = 1; run <= 2; ++run) {
      bool isDone = false;
      EXPECT_TRUE(device.enterThread(0).isOk());
      EXPECT_TRUE(device.beginProgram(0, &isDone).isOk());
      EXPECT_TRUE(action->run({}, run).isOk());
      bool mustRepeat = false;
      if (run == 1)
        EXPECT_TRUE(device.endProgram(0, &mustRepeat).isOk());
      EXPECT_FALSE(mustRepeat);
      device.leaveThread(0);
      OnDevice scope(device);
      EXPECT_TRUE(device.synchronize().isOk());
    }
    rank.put(x, pattern(1000, 9));
    DeviceProgram next(rank, 1);
    next.copy(0, z, x);
    for (int run = 1; run <= kRuns; ++run)
      expectRuns(next, run);
    expectSame(rank.get(z), pattern(1000, 9), "the copy");
    expectSame(rank.get(rank.memory(1000)), Contents(1000), "new memory");
  });
}

// ---- communication --------------------------------------------------------------------------------------------------

// Small integers, which all types hold, and so do their sums.
double valueOf(int rank, size_t i) { return static_cast<double>((i * 7 + static_cast<size_t>(rank) * 3) % 11) - 5; }

double reduced(const Group &group, Reduction reduction, size_t i) {
  double result = reduction == Reduction::Sum   ? 0
                  : reduction == Reduction::Max ? -std::numeric_limits<double>::infinity()
                                                : std::numeric_limits<double>::infinity();
  for (int rank : group.members) {
    double value = valueOf(rank, i);
    result = reduction == Reduction::Sum   ? result + value
             : reduction == Reduction::Max ? std::max(result, value)
                                           : std::min(result, value);
  }
  return result;
}

struct Collective {
  Opcode opcode;
  fb::DType dtype;
  Reduction reduction = Reduction::Sum;
  size_t count = 0; // for each member
  int root = 0;
  unsigned stream = 0;

  std::string text() const {
    return "opcode " + std::to_string(static_cast<int>(opcode)) + ", type " + fb::EnumNameDType(dtype) +
           ", reduction " + std::to_string(static_cast<int>(reduction)) + ", " + std::to_string(count) +
           " elements of each, root " + std::to_string(root);
  }

  bool reduces() const {
    return opcode == Opcode::AllReduce || opcode == Opcode::ReduceScatter || opcode == Opcode::Reduce;
  }
  fb::Access access(const Group &group) const {
    return opcode == Opcode::Broadcast ? (group.index == root ? fb::Access::read : fb::Access::write)
                                       : fb::Access::read_write;
  }
  // The element of a member after the collective, or nothing if it is undefined.
  std::optional<double> after(const Group &group, size_t i) const {
    auto owner = static_cast<int>(i / count);
    switch (opcode) {
    case Opcode::AllReduce:
      return reduced(group, reduction, i);
    case Opcode::ReduceScatter:
      return owner == group.index ? std::optional(reduced(group, reduction, i)) : std::nullopt;
    case Opcode::AllGather:
      return valueOf(group.members[static_cast<size_t>(owner)], i);
    case Opcode::Reduce:
      return group.index == root ? std::optional(reduced(group, reduction, i)) : std::nullopt;
    default:
      return valueOf(group.members[static_cast<size_t>(root)], i);
    }
  }
};

// All opcodes, types, reductions and roots; and counts around those that a warp or a vector has.
std::vector<Collective> someCollectives(int members) {
  constexpr size_t kCounts[] = {1, 3, 32, 1000};
  std::vector<Collective> all;
  size_t next = 0;
  for (Opcode opcode : {Opcode::AllReduce, Opcode::ReduceScatter, Opcode::AllGather, Opcode::Reduce, Opcode::Broadcast})
    for (fb::DType dtype :
         {fb::DType::f32, fb::DType::f64, fb::DType::bf16, fb::DType::f16, fb::DType::i64, fb::DType::i32})
      for (Reduction reduction : {Reduction::Sum, Reduction::Max, Reduction::Min}) {
        Collective one{opcode, dtype, reduction, kCounts[next % 4],
                       static_cast<int>(next % static_cast<size_t>(members))};
        ++next;
        if (one.reduces() || reduction == Reduction::Sum)
          all.push_back(one);
      }
  return all;
}

class CollectiveRun {
public:
  CollectiveRun(RankWithDevice &rank, const Group &group, const Collective &collective)
      : rank_(rank), group_(group), collective_(collective) {
    size_t size = dtypeSize(collective.dtype), share = collective.count * size;
    data_ = rank.memory(share * group.members.size());
    staging_ = collective.reduces() ? rank.memory(share) : Address();
  }

  void addTo(DeviceProgram &program) const {
    program.collective({collective_.opcode, group_, rank_.comm(), data_, staging_, collective_.access(group_),
                        collective_.count * group_.members.size(), collective_.dtype, collective_.reduction,
                        collective_.root, collective_.stream, "a collective"});
  }
  void fill() {
    size_t size = dtypeSize(collective_.dtype);
    Contents bytes(data_.bytes);
    for (size_t i = 0; i < bytes.size() / size; ++i)
      storeElement(elementType(collective_.dtype), valueOf(rank_.comm().rank(), i), &bytes[i * size]);
    rank_.put(data_, bytes);
  }
  void check() {
    size_t size = dtypeSize(collective_.dtype);
    Contents bytes = rank_.get(data_);
    for (size_t i = 0; i < bytes.size() / size; ++i)
      if (std::optional<double> expected = collective_.after(group_, i))
        ASSERT_EQ(loadElement(elementType(collective_.dtype), &bytes[i * size]), *expected)
            << collective_.text() << ", rank " << rank_.comm().rank() << ", element " << i;
  }

private:
  RankWithDevice &rank_;
  const Group &group_;
  Collective collective_;
  Address data_, staging_;
};

void checkCollectives(RankWithDevice &rank, const Group &group, const std::vector<Collective> &collectives) {
  std::vector<CollectiveRun> all;
  DeviceProgram program(rank, 0);
  for (const Collective &collective : collectives)
    all.emplace_back(rank, group, collective).addTo(program);
  for (int run = 1; run <= kRuns && !testing::Test::HasFailure(); ++run) {
    for (CollectiveRun &one : all)
      one.fill();
    expectRuns(program, run);
    for (CollectiveRun &one : all)
      one.check();
  }
}

TEST_P(DeviceConforms, CollectivesComputeWhatTheyAreNamedFor) {
  for (uint32_t ranks : {1u, 2u, 3u})
    onRanks({ranks}, {{{0}, {}}}, [&](RankWithDevice &rank) {
      Group group = meshGroup({ranks}, {0}, rank.comm().rank());
      checkCollectives(rank, group, someCollectives(static_cast<int>(ranks)));
    });
}

TEST_P(DeviceConforms, GroupsOfAMeshCommunicateSideBySide) {
  const std::vector<uint32_t> mesh = {2, 2};
  for (uint32_t axis : {0u, 1u})
    onRanks(mesh, {{{0}, {}}, {{1}, {}}}, [&](RankWithDevice &rank) {
      Group group = meshGroup(mesh, {axis}, rank.comm().rank());
      std::vector<Collective> some;
      for (const Collective &one : someCollectives(2))
        if (one.dtype == fb::DType::f32)
          some.push_back(one);
      checkCollectives(rank, group, some);
    });
}

TEST_P(DeviceConforms, StreamsHaveCollectivesOfTheirOwn) {
  onRanks({2}, {{{0}, {}}}, [](RankWithDevice &rank) {
    Group group = meshGroup({2}, {0}, rank.comm().rank());
    std::vector<Collective> some;
    for (unsigned round = 0; round < 3; ++round)
      for (unsigned stream : {0u, 1u, 2u})
        some.push_back({stream == 1 ? Opcode::AllGather : Opcode::AllReduce, fb::DType::f32, Reduction::Sum,
                        5000 * round + 100 + stream, 0, stream});
    checkCollectives(rank, group, some);
  });
}

// Every rank sends around a ring on one stream, and receives on another. Messages of a channel stay in order.
TEST_P(DeviceConforms, TransfersReachTheirPeerInOrder) {
  constexpr size_t kSizes[] = {4, 1000, 100004};
  for (uint32_t ranks : {2u, 4u})
    onRanks({ranks}, {{{0}, {}}}, [&](RankWithDevice &rank) {
      int own = rank.comm().rank(), size = static_cast<int>(ranks);
      DeviceProgram program(rank, 0);
      std::vector<Address> sent, received;
      auto move = [&](bool sends, size_t message) {
        Address &data = (sends ? sent : received).emplace_back(rank.memory(kSizes[message / 2]));
        int peer = (own + (sends ? 1 : size - 1)) % size;
        auto channel = static_cast<unsigned>(message / 4);
        program.transfer(
            {sends ? Opcode::Send : Opcode::Recv, rank.comm(), peer, data, channel, sends ? 1u : 2u, "a transfer"});
      };
      for (size_t message = 0; message < 6; ++message)
        for (bool sends : {own % 2 == 0, own % 2 != 0}) // one of two neighbours sends first
          move(sends, message);
      for (int run = 1; run <= kRuns && !testing::Test::HasFailure(); ++run) {
        auto seed = [&](int from, size_t message) {
          return static_cast<unsigned>(100 * run + 10 * from) + static_cast<unsigned>(message);
        };
        for (size_t message = 0; message < 6; ++message)
          rank.put(sent[message], pattern(sent[message].bytes, seed(own, message)));
        expectRuns(program, run);
        for (size_t message = 0; message < 6; ++message)
          expectSame(rank.get(received[message]),
                     pattern(received[message].bytes, seed((own + size - 1) % size, message)),
                     "message " + std::to_string(message));
      }
    });
}

} // namespace
} // namespace cleave::rt::test
