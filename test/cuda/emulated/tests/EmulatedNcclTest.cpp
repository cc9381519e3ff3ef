// The emulated NCCL: values of collectives, exchange in groups, graphs, and the mistakes that must end in an error.
#include "test/cuda/emulated/block/ReducedTypes.h"
#include "test/cuda/emulated/nccl/Clique.h"
#include "test/cuda/emulated/tests/DriverLibrary.h"
#include <chrono>
#include <functional>
#include <future>
#include <thread>

namespace cleave::emulated::test {
namespace {

using namespace nccl;

struct UniqueId {
  char bytes[128];
};

class NcclTest : public DriverTest {
protected:
  void SetUp() override {
    DriverTest::SetUp();
    setenv("CLEAVE_EMULATED_NCCL_LIMIT_S", "2", 1);
    library = dlopen(CLEAVE_EMULATED_NCCL, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
  }
  void TearDown() override {
    clearFindings();
    DriverTest::TearDown();
  }
  template <class... A> int call(const char *name, A... arguments) const {
    auto *f = reinterpret_cast<int (*)(A...)>(dlsym(library, name));
    EXPECT_NE(f, nullptr) << name;
    return f ? f(arguments...) : -1;
  }
  const void *in(uint64_t p) const { return reinterpret_cast<const void *>(p); }
  void *out(uint64_t p) const { return reinterpret_cast<void *>(p); }

  // Runs `body(rank, communicator, stream)` on one thread per rank.
  void ranks(int size, const std::function<void(int, Handle, Stream &)> &body, bool destroy = true) {
    UniqueId id;
    ASSERT_EQ(call("ncclGetUniqueId", &id), Success);
    Handle context;
    ASSERT_EQ(d.call("cuCtxGetCurrent", &context), code::Success);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size; rank++)
      threads.emplace_back([&, rank] {
        EXPECT_EQ(d.call("cuCtxSetCurrent", context), code::Success);
        Handle comm = nullptr;
        EXPECT_EQ(call("ncclCommInitRank", &comm, size, id, rank), Success);
        {
          Stream s;
          body(rank, comm, s);
        }
        if (destroy) {
          EXPECT_EQ(call("ncclCommDestroy", comm), Success);
        }
      });
    for (std::thread &t : threads)
      t.join();
  }
  void *library = nullptr;
};

std::vector<float> valuesOf(int rank, size_t n) {
  std::vector<float> v(n);
  for (size_t i = 0; i < n; i++)
    v[i] = float(rank + 1) * float(i % 17) + float(i);
  return v;
}

TEST_F(NcclTest, Collectives) {
  const int size = 4;
  const size_t n = 2000;
  std::vector<float> sum(n, 0);
  for (int r = 0; r < size; r++)
    for (size_t i = 0; i < n; i++)
      sum[i] += valuesOf(r, n)[i];
  ranks(size, [&](int rank, Handle comm, Stream &s) {
    Buffer<float> x(valuesOf(rank, n)), all(n), part(n / size), gathered(n), root(std::vector<float>(n, -1));
    EXPECT_EQ(call("ncclAllReduce", in(x.address), out(all.address), n, int(F32), int(Sum), comm, s.handle), Success);
    EXPECT_EQ(call("ncclReduceScatter", in(x.address), out(part.address), n / size, int(F32), int(Sum), comm, s.handle),
              Success);
    EXPECT_EQ(call("ncclAllGather", in(part.address), out(gathered.address), n / size, int(F32), comm, s.handle),
              Success);
    EXPECT_EQ(call("ncclBroadcast", in(x.address), out(root.address), n, int(F32), 2, comm, s.handle), Success);
    EXPECT_EQ(call("ncclAllReduce", in(x.address), out(x.address), n, int(F32), int(Max), comm, s.handle), Success);
    EXPECT_EQ(s.synchronize(), code::Success) << firstFinding();
    EXPECT_EQ(all.get(), sum);
    EXPECT_EQ(gathered.get(), sum);
    EXPECT_EQ(root.get(), valuesOf(2, n));
    EXPECT_EQ(x.get(), valuesOf(size - 1, n));
  });
}

// Every rank of the ring rounds. So the sum of a reduced type is that of some order of addition, and equal in every
// run.
TEST_F(NcclTest, ReducedTypes) {
  std::vector<uint16_t> first;
  for (int round = 0; round < 3; round++)
    ranks(2, [&](int rank, Handle comm, Stream &s) {
      std::vector<uint16_t> values(100);
      for (size_t i = 0; i < 100; i++)
        values[i] = floatToBf16(1.0f + float(rank) / 3 + float(i));
      Buffer<uint16_t> x(values);
      EXPECT_EQ(call("ncclAllReduce", in(x.address), out(x.address), size_t(100), int(BF16), int(Sum), comm, s.handle),
                Success);
      EXPECT_EQ(s.synchronize(), code::Success) << firstFinding();
      std::vector<uint16_t> y = x.get();
      for (size_t i = 0; i < 100; i++)
        EXPECT_EQ(y[i], floatToBf16(bf16ToFloat(floatToBf16(1.0f + float(i))) +
                                    bf16ToFloat(floatToBf16(1.0f + 1.0f / 3 + float(i)))));
    });
}

TEST_F(NcclTest, ExchangeInAGroup) {
  const int size = 3;
  ranks(size, [&](int rank, Handle comm, Stream &s) {
    Buffer<float> x(valuesOf(rank, 50)), y(50);
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    EXPECT_EQ(call("ncclGroupStart"), Success);
    EXPECT_EQ(call("ncclSend", in(x.address), size_t(50), int(F32), next, comm, s.handle), Success);
    EXPECT_EQ(call("ncclRecv", out(y.address), size_t(50), int(F32), before, comm, s.handle), Success);
    EXPECT_EQ(call("ncclGroupEnd"), Success);
    EXPECT_EQ(s.synchronize(), code::Success) << firstFinding();
    EXPECT_EQ(y.get(), valuesOf(before, 50));
  });
}

TEST_F(NcclTest, SplitAndGraphs) {
  ranks(4, [&](int rank, Handle comm, Stream &s) {
    Handle half = nullptr;
    EXPECT_EQ(call("ncclCommSplit", comm, rank % 2, -rank, &half, Handle(nullptr)), Success);
    int halfRank = -1, count = 0;
    EXPECT_EQ(call("ncclCommUserRank", half, &halfRank), Success);
    EXPECT_EQ(call("ncclCommCount", half, &count), Success);
    EXPECT_EQ(count, 2);
    EXPECT_EQ(halfRank, rank < 2); // ordered by the key, the highest rank first
    Buffer<float> x(std::vector<float>(10, float(rank)));
    Handle graph = nullptr, executable = nullptr;
    EXPECT_EQ(d.call("cuStreamBeginCapture_v2", s.handle, 2), code::Success);
    EXPECT_EQ(call("ncclAllReduce", in(x.address), out(x.address), size_t(10), int(F32), int(Sum), half, s.handle),
              Success);
    EXPECT_EQ(d.call("cuStreamEndCapture", s.handle, &graph), code::Success);
    EXPECT_EQ(d.call("cuGraphInstantiateWithFlags", &executable, graph, 0ull), code::Success);
    for (int i = 0; i < 3; i++)
      EXPECT_EQ(d.call("cuGraphLaunch", executable, s.handle), code::Success);
    EXPECT_EQ(s.synchronize(), code::Success) << firstFinding();
    EXPECT_EQ(x.get(), std::vector<float>(10, float(rank % 2 ? 4 : 2) * 4)); // (a + b), doubled twice
    d.call("cuGraphExecDestroy", executable);
    d.call("cuGraphDestroy", graph);
    EXPECT_EQ(call("ncclCommDestroy", half), Success);
  });
}

// Ranks that disagree, a rank that does not come, and an exchange without a group.
TEST_F(NcclTest, Mistakes) {
  auto expect = [&](const char *text, const std::function<void(int, Handle, Stream &, uint64_t)> &body) {
    ranks(2, [&](int rank, Handle comm, Stream &s) {
      Buffer<float> x(std::vector<float>(100, 1));
      body(rank, comm, s, x.address);
      s.synchronize();
    });
    EXPECT_NE(firstFinding().find(text), std::string::npos) << firstFinding();
    clearFindings();
  };
  expect("disagree", [&](int rank, Handle comm, Stream &s, uint64_t x) {
    call("ncclAllReduce", in(x), out(x), size_t(100 - rank), int(F32), int(Sum), comm, s.handle);
  });
  expect("missing ranks 1", [&](int rank, Handle comm, Stream &s, uint64_t x) {
    if (rank == 0)
      call("ncclAllReduce", in(x), out(x), size_t(100), int(F32), int(Sum), comm, s.handle);
  });
  expect("sends nothing", [&](int rank, Handle comm, Stream &s, uint64_t x) {
    // Both ranks receive first, which is a deadlock.
    call("ncclRecv", out(x), size_t(10), int(F32), 1 - rank, comm, s.handle);
    call("ncclSend", in(x), size_t(10), int(F32), 1 - rank, comm, s.handle);
  });
}

// If a rank aborts, its own work ends. The other one gets an error, and has to abort, too.
TEST_F(NcclTest, Abort) {
  ranks(
      2,
      [&](int rank, Handle comm, Stream &s) {
        Buffer<float> x(std::vector<float>(10, 1));
        if (rank == 1) {
          EXPECT_EQ(call("ncclCommAbort", comm), Success);
        } else {
          EXPECT_EQ(
              call("ncclAllReduce", in(x.address), out(x.address), size_t(10), int(F32), int(Sum), comm, s.handle),
              Success);
          int error = Success;
          while (error == Success)
            EXPECT_EQ(call("ncclCommGetAsyncError", comm, &error), Success);
          EXPECT_EQ(error, RemoteError);
          EXPECT_EQ(call("ncclCommAbort", comm), Success);
          EXPECT_EQ(s.synchronize(), code::Success);
        }
      },
      false);
}

// A communicator that a graph has captured lives until the graph is destroyed. Of the ranks of one process, the last
// one that calls ncclCommAbort or ncclCommDestroy waits for the graphs of all: templates as well as executables.
TEST_F(NcclTest, AbortAndDestroyWaitForGraphs) {
  using namespace std::chrono_literals;
  for (const char *end : {"ncclCommAbort", "ncclCommDestroy"}) {
    Handle comms[2], templates[2], executables[2];
    ranks(
        2,
        [&](int rank, Handle comm, Stream &s) {
          Buffer<float> x(std::vector<float>(10, 1));
          EXPECT_EQ(d.call("cuStreamBeginCapture_v2", s.handle, 2), code::Success);
          EXPECT_EQ(
              call("ncclAllReduce", in(x.address), out(x.address), size_t(10), int(F32), int(Sum), comm, s.handle),
              Success);
          EXPECT_EQ(d.call("cuStreamEndCapture", s.handle, &templates[rank]), code::Success);
          EXPECT_EQ(d.call("cuGraphInstantiateWithFlags", &executables[rank], templates[rank], 0ull), code::Success);
          EXPECT_EQ(d.call("cuGraphLaunch", executables[rank], s.handle), code::Success);
          EXPECT_EQ(s.synchronize(), code::Success) << firstFinding();
          comms[rank] = comm;
        },
        false);
    EXPECT_EQ(d.call("cuGraphDestroy", templates[0]), code::Success);
    EXPECT_EQ(d.call("cuGraphExecDestroy", executables[1]), code::Success);
    EXPECT_EQ(call(end, comms[1]), Success); // returns at once, although its template lives
    std::future<int> last = std::async(std::launch::async, [&] { return call(end, comms[0]); });
    EXPECT_EQ(last.wait_for(300ms), std::future_status::timeout) << end;
    EXPECT_EQ(d.call("cuGraphExecDestroy", executables[0]), code::Success);
    EXPECT_EQ(last.wait_for(300ms), std::future_status::timeout) << end;
    EXPECT_EQ(d.call("cuGraphDestroy", templates[1]), code::Success);
    EXPECT_EQ(last.wait_for(10s), std::future_status::ready) << end;
    EXPECT_EQ(last.get(), Success);
  }
}

// ncclCommFinalize waits for the rank's own graphs, and for its operations under way.
TEST_F(NcclTest, FinalizeWaits) {
  using namespace std::chrono_literals;
  ranks(2, [&](int rank, Handle comm, Stream &s) {
    Buffer<float> x(std::vector<float>(10, 1));
    if (rank == 1)
      std::this_thread::sleep_for(300ms);
    auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(call("ncclAllReduce", in(x.address), out(x.address), size_t(10), int(F32), int(Sum), comm, s.handle),
              Success);
    EXPECT_EQ(call("ncclCommFinalize", comm), Success);
    if (rank == 0) {
      EXPECT_GE(std::chrono::steady_clock::now() - begin, 200ms);
    }
    EXPECT_EQ(s.synchronize(), code::Success) << firstFinding();
  });
}

} // namespace
} // namespace cleave::emulated::test
