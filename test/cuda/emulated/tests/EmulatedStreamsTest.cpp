// Missing waits between streams, in graphs, and with the host. Every run must find them, with any timing.
#include "test/cuda/emulated/tests/DriverLibrary.h"
#include <algorithm>

namespace cleave::emulated::test {
namespace {

class StreamsTest : public DriverTest {
protected:
  void SetUp() override {
    if (!d.isEmulated)
      GTEST_SKIP() << "mistakes are planted on the emulated device only";
    DriverTest::SetUp();
    module = std::make_unique<Module>(readText("planted.ptx"));
    add = module->function("add_one");
  }
  void TearDown() override {
    if (!d.isEmulated)
      return;
    clearFindings();
    setSeed(1);
    module.reset();
    DriverTest::TearDown();
  }
  int addOne(const Stream &s, uint64_t from, uint64_t to, int n = 64) {
    return launch(add, {2, 32}, s.handle, from, to, n);
  }
  // Waits for everything. After that, the host's clock has nothing that could order later work.
  void expectRace(bool race, const std::string &what) {
    synchronize();
    EXPECT_EQ(firstFinding().find("race between streams") != std::string::npos, race) << what << ": " << firstFinding();
    clearFindings();
  }
  std::unique_ptr<Module> module;
  Handle add = nullptr;
};

// upload -> kernel on one stream -> kernel on another -> download. One variant leaves out the wait for the event.
TEST_F(StreamsTest, EventWaits) {
  Buffer<float> x(std::vector<float>(64, 1)), y(64), z(64);
  Stream a, b;
  for (bool wait : {true, false})
    for (uint64_t seed = 1; seed <= 10; seed++) {
      setSeed(seed);
      y.set(std::vector<float>(64, 0));
      Event e;
      ASSERT_EQ(addOne(a, x.address, y.address), code::Success);
      ASSERT_EQ(e.record(a), code::Success);
      if (wait) {
        ASSERT_EQ(e.wait(b), code::Success);
      }
      ASSERT_EQ(addOne(b, y.address, z.address), code::Success);
      expectRace(!wait, "seed " + std::to_string(seed));
    }
}

// The program waits, but the event was recorded before the work that it should stand for.
TEST_F(StreamsTest, EventRecordedTooEarly) {
  Buffer<float> x(std::vector<float>(64, 1)), y(std::vector<float>(64, 1)), z(64);
  Stream a, b;
  Event e;
  ASSERT_EQ(e.record(a), code::Success);
  ASSERT_EQ(addOne(a, x.address, y.address), code::Success);
  ASSERT_EQ(e.wait(b), code::Success);
  ASSERT_EQ(addOne(b, y.address, z.address), code::Success);
  expectRace(true, "early record");
}

// Writing after reading: the writer must wait for the reader, too. Accesses to neighbouring bytes are not a race.
TEST_F(StreamsTest, WriteAfterReadAndNeighbours) {
  Buffer<float> x(std::vector<float>(128, 1)), y(128), z(64);
  Stream a, b;
  ASSERT_EQ(addOne(a, x.address, y.address), code::Success);
  ASSERT_EQ(addOne(b, x.address + 256, x.address, 64), code::Success); // overwrites what stream a reads
  expectRace(true, "write after read");
  ASSERT_EQ(addOne(a, x.address, y.address, 33), code::Success);
  ASSERT_EQ(addOne(b, x.address, y.address + 33 * 4, 31), code::Success);
  expectRace(false, "the same reads, neighbouring writes");
}

// The host writes pinned memory again, after it has learned that the copy from it has ended, or before. It may write to
// other parts of that memory at any time. If the device itself writes there, this is no mistake.
TEST_F(StreamsTest, PinnedMemoryIsWrittenTooEarly) {
  Buffer<float> x(64), y(64);
  Stream a;
  float *pinned = nullptr;
  ASSERT_EQ(d.call("cuMemHostAlloc", reinterpret_cast<void **>(&pinned), size_t(128 * 4), 0u), code::Success);
  std::fill_n(pinned, 128, 1.0f);
  float value = 1;
  auto upload = [&](const Buffer<float> &to) {
    return d.call("cuMemcpyHtoDAsync_v2", to.address, static_cast<const void *>(pinned), size_t(256), a.handle);
  };
  auto expectEarly = [&](bool isEarly, const std::string &what) {
    EXPECT_EQ(firstFinding().find("the host writes pinned memory, at +1") != std::string::npos, isEarly)
        << what << ": " << firstFinding();
    EXPECT_EQ(firstFinding().empty(), !isEarly) << what << ": " << firstFinding();
    a.synchronize();
    clearFindings();
  };
  for (uint64_t seed = 1; seed <= 10; seed++) {
    setSeed(seed);
    ASSERT_EQ(upload(x), code::Success);
    pinned[64] = ++value;
    ASSERT_EQ(a.synchronize(), code::Success);
    pinned[3] = ++value;
    ASSERT_EQ(upload(x), code::Success);
    ASSERT_EQ(a.synchronize(), code::Success);
    expectEarly(false, "after it has ended");
    ASSERT_EQ(upload(x), code::Success);
    pinned[3] = ++value;
    upload(y); // the next batch
    expectEarly(true, "before the next copy");
    ASSERT_EQ(upload(x), code::Success);
    pinned[3] = ++value;
    a.synchronize();
    expectEarly(true, "before the wait");
    ASSERT_EQ(upload(x), code::Success);
    ASSERT_EQ(d.call("cuMemcpyDtoHAsync_v2", static_cast<void *>(pinned), y.address, size_t(256), a.handle),
              code::Success);
    ASSERT_EQ(a.synchronize(), code::Success);
    expectEarly(false, "written by the device");
  }
  ASSERT_EQ(d.call("cuMemFreeHost", static_cast<void *>(pinned)), code::Success);
}

// The order may come from a third stream, or from the host.
TEST_F(StreamsTest, TransitiveOrder) {
  Buffer<float> x(std::vector<float>(64, 1)), y(64), z(64);
  Stream a, b, c;
  Event first, second;
  ASSERT_EQ(addOne(a, x.address, y.address), code::Success);
  ASSERT_EQ(first.record(a), code::Success);
  ASSERT_EQ(first.wait(b), code::Success);
  ASSERT_EQ(second.record(b), code::Success);
  ASSERT_EQ(second.wait(c), code::Success);
  ASSERT_EQ(addOne(c, y.address, z.address), code::Success);
  expectRace(false, "through a third stream");
  ASSERT_EQ(addOne(a, x.address, y.address), code::Success);
  ASSERT_EQ(a.synchronize(), code::Success);
  ASSERT_EQ(addOne(b, y.address, z.address), code::Success);
  expectRace(false, "through the host");
}

// Copies are ordered, too: offload to pinned memory on one stream, and back on another.
TEST_F(StreamsTest, PinnedMemory) {
  Buffer<float> x(std::vector<float>(64, 1)), y(64);
  void *pinned = nullptr;
  ASSERT_EQ(d.call("cuMemHostAlloc", &pinned, size_t(256), 0u), code::Success);
  auto host = reinterpret_cast<uint64_t>(pinned);
  Stream a, b;
  for (bool wait : {true, false}) {
    Event e;
    ASSERT_EQ(d.call("cuMemcpyAsync", host, x.address, size_t(256), a.handle), code::Success);
    ASSERT_EQ(e.record(a), code::Success);
    if (wait) {
      ASSERT_EQ(e.wait(b), code::Success);
    }
    ASSERT_EQ(d.call("cuMemcpyAsync", y.address, host, size_t(256), b.handle), code::Success);
    expectRace(!wait, wait ? "with the wait" : "without");
  }
  ASSERT_EQ(d.call("cuMemFreeHost", pinned), code::Success);
}

// The default stream and blocking streams wait for each other. Non-blocking streams do not wait.
TEST_F(StreamsTest, LegacyDefaultStream) {
  Buffer<float> x(std::vector<float>(64, 1)), y(std::vector<float>(64, 1)), z(64);
  Stream blocking(0), free(1);
  ASSERT_EQ(addOne(blocking, x.address, y.address), code::Success);
  ASSERT_EQ(launch(add, {2, 32}, nullptr, y.address, z.address, 64), code::Success);
  ASSERT_EQ(addOne(blocking, z.address, y.address), code::Success);
  expectRace(false, "blocking stream and default stream");
  ASSERT_EQ(addOne(free, x.address, y.address), code::Success);
  ASSERT_EQ(launch(add, {2, 32}, nullptr, y.address, z.address, 64), code::Success);
  expectRace(true, "non-blocking stream and default stream");
}

// The edges of a graph are its order. A missing edge is found although nodes run one after the other.
TEST_F(StreamsTest, GraphsWithoutAWait) {
  Buffer<float> x(std::vector<float>(64, 1)), y(std::vector<float>(64, 1)), z(64);
  for (bool wait : {true, false}) {
    Stream a, b;
    Event fork, made, join;
    ASSERT_EQ(d.call("cuStreamBeginCapture_v2", a.handle, 0), code::Success);
    ASSERT_EQ(fork.record(a), code::Success);
    ASSERT_EQ(fork.wait(b), code::Success);
    ASSERT_EQ(addOne(a, x.address, y.address), code::Success);
    ASSERT_EQ(made.record(a), code::Success);
    if (wait) {
      ASSERT_EQ(made.wait(b), code::Success);
    }
    ASSERT_EQ(addOne(b, y.address, z.address), code::Success);
    ASSERT_EQ(join.record(b), code::Success);
    ASSERT_EQ(join.wait(a), code::Success);
    Handle graph = nullptr, executable = nullptr;
    ASSERT_EQ(d.call("cuStreamEndCapture", a.handle, &graph), code::Success);
    ASSERT_EQ(d.call("cuGraphInstantiateWithFlags", &executable, graph, 0ull), code::Success);
    for (uint64_t seed = 1; seed <= 10; seed++) {
      setSeed(seed);
      ASSERT_EQ(d.call("cuGraphLaunch", executable, a.handle), code::Success);
      // Launches on one stream are ordered. Without the wait, a race in the first launch may have been found by now,
      // and then every call fails.
      if (wait) {
        ASSERT_EQ(d.call("cuGraphLaunch", executable, a.handle), code::Success);
      }
      expectRace(!wait, "seed " + std::to_string(seed));
    }
    d.call("cuGraphExecDestroy", executable);
    d.call("cuGraphDestroy", graph);
  }
}

// The host reads a result without waiting for it. With at least one of a few seeds it sees NaNs or the old value.
TEST_F(StreamsTest, HostReadsTooEarly) {
  Buffer<float> x(std::vector<float>(64, 1)), y(64);
  void *pinned = nullptr;
  ASSERT_EQ(d.call("cuMemHostAlloc", &pinned, size_t(256), 0u), code::Success);
  Stream s;
  int wrong = 0;
  for (uint64_t seed = 1; seed <= 20; seed++) {
    setSeed(seed);
    static_cast<volatile float *>(pinned)[63] = 0;
    ASSERT_EQ(addOne(s, x.address, y.address), code::Success);
    ASSERT_EQ(d.call("cuMemcpyDtoHAsync_v2", pinned, y.address, size_t(256), s.handle), code::Success);
    wrong += static_cast<volatile float *>(pinned)[63] != 2;
    ASSERT_EQ(s.synchronize(), code::Success) << firstFinding();
    EXPECT_EQ(static_cast<volatile float *>(pinned)[63], 2);
  }
  EXPECT_GT(wrong, 0);
  ASSERT_EQ(d.call("cuMemFreeHost", pinned), code::Success);
}

} // namespace
} // namespace cleave::emulated::test
