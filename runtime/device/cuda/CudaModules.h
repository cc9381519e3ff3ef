// The code of a program on its GPU: modules of the driver, each loaded when a function of it is first asked for.
//
//   CLEAVE_TRY(modules.open(driver, {model.device_image, model.device_image_size}, 9, 0, rank));
//   CLEAVE_TRY(modules.generated("cleave_gpt_k0", /*stream=*/0, &function));
//
// Machine code of the image is loaded where it is for this GPU. Else, and where the driver refuses it (one that is
// older than the ptxas that made it), the driver compiles the PTX, which takes seconds at the first start; it keeps the
// result in its own cache. CLEAVE_LOG=debug says which of them it was. PTX runs on its GPU and on all later ones. Where
// neither is taken, the error says why not, of both.
//
// *Memory of a kernel's own.* The blocks of a kernel that splits long sums meet in variables of its module
// (ThreadSums.cpp), which no plan names: launches of it must come one after the other. On one stream they do. A kernel
// that has such memory and is launched on several streams has a module, so other variables, for each of them.
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
  // `image` may have no data: there are no generated kernels. The model's own module is loaded at once.
  Status open(const cuda::Driver &driver, std::string_view image, int major, int minor, int rank);
  // Unloads everything.
  void close();

  bool hasGenerated() const { return hasImage_; }
  // A function, looked up once: a deep model launches it for every layer.
  Status generated(const char *name, unsigned stream, cuda::Handle *function);
  // Of Cleave's own kernels, by their text, which stays where it is.
  Status own(const char *ptx, const char *name, cuda::Handle *function);

private:
  Status module(const char *ptx, unsigned instance, const char *what, cuda::Handle *module);
  bool hasMemory(cuda::Handle module, const char *name) const;
  // `words` is what the driver says of it.
  cuda::Result load(const void *code, cuda::Handle *module, std::string *words) const;
  // `why`: its machine code was not loaded.
  Status loadPtx(const char *ptx, const char *what, const std::string &why, cuda::Handle *module) const;
  Status find(cuda::Handle module, const char *name, cuda::Handle *function);

  const cuda::Driver *driver_ = nullptr;
  DeviceImage image_;
  bool hasImage_ = false;
  int major_ = 0, minor_ = 0, rank_ = 0;
  std::map<std::pair<const char *, unsigned>, cuda::Handle> modules_; // by their text, and the number of the instance
  std::map<std::string, unsigned> firstStreams_;                      // of generated kernels: that of instance 0
  std::map<std::pair<cuda::Handle, std::string>, cuda::Handle> functions_; // by their module and name
};

} // namespace cleave::rt

#endif
