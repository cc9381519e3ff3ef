// The code of a program on its GPU: modules of the driver. A module is loaded when one of its functions is first
// needed.
//
//   CLEAVE_TRY(modules.open(driver, {model.device_image, model.device_image_size}, 9, 0, rank));
//   CLEAVE_TRY(modules.generated("cleave_gpt_k0", /*stream=*/0, &function));
//
// If the image has machine code for this GPU, it is loaded. If it has none, or the driver refuses it (for example
// because the driver is older than the ptxas that made it), the driver compiles the PTX. PTX runs on its GPU and on all
// later ones. Compiling takes seconds at the first start; the driver keeps the result in its own cache.
// CLEAVE_LOG=debug says which of the two was loaded. If both are refused, the error has both reasons.
//
// *Memory of a kernel's own.* The blocks of a kernel that splits long sums communicate through variables of its module
// (ThreadSums.cpp), which the plan does not know. So launches of such a kernel must not overlap. On one stream they do
// not. If such a kernel is launched on several streams, each stream has a module of its own, and so its own variables.
#ifndef CLEAVE_RUNTIME_DEVICE_CUDA_CUDAMODULES_H
#define CLEAVE_RUNTIME_DEVICE_CUDA_CUDAMODULES_H

#include "runtime/device/cuda/DeviceImage.h"
#include "runtime/device/cuda/Driver.h"

#include <map>
#include <string>
#include <utility>

namespace cleave::rt {

class CudaModules {
public:
  // `image` has no data if there are no generated kernels. The model's own module is loaded at once.
  Status open(const cuda::Driver &driver, std::string_view image, int major, int minor, int rank);
  // Unloads everything.
  void close();

  bool hasGenerated() const { return hasImage_; }
  // Finds a generated function. Each is looked up only once, because a deep model launches it for every layer.
  Status generated(const char *name, unsigned stream, cuda::Handle *function);
  // Finds a function of Cleave's own kernels. `ptx` must outlive this object, because its address identifies the
  // module.
  Status own(const char *ptx, const char *name, cuda::Handle *function);

private:
  Status module(const char *ptx, unsigned instance, const char *what, cuda::Handle *module);
  bool hasMemory(cuda::Handle module, const char *name) const;
  // `words` is the driver's message.
  cuda::Result load(const void *code, cuda::Handle *module, std::string *words) const;
  // `why` says why machine code was not loaded.
  Status loadPtx(const char *ptx, const char *what, const std::string &why, cuda::Handle *module) const;
  Status find(cuda::Handle module, const char *name, cuda::Handle *function);

  const cuda::Driver *driver_ = nullptr;
  DeviceImage image_;
  bool hasImage_ = false;
  int major_ = 0, minor_ = 0, rank_ = 0;
  std::map<std::pair<const char *, unsigned>, cuda::Handle> modules_;      // by PTX and number of the instance
  std::map<std::string, unsigned> firstStreams_;                           // the stream that uses instance 0, by kernel
  std::map<std::pair<cuda::Handle, std::string>, cuda::Handle> functions_; // by module and name
};

} // namespace cleave::rt

#endif
