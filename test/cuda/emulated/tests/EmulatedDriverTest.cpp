// Behaviour that every CUDA driver has, with its error codes: memory, modules, launches, streams, events, capture,
// graphs. The tests also pass on a real driver (CLEAVE_LIBCUDA=libcuda.so.1) if there is a device.
#include "test/cuda/emulated/tests/DriverLibrary.h"

namespace cleave::emulated::test {
namespace {

using DriverApiTest = DriverTest;

TEST_F(DriverApiTest, Devices) {
  int count = 0, major = 0, version = 0, device = -1;
  EXPECT_EQ(d.call("cuDeviceGetCount", &count), code::Success);
  EXPECT_GE(count, 1);
  EXPECT_EQ(d.call("cuDeviceGet", &device, count), code::InvalidDevice);
  EXPECT_EQ(d.call("cuDeviceGetAttribute", &major, 75, 0), code::Success);
  EXPECT_GE(major, 8);
  EXPECT_EQ(d.call("cuDriverGetVersion", &version), code::Success);
  EXPECT_GE(version, 12000);
  const char *text = nullptr;
  EXPECT_EQ(d.call("cuGetErrorName", 700, &text), code::Success);
  EXPECT_STREQ(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_EQ(d.call("cuGetErrorName", 12345, &text), code::InvalidValue);
}

TEST_F(DriverApiTest, ContextsAreOfThreads) {
  ASSERT_EQ(d.call("cuCtxSetCurrent", Handle(nullptr)), code::Success);
  uint64_t memory = 0;
  EXPECT_EQ(d.call("cuMemAlloc_v2", &memory, size_t(16)), code::InvalidContext);
}

TEST_F(DriverApiTest, Memory) {
  size_t before = 0, after = 0, total = 0;
  ASSERT_EQ(d.call("cuMemGetInfo_v2", &before, &total), code::Success);
  uint64_t memory = 0;
  EXPECT_EQ(d.call("cuMemAlloc_v2", &memory, size_t(0)), code::InvalidValue);
  EXPECT_EQ(d.call("cuMemAlloc_v2", &memory, total + 1), code::OutOfMemory);
  ASSERT_EQ(d.call("cuMemAlloc_v2", &memory, size_t(64) << 20), code::Success);
  EXPECT_EQ(memory % 256, 0u);
  ASSERT_EQ(d.call("cuMemGetInfo_v2", &after, &total), code::Success);
  EXPECT_LE(after + (64 << 20), before);
  EXPECT_EQ(d.call("cuMemFree_v2", memory + 256), code::InvalidValue);
  EXPECT_EQ(d.call("cuMemFree_v2", memory), code::Success);
  EXPECT_EQ(d.call("cuMemFree_v2", uint64_t(0)), code::Success);
}

TEST_F(DriverApiTest, CopiesAndFills) {
  std::vector<uint32_t> values(300);
  for (uint32_t i = 0; i < 300; i++)
    values[i] = i * i;
  Buffer<uint32_t> a(values), b(300);
  Stream s;
  void *pinned = nullptr;
  ASSERT_EQ(d.call("cuMemHostAlloc", &pinned, size_t(1200), 0u), code::Success);
  EXPECT_EQ(d.call("cuMemcpyAsync", b.address, a.address, size_t(1200), s.handle), code::Success);
  EXPECT_EQ(d.call("cuMemsetD32Async", b.address + 40, 7u, size_t(5), s.handle), code::Success);
  EXPECT_EQ(d.call("cuMemsetD16Async", b.address + 80, static_cast<unsigned short>(3), size_t(2), s.handle),
            code::Success);
  EXPECT_EQ(d.call("cuMemsetD8Async", b.address + 100, static_cast<unsigned char>(1), size_t(4), s.handle),
            code::Success);
  EXPECT_EQ(d.call("cuMemcpyAsync", reinterpret_cast<uint64_t>(pinned), b.address, size_t(1200), s.handle),
            code::Success);
  ASSERT_EQ(s.synchronize(), code::Success) << firstFinding();
  for (uint32_t i = 10; i < 15; i++)
    values[i] = 7;
  values[20] = 0x00030003;
  values[25] = 0x01010101;
  const auto *got = static_cast<const uint32_t *>(pinned);
  EXPECT_EQ(std::vector<uint32_t>(got, got + 300), values);
  EXPECT_EQ(d.call("cuMemsetD32Async", b.address + 1, 7u, size_t(5), s.handle), code::InvalidValue);
  EXPECT_EQ(d.call("cuMemFreeHost", pinned), code::Success);
}

// The program may overwrite plain host memory as soon as the call returns.
TEST_F(DriverApiTest, PageableMemoryIsStaged) {
  Buffer<int> a(1000);
  Stream s;
  std::vector<int> values(1000, 1);
  ASSERT_EQ(d.call("cuMemcpyHtoDAsync_v2", a.address, static_cast<const void *>(values.data()), size_t(4000), s.handle),
            code::Success);
  std::fill(values.begin(), values.end(), 2);
  ASSERT_EQ(s.synchronize(), code::Success);
  EXPECT_EQ(a.get(), std::vector<int>(1000, 1));
}

TEST_F(DriverApiTest, Modules) {
  Handle m = nullptr, f = nullptr;
  EXPECT_EQ(d.call("cuModuleLoadData", &m, static_cast<const void *>("this is no PTX")), code::InvalidImage);
  std::string broken = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { add.f32 %f1; }\n";
  EXPECT_EQ(d.call("cuModuleLoadData", &m, static_cast<const void *>(broken.c_str())), code::InvalidPtx);
  std::string feature = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() {\n.reg .b32 %r<3>;\n"
                        ".reg .pred %p<2>;\nelect.sync %r1|%p1, %r2;\nret;\n}\n";
  EXPECT_EQ(d.call("cuModuleLoadData", &m, static_cast<const void *>(feature.c_str())), code::InvalidPtx);
  std::string newer = ".version 8.0\n.target sm_121\n.address_size 64\n.visible .entry k() { ret; }\n";
  EXPECT_EQ(d.call("cuModuleLoadData", &m, static_cast<const void *>(newer.c_str())), code::InvalidPtx);
  std::string future = ".version 19.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n";
  EXPECT_EQ(d.call("cuModuleLoadData", &m, static_cast<const void *>(future.c_str())), code::UnsupportedPtxVersion);
  // The head of an ELF file that is no cubin.
  uint8_t elf[256] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
  elf[18] = 62; // x86-64
  EXPECT_EQ(d.call("cuModuleLoadData", &m, static_cast<const void *>(elf)), code::InvalidImage);
  Module good(readText("planted.ptx"));
  EXPECT_EQ(d.call("cuModuleGetFunction", &f, good.handle, "no_such_kernel"), code::NotFound);
  uint64_t address;
  size_t bytes;
  EXPECT_EQ(d.call("cuModuleGetGlobal_v2", &address, &bytes, good.handle, "no_such_variable"), code::NotFound);
}

TEST_F(DriverApiTest, LaunchLimits) {
  Module values(readText("values.ptx")), planted(readText("planted.ptx"));
  Buffer<float> x(std::vector<float>(4, 1)), y(4);
  Handle add = planted.function("add_one"), row = values.function("softmax"),
         outside = planted.function("shared_outside");
  auto tryAdd = [&](Shape s) { return launch(add, s, nullptr, x.address, y.address, 4); };
  EXPECT_EQ(tryAdd({0, 4}), code::InvalidValue);
  EXPECT_EQ(tryAdd({1, 0}), code::InvalidValue);
  EXPECT_EQ(tryAdd({1, 1025}), code::InvalidValue);
  EXPECT_EQ(tryAdd({1, 4, 0, 65536}), code::InvalidValue);
  EXPECT_EQ(launch(row, {1, 512, 64}, nullptr, x.address, y.address, 4), code::InvalidValue); // .maxntid 256
  EXPECT_EQ(launch(outside, {1, 4, 49152 + 4}, nullptr, y.address, 1), code::InvalidValue);
  ASSERT_EQ(d.call("cuFuncSetAttribute", outside, 8, 49152 + 4), code::Success);
  EXPECT_EQ(launch(outside, {1, 4, 49152 + 4}, nullptr, y.address, 1), code::Success);
  EXPECT_EQ(d.call("cuFuncSetAttribute", outside, 8, 1 << 20), code::InvalidValue);
  EXPECT_EQ(synchronize(), code::Success) << firstFinding();
}

TEST_F(DriverApiTest, ArgumentsAreCopiedAtTheLaunch) {
  Module m(readText("values.ptx"));
  Buffer<float> x(std::vector<float>{1, 2, 3, 4}), y(4);
  Stream s;
  float factor = 2;
  int n = 4;
  void *arguments[] = {&x.address, &y.address, &factor, &n};
  uint64_t in = x.address, out = y.address;
  arguments[0] = &in;
  arguments[1] = &out;
  ASSERT_EQ(d.call("cuLaunchKernel", m.function("scale"), 1u, 1u, 1u, 32u, 1u, 1u, 0u, s.handle,
                   static_cast<void **>(arguments), static_cast<void **>(nullptr)),
            code::Success);
  factor = 100;
  in = out = 0;
  ASSERT_EQ(s.synchronize(), code::Success) << firstFinding();
  EXPECT_EQ(y.get(), (std::vector<float>{2, 4, 6, 8}));
}

TEST_F(DriverApiTest, HostFunctionsRunInOrder) {
  Stream s;
  std::vector<int> order;
  auto append = [](void *data) {
    static_cast<std::vector<int> *>(data)->push_back(int(static_cast<std::vector<int> *>(data)->size()));
  };
  for (int i = 0; i < 5; i++)
    ASSERT_EQ(d.call("cuLaunchHostFunc", s.handle, static_cast<void (*)(void *)>(append), static_cast<void *>(&order)),
              code::Success);
  ASSERT_EQ(s.synchronize(), code::Success);
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST_F(DriverApiTest, Events) {
  Stream s;
  Event a, b;
  EXPECT_EQ(d.call("cuEventQuery", a.handle), code::Success); // never recorded
  ASSERT_EQ(a.record(s), code::Success);
  ASSERT_EQ(b.record(s), code::Success);
  ASSERT_EQ(d.call("cuEventSynchronize", b.handle), code::Success);
  EXPECT_EQ(d.call("cuEventQuery", a.handle), code::Success);
  float milliseconds = -1;
  EXPECT_EQ(d.call("cuEventElapsedTime", &milliseconds, a.handle, b.handle), code::Success);
  EXPECT_GE(milliseconds, 0);
}

// ------------------------------------------------------------------------------------------------ capture, graphs

class GraphTest : public DriverTest {
protected:
  int begin(const Stream &s, int mode = 0) { return d.call("cuStreamBeginCapture_v2", s.handle, mode); }
  int end(const Stream &s) {
    graph = nullptr;
    return d.call("cuStreamEndCapture", s.handle, &graph);
  }
  Handle graph = nullptr;
};

TEST_F(GraphTest, ReplaysWorkOfSeveralStreams) {
  Module m(readText("planted.ptx"));
  Buffer<float> x(std::vector<float>(64, 1)), y(64), z(64), w(64);
  Stream s, side;
  Event fork, join;
  ASSERT_EQ(begin(s), code::Success);
  Handle add = m.function("add_one");
  EXPECT_EQ(launch(add, {2, 32}, s.handle, x.address, y.address, 64), code::Success);
  EXPECT_EQ(fork.record(s), code::Success);
  EXPECT_EQ(fork.wait(side), code::Success);
  EXPECT_EQ(launch(add, {2, 32}, side.handle, y.address, z.address, 64), code::Success);
  EXPECT_EQ(launch(add, {2, 32}, s.handle, y.address, w.address, 64), code::Success);
  EXPECT_EQ(join.record(side), code::Success);
  EXPECT_EQ(join.wait(s), code::Success);
  EXPECT_EQ(d.call("cuMemcpyAsync", x.address, z.address, size_t(256), s.handle), code::Success);
  int status = -1;
  EXPECT_EQ(d.call("cuStreamIsCapturing", side.handle, &status), code::Success);
  EXPECT_EQ(status, 1);
  ASSERT_EQ(end(s), code::Success);
  EXPECT_EQ(x.get(), std::vector<float>(64, 1)) << "nothing runs while it is captured";
  size_t nodes = 0;
  EXPECT_EQ(d.call("cuGraphGetNodes", graph, static_cast<Handle *>(nullptr), &nodes), code::Success);
  EXPECT_EQ(nodes, 4u);
  Handle executable = nullptr;
  ASSERT_EQ(d.call("cuGraphInstantiateWithFlags", &executable, graph, 0ull), code::Success);
  EXPECT_EQ(d.call("cuGraphDestroy", graph), code::Success);
  for (uint64_t i = 1; i <= 20; i++) {
    setSeed(i);
    ASSERT_EQ(d.call("cuGraphLaunch", executable, s.handle), code::Success);
    ASSERT_EQ(s.synchronize(), code::Success) << firstFinding();
    EXPECT_EQ(x.get(), std::vector<float>(64, 1 + 2 * float(i)));
    EXPECT_EQ(w.get(), x.get());
  }
  EXPECT_EQ(d.call("cuGraphExecDestroy", executable), code::Success);
}

TEST_F(GraphTest, UnjoinedStreams) {
  Module m(readText("planted.ptx"));
  Buffer<float> x(std::vector<float>(64, 1)), y(64);
  Stream s, side;
  Event fork;
  ASSERT_EQ(begin(s), code::Success);
  EXPECT_EQ(fork.record(s), code::Success);
  EXPECT_EQ(fork.wait(side), code::Success);
  EXPECT_EQ(launch(m.function("add_one"), {2, 32}, side.handle, x.address, y.address, 64), code::Success);
  EXPECT_EQ(end(s), code::CaptureUnjoined);
  EXPECT_EQ(graph, nullptr);
}

TEST_F(GraphTest, CallsThatACaptureForbids) {
  Stream s;
  uint64_t memory = 0;
  ASSERT_EQ(begin(s), code::Success);
  EXPECT_EQ(s.synchronize(), code::CaptureUnsupported);
  EXPECT_EQ(end(s), code::CaptureInvalidated);
  ASSERT_EQ(begin(s), code::Success);
  EXPECT_EQ(d.call("cuMemAlloc_v2", &memory, size_t(16)), code::CaptureUnsupported);
  EXPECT_EQ(end(s), code::CaptureInvalidated);
  ASSERT_EQ(begin(s, 2), code::Success); // relaxed
  EXPECT_EQ(d.call("cuMemAlloc_v2", &memory, size_t(16)), code::Success);
  EXPECT_EQ(end(s), code::Success);
  EXPECT_EQ(d.call("cuGraphDestroy", graph), code::Success);
  EXPECT_EQ(d.call("cuMemFree_v2", memory), code::Success);
  EXPECT_EQ(end(s), code::IllegalState);
  EXPECT_EQ(d.call("cuStreamBeginCapture_v2", Handle(nullptr), 0), code::CaptureUnsupported);
}

TEST_F(GraphTest, EventsAcrossTheBorder) {
  Stream s, other;
  Event outside, inside;
  ASSERT_EQ(outside.record(other), code::Success);
  ASSERT_EQ(begin(s), code::Success);
  EXPECT_EQ(begin(s), code::IllegalState);
  EXPECT_EQ(outside.wait(s), code::CaptureIsolation);
  EXPECT_EQ(end(s), code::CaptureInvalidated);
  ASSERT_EQ(begin(s), code::Success);
  ASSERT_EQ(inside.record(s), code::Success);
  EXPECT_EQ(d.call("cuEventSynchronize", inside.handle), code::CapturedEvent);
  end(s);
  EXPECT_EQ(inside.wait(other), code::InvalidValue); // there is no capture to join any more
  if (graph)
    d.call("cuGraphDestroy", graph);
}

TEST_F(GraphTest, EndOnTheWrongStream) {
  Stream s, side;
  Event fork, join;
  ASSERT_EQ(begin(s), code::Success);
  ASSERT_EQ(fork.record(s), code::Success);
  ASSERT_EQ(fork.wait(side), code::Success);
  EXPECT_EQ(end(side), code::CaptureUnmatched);
  end(s);
  if (graph)
    d.call("cuGraphDestroy", graph);
}

} // namespace
} // namespace cleave::emulated::test
