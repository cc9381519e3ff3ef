// The driver as a test sees it. It is opened by path and never linked: $CLEAVE_LIBCUDA, by default the emulated one.
//
// Tests of behaviour that every driver must have pass on a real one, too. CLEAVE_LIBCUDA=libcuda.so.1 runs them there,
// and skips those that plant a mistake (on a real device, a mistake costs the context, or is not found at all).
#pragma once
#include "test/cuda/emulated/driver/Codes.h"
#include "test/cuda/emulated/driver/Control.h"
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>
#include <vector>

namespace cleave::emulated::test {

using Handle = void *;

struct Driver {
  void *library = nullptr;
  bool isEmulated = false;

  template <class... A> int call(const char *name, A... arguments) const {
    auto *f = reinterpret_cast<int (*)(A...)>(dlsym(library, name));
    EXPECT_NE(f, nullptr) << name;
    return f ? f(arguments...) : -1;
  }

  static const Driver &get() {
    static const Driver driver = [] {
      Driver d;
      const char *path = getenv("CLEAVE_LIBCUDA");
      d.library = dlopen(path ? path : CLEAVE_EMULATED_LIBRARY, RTLD_NOW | RTLD_LOCAL);
      if (!d.library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
      }
      d.isEmulated = dlsym(d.library, "cleave_emulated_clear") != nullptr;
      return d;
    }();
    return driver;
  }
};

// A test with a current context. TearDown() releases it, and the destructors of the classes below free their objects.
class DriverTest : public ::testing::Test {
protected:
  void SetUp() override {
    ASSERT_EQ(d.call("cuInit", 0u), code::Success);
    int device;
    ASSERT_EQ(d.call("cuDeviceGet", &device, 0), code::Success);
    Handle context;
    ASSERT_EQ(d.call("cuDevicePrimaryCtxRetain", &context, device), code::Success);
    ASSERT_EQ(d.call("cuCtxSetCurrent", context), code::Success);
  }
  void TearDown() override { EXPECT_EQ(d.call("cuDevicePrimaryCtxRelease_v2", 0), code::Success); }

  const Driver &d = Driver::get();
};

inline std::string readText(const std::string &name) {
  std::ifstream file(std::string(CLEAVE_TEST_SOURCE_DIR) + "/cuda/emulated/tests/kernels/" + name);
  EXPECT_TRUE(file.good()) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

// Device memory of `count` elements. set() and get() copy to it and from it.
template <class T> class Buffer {
public:
  explicit Buffer(size_t count) : count(count) {
    EXPECT_EQ(Driver::get().call("cuMemAlloc_v2", &address, count * sizeof(T)), code::Success);
  }
  explicit Buffer(const std::vector<T> &values) : Buffer(values.size()) { set(values); }
  Buffer(const Buffer &) = delete;
  ~Buffer() { Driver::get().call("cuMemFree_v2", address); }

  void set(const std::vector<T> &values) {
    EXPECT_EQ(Driver::get().call("cuMemcpyHtoD_v2", address, static_cast<const void *>(values.data()),
                                 values.size() * sizeof(T)),
              code::Success);
  }
  std::vector<T> get() const {
    std::vector<T> values(count);
    EXPECT_EQ(Driver::get().call("cuMemcpyDtoH_v2", static_cast<void *>(values.data()), address, count * sizeof(T)),
              code::Success);
    return values;
  }

  uint64_t address = 0;
  const size_t count;
};

class Module {
public:
  explicit Module(const std::string &text) {
    char log[4096] = "";
    int options[] = {5, 6};
    void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
    EXPECT_EQ(Driver::get().call("cuModuleLoadDataEx", &handle, static_cast<const void *>(text.c_str()), 2u,
                                 static_cast<int *>(options), static_cast<void **>(values)),
              code::Success)
        << log;
  }
  Module(const Module &) = delete;
  ~Module() {
    if (handle)
      Driver::get().call("cuModuleUnload", handle);
  }
  Handle function(const char *name) const {
    Handle f = nullptr;
    EXPECT_EQ(Driver::get().call("cuModuleGetFunction", &f, handle, name), code::Success) << name;
    return f;
  }
  Handle handle = nullptr;
};

struct Shape {
  unsigned grid = 1, block = 1, shared = 0, gridY = 1;
};

// Arguments are numbers or device addresses. Each must have the size of the kernel's parameter.
template <class... A> int launch(Handle function, Shape s, Handle stream, A... arguments) {
  void *pointers[] = {static_cast<void *>(&arguments)..., nullptr};
  return Driver::get().call("cuLaunchKernel", function, s.grid, s.gridY, 1u, s.block, 1u, 1u, s.shared, stream,
                            static_cast<void **>(pointers), static_cast<void **>(nullptr));
}

inline int synchronize() { return Driver::get().call("cuCtxSynchronize"); }

class Stream {
public:
  explicit Stream(unsigned flags = 1) {
    EXPECT_EQ(Driver::get().call("cuStreamCreate", &handle, flags), code::Success);
  }
  Stream(const Stream &) = delete;
  ~Stream() { Driver::get().call("cuStreamDestroy_v2", handle); }
  int synchronize() const { return Driver::get().call("cuStreamSynchronize", handle); }
  Handle handle = nullptr;
};

class Event {
public:
  Event() { EXPECT_EQ(Driver::get().call("cuEventCreate", &handle, 0u), code::Success); }
  Event(const Event &) = delete;
  ~Event() { Driver::get().call("cuEventDestroy_v2", handle); }
  int record(const Stream &s) const { return Driver::get().call("cuEventRecord", handle, s.handle); }
  int wait(const Stream &s) const { return Driver::get().call("cuStreamWaitEvent", s.handle, handle, 0u); }
  Handle handle = nullptr;
};

// ---- the findings of the emulated device
inline std::string firstFinding() {
  auto *f = reinterpret_cast<const char *(*)(int)>(dlsym(Driver::get().library, "cleave_emulated_finding"));
  const char *text = f ? f(0) : nullptr;
  return text ? text : "";
}
inline void clearFindings() {
  if (auto *f = reinterpret_cast<void (*)()>(dlsym(Driver::get().library, "cleave_emulated_clear")))
    f();
}
inline void setSeed(uint64_t seed) {
  if (auto *f = reinterpret_cast<void (*)(uint64_t)>(dlsym(Driver::get().library, "cleave_emulated_seed")))
    f(seed);
}

} // namespace cleave::emulated::test
