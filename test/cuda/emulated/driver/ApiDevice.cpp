// Initialization, devices, contexts, error texts.
#include "test/cuda/emulated/driver/Api.h"
#include <cstring>
#include <vector>

using namespace cleave::emulated;

namespace {

struct DeviceContext {
  int device;
  int retained = 0;
};

std::mutex contextMutex;
std::vector<DeviceContext> &contexts() {
  static auto *all = [] {
    auto *v = new std::vector<DeviceContext>;
    for (int d = 0; d < Machine::get().options.devices; d++)
      v->push_back({d});
    return v;
  }();
  return *all;
}

bool isDevice(int d) { return d >= 0 && d < Machine::get().options.devices; }

int attribute(int which, int device) {
  const Options &o = Machine::get().options;
  switch (which) {
  case 1: // threads of a block
  case 2: // block x
  case 3: // block y
    return 1024;
  case 4: // block z
    return 64;
  case 5: // grid x
    return 0x7fffffff;
  case 6: // grid y
  case 7: // grid z
    return 65535;
  case 8: // shared memory of a block, by default
    return 48 << 10;
  case 10: // warp
    return 32;
  case 12: // registers of a block
  case 82: // and of a multiprocessor
    return 65536;
  case 16: // multiprocessors
    return 4;
  case 31: // kernels run at the same time
  case 41: // one address space with the host
  case 83: // managed memory
    return 1;
  case 38: // L2 bytes
    return 50 << 20;
  case 39: // threads of a multiprocessor
    return 2048;
  case 40: // copy engines
    return 2;
  case 75:
    return o.capabilityMajor;
  case 76:
    return o.capabilityMinor;
  case 81: // shared memory of a multiprocessor
    return 228 << 10;
  case 97: // shared memory of a block, opt in
    return 227 << 10;
  case 106: // blocks of a multiprocessor
    return 32;
  case 115: // memory pools
    return 0;
  case 50: // PCI device: tells devices apart
    return device;
  default:
    return 0;
  }
}

struct ErrorName {
  int code;
  const char *name, *text;
};
const ErrorName kErrors[] = {
    {code::Success, "CUDA_SUCCESS", "no error"},
    {code::InvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {code::OutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {code::NotInitialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {code::Deinitialized, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {code::NoDevice, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {code::InvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {code::InvalidImage, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {code::InvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {code::NoBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {code::InvalidPtx, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {code::UnsupportedPtxVersion, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {code::InvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {code::IllegalState, "CUDA_ERROR_ILLEGAL_STATE", "the operation cannot be performed in the present state"},
    {code::NotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {code::NotReady, "CUDA_ERROR_NOT_READY", "device not ready"},
    {code::IllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {code::LaunchOutOfResources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {code::LaunchTimeout, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {code::ContextIsDestroyed, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {code::Assert, "CUDA_ERROR_ASSERT", "device-side assert triggered"},
    {code::IllegalInstruction, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "an illegal instruction was encountered"},
    {code::MisalignedAddress, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {code::LaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {code::NotPermitted, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
    {code::NotSupported, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {code::CaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {code::CaptureInvalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
    {code::CaptureMerge, "CUDA_ERROR_STREAM_CAPTURE_MERGE",
     "operation would result in a merge of separate capture sequences"},
    {code::CaptureUnmatched, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
     "capture was not ended in the same stream as it began"},
    {code::CaptureUnjoined, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work"},
    {code::CaptureIsolation, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
     "dependency created on uncaptured work in another stream"},
    {code::CaptureImplicit, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {code::CapturedEvent, "CUDA_ERROR_CAPTURED_EVENT",
     "operation not permitted on an event last recorded in a capturing stream"},
    {code::CaptureWrongThread, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
     "attempt to terminate a thread-local capture sequence from another thread"},
    {code::Unknown, "CUDA_ERROR_UNKNOWN", "unknown error"}};

const ErrorName *errorOf(int code) {
  for (const ErrorName &e : kErrors)
    if (e.code == code)
      return &e;
  return nullptr;
}

} // namespace

CLEAVE_EMULATED_API int cuInit(unsigned flags) {
  if (flags)
    return code::InvalidValue;
  if (Machine::get().options.devices < 1)
    return code::NoDevice;
  Machine::get().initialized = true;
  return code::Success;
}

CLEAVE_EMULATED_API int cuDriverGetVersion(int *version) {
  if (!version)
    return code::InvalidValue;
  *version = Machine::get().options.driverVersion;
  return code::Success;
}

CLEAVE_EMULATED_API int cuGetErrorName(int error, const char **text) {
  const ErrorName *e = errorOf(error);
  *text = e ? e->name : nullptr;
  return e ? code::Success : code::InvalidValue;
}

// The finding's own text if there is one, so that the output of a failed test has it.
CLEAVE_EMULATED_API int cuGetErrorString(int error, const char **text) {
  const ErrorName *e = errorOf(error);
  const char *finding = Machine::get().textOf(error);
  *text = finding ? finding : e ? e->text : nullptr;
  return e ? code::Success : code::InvalidValue;
}

CLEAVE_EMULATED_API int cuDeviceGetCount(int *count) {
  if (int error = needInitialized())
    return error;
  *count = Machine::get().options.devices;
  return code::Success;
}

CLEAVE_EMULATED_API int cuDeviceGet(int *device, int ordinal) {
  if (int error = needInitialized())
    return error;
  if (!isDevice(ordinal))
    return code::InvalidDevice;
  *device = ordinal;
  return code::Success;
}

CLEAVE_EMULATED_API int cuDeviceGetName(char *name, int length, int device) {
  if (!isDevice(device) || length < 1)
    return isDevice(device) ? code::InvalidValue : code::InvalidDevice;
  const Options &o = Machine::get().options;
  snprintf(name, size_t(length), "Emulated sm_%d%d (no GPU)", o.capabilityMajor, o.capabilityMinor);
  return code::Success;
}

CLEAVE_EMULATED_API int cuDeviceGetAttribute(int *value, int which, int device) {
  if (int error = needInitialized())
    return error;
  if (!isDevice(device))
    return code::InvalidDevice;
  if (!value || which < 1)
    return code::InvalidValue;
  *value = attribute(which, device);
  return code::Success;
}

CLEAVE_EMULATED_API int cuDeviceTotalMem_v2(size_t *bytes, int device) {
  if (!isDevice(device))
    return code::InvalidDevice;
  *bytes = Machine::get().options.memoryBytes;
  return code::Success;
}

CLEAVE_EMULATED_API int cuDeviceGetUuid_v2(char *uuid, int device) {
  if (!isDevice(device))
    return code::InvalidDevice;
  memset(uuid, 0, 16);
  uuid[0] = char(device + 1);
  return code::Success;
}

CLEAVE_EMULATED_API int cuDevicePrimaryCtxRetain(Handle *context, int device) {
  if (int error = needInitialized())
    return error;
  if (!isDevice(device))
    return code::InvalidDevice;
  std::lock_guard<std::mutex> lock(contextMutex);
  DeviceContext &c = contexts()[size_t(device)];
  c.retained++;
  *context = &c;
  return code::Success;
}

// The last release destroys the context with everything in it. An object that the program has not freed is a leak.
CLEAVE_EMULATED_API int cuDevicePrimaryCtxRelease_v2(int device) {
  if (int error = needInitialized())
    return error;
  if (!isDevice(device))
    return code::InvalidDevice;
  bool last;
  {
    std::lock_guard<std::mutex> lock(contextMutex);
    DeviceContext &c = contexts()[size_t(device)];
    if (!c.retained)
      return code::InvalidContext;
    last = --c.retained == 0;
  }
  if (last && !Machine::get().stickyError())
    Streams::get().synchronizeAll(device);
  return code::Success;
}

CLEAVE_EMULATED_API int cuCtxSetCurrent(Handle context) {
  if (int error = needInitialized())
    return error;
  auto *c = static_cast<DeviceContext *>(context);
  if (c && (c < contexts().data() || c >= contexts().data() + contexts().size()))
    return code::InvalidContext;
  currentDevice() = c ? c->device : -1;
  return code::Success;
}

CLEAVE_EMULATED_API int cuCtxGetCurrent(Handle *context) {
  if (int error = needInitialized())
    return error;
  *context = currentDevice() < 0 ? nullptr : &contexts()[size_t(currentDevice())];
  return code::Success;
}

CLEAVE_EMULATED_API int cuCtxGetDevice(int *device) {
  if (int error = needContext())
    return error;
  *device = currentDevice();
  return code::Success;
}

CLEAVE_EMULATED_API int cuCtxSynchronize() {
  if (int error = needContextOutsideCapture())
    return error;
  Streams::get().synchronizeAll(currentDevice());
  return Machine::get().stickyError();
}
