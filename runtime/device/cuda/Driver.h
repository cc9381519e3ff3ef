// The CUDA driver, cuBLASLt, cuDNN and NCCL, opened at run time. So a program that was linked with this runtime starts
// even if none of them is installed. It reports the missing one when a plan for a GPU is run.
//
//   const cuda::Driver *driver;
//   CLEAVE_TRY(cuda::openDriver(&driver));
//   CLEAVE_TRY(cuda::check(driver->streamSynchronize(stream), "cuStreamSynchronize"));
//
// CLEAVE_LIBCUDA, CLEAVE_LIBCUBLASLT, CLEAVE_LIBCUDNN and CLEAVE_LIBNCCL name other files to open. They must have the
// same entry points.
#ifndef CLEAVE_RUNTIME_DEVICE_CUDA_DRIVER_H
#define CLEAVE_RUNTIME_DEVICE_CUDA_DRIVER_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>

namespace cleave::rt::cuda {

using Result = int;       // CUresult, cublasStatus_t, cudnnStatus_t, ncclResult_t: 0 is success
using Handle = void *;    // contexts, streams, modules, functions, graphs, descriptors
using Pointer = uint64_t; // CUdeviceptr

struct Driver {
#define CLEAVE_CUDA_ENTRY(member, symbol, parameters) Result(*member) parameters = nullptr;
#include "runtime/device/cuda/Driver.def"
};

struct BlasLt {
  size_t (*version)() = nullptr;                     // cublasLtGetVersion
  const char *(*statusText)(Result error) = nullptr; // cublasLtGetStatusString
#define CLEAVE_BLASLT_ENTRY(member, symbol, parameters) Result(*member) parameters = nullptr;
#include "runtime/device/cuda/BlasLt.def"
};

struct Dnn {
  size_t (*version)() = nullptr;                        // cudnnGetVersion
  const char *(*errorText)(Result error) = nullptr;     // cudnnGetErrorString
  void (*lastError)(char *text, size_t size) = nullptr; // cudnnGetLastErrorString
#define CLEAVE_DNN_ENTRY(member, symbol, parameters) Result(*member) parameters = nullptr;
#include "runtime/device/cuda/Dnn.def"
};

struct NcclId { // ncclUniqueId
  char bytes[128];
};

struct Nccl {
  const char *(*errorText)(Result error) = nullptr; // ncclGetErrorString
  const char *(*lastError)(Handle comm) = nullptr;  // ncclGetLastError
#define CLEAVE_NCCL_ENTRY(member, symbol, parameters) Result(*member) parameters = nullptr;
#include "runtime/device/cuda/Nccl.def"
};

// Each library is opened and initialized once in a process.
Status openDriver(const Driver **driver);
Status openBlasLt(const BlasLt **library);
// Version 9.
Status openDnn(const Dnn **library);
// A version that can split communicators (2.18 or later).
Status openNccl(const Nccl **library);

// Turns a driver's error into a status with its name and text. `what` is the entry point that returned it.
Status check(Result result, const char *what);
// The same for cuBLASLt.
Status checkBlas(Result result, const char *what);
// The same for cuDNN.
Status checkDnn(Result result, const char *what);
// The same for NCCL.
Status checkNccl(Result result, const char *what);

// While it exists, `context` is the thread's current context. A program that embeds the runtime may have another one.
class ContextScope {
public:
  ContextScope(const Driver &driver, Handle context) : driver_(driver) {
    status_ = check(driver.contextCurrent(&before_), "cuCtxGetCurrent");
    isRead_ = status_.isOk();
    if (isRead_)
      status_ = check(driver.contextSetCurrent(context), "cuCtxSetCurrent");
  }
  ~ContextScope() {
    if (isRead_)
      driver_.contextSetCurrent(before_);
  }
  ContextScope(const ContextScope &) = delete;
  ContextScope &operator=(const ContextScope &) = delete;

  const Status &status() const { return status_; }

private:
  const Driver &driver_;
  Handle before_ = nullptr;
  bool isRead_ = false; // before_ was read
  Status status_;
};

// The numbers of cuda.h that Cleave uses.
constexpr int kMultiprocessors = 16, kCapabilityMajor = 75, kCapabilityMinor = 76; // device attributes
constexpr int kErrorLogBuffer = 5, kErrorLogBytes = 6;                             // options of a module
constexpr unsigned kNonBlockingStream = 1, kEventWithoutTime = 2;
constexpr int kLowestPriority = 0, kHighPriority = -1; // of streams; a GPU without priorities ignores them
constexpr uint64_t kNodePriorities = 8;                // of a graph: kernels keep the priorities of their streams
constexpr int kCaptureThisThread = 1;                  // other threads may call the driver during a capture
constexpr int kErrorOutOfMemory = 2, kErrorNoDevice = 100, kErrorNewerPtx = 222, kErrorNotReady = 600;
constexpr int kFirstExecutionError = 700, kEndOfExecutionErrors = 720; // errors of work that was enqueued earlier

} // namespace cleave::rt::cuda

#endif
