#include "runtime/device/cuda/CudaModules.h"

#include "runtime/base/Log.h"

#include <cstring>
#include <vector>

namespace cleave::rt {

using cuda::check;
using cuda::Handle;

static constexpr const char *kModels = "the model's kernels", *kOwn = "Cleave's own kernels";

Status CudaModules::open(const cuda::Driver &driver, std::string_view image, int major, int minor, int rank) {
  driver_ = &driver;
  major_ = major;
  minor_ = minor;
  rank_ = rank;
  if (!image.data())
    return Status::ok();
  CLEAVE_TRY(DeviceImage::open(image, &image_));
  hasImage_ = true;
  Handle loaded = nullptr;
  return module(image_.ptx(), 0, kModels, &loaded);
}

void CudaModules::close() {
  for (auto &[key, module] : modules_)
    if (module)
      driver_->moduleUnload(module);
  modules_.clear();
  functions_.clear();
  firstStreams_.clear();
}

// True if the module has variables of ThreadSums.cpp for the kernel. Their names begin with the kernel's name.
bool CudaModules::hasMemory(Handle module, const char *name) const {
  cuda::Pointer address = 0;
  size_t bytes = 0;
  return driver_->moduleGlobal(&address, &bytes, module, (std::string(name) + "_counters").c_str()) == 0;
}

Status CudaModules::generated(const char *name, unsigned stream, Handle *function) {
  Handle module = nullptr;
  CLEAVE_TRY(this->module(image_.ptx(), 0, kModels, &module));
  unsigned first = firstStreams_.try_emplace(name, stream).first->second;
  if (stream != first && hasMemory(module, name)) // instance 0 may belong to the stream of another kernel
    CLEAVE_TRY(this->module(image_.ptx(), stream + 1, kModels, &module));
  return find(module, name, function);
}

Status CudaModules::own(const char *ptx, const char *name, Handle *function) {
  Handle module = nullptr;
  CLEAVE_TRY(this->module(ptx, 0, kOwn, &module));
  return find(module, name, function);
}

Status CudaModules::find(Handle module, const char *name, Handle *function) {
  Handle &known = functions_[{module, name}];
  if (!known)
    CLEAVE_TRY(check(driver_->moduleFunction(&known, module, name), "cuModuleGetFunction").in(name));
  *function = known;
  return Status::ok();
}

Status CudaModules::module(const char *ptx, unsigned instance, const char *what, Handle *module) {
  Handle &known = modules_[{ptx, instance}];
  *module = known;
  if (known)
    return Status::ok();
  std::string_view code = image_.codeFor(ptx, major_, minor_);
  std::string why = "the program has no machine code of them for sm_" + std::to_string(10 * major_ + minor_);
  if (!code.empty()) {
    // The driver reads an ELF file, whose numbers must be aligned. In the image it may begin at any byte.
    std::vector<uint64_t> aligned((code.size() + 7) / 8);
    std::memcpy(aligned.data(), code.data(), code.size());
    std::string words;
    cuda::Result result = load(aligned.data(), &known, &words);
    *module = known;
    if (result == 0) {
      bool isText = code.substr(0, 4) != "\x7f" "ELF"; // PTX for this capability only (compiler/Target/Cuda.cpp)
      log(LogLevel::Debug, rank_,
          std::string(what) + (isText ? " are compiled by the driver, from PTX for this GPU alone"
                                      : " are loaded as machine code"));
      return Status::ok();
    }
    // A checksum has shown that the code is whole. If anything else is wrong, loading the PTX fails too.
    why = "it does not take their machine code (error " + std::to_string(result) + (words.empty() ? "" : ": " + words) + ")";
  }
  log(LogLevel::Debug, rank_, std::string(what) + " are compiled by the driver, from PTX: " + why);
  CLEAVE_TRY(loadPtx(ptx, what, why, &known));
  *module = known;
  return Status::ok();
}

cuda::Result CudaModules::load(const void *code, Handle *module, std::string *words) const {
  char log[4096] = "";
  int options[] = {cuda::kErrorLogBuffer, cuda::kErrorLogBytes};
  void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
  cuda::Result result = driver_->moduleLoad(module, code, 2, options, values);
  if (result != 0)
    *module = nullptr;
  *words = log;
  return result;
}

Status CudaModules::loadPtx(const char *ptx, const char *what, const std::string &why, Handle *module) const {
  std::string words;
  cuda::Result result = load(ptx, module, &words);
  if (int version = 0; result == cuda::kErrorNewerPtx && driver_->driverVersion(&version) == 0)
    return notFound("the installed NVIDIA driver is too old: it is of CUDA " + std::to_string(version / 1000) + "." +
                    std::to_string(version % 1000 / 10) + "; programs need one of CUDA 12.0 or later, and those for sm_100 "
                    "of 12.7");
  Status status = check(result, "cuModuleLoadDataEx");
  if (status.isOk())
    return status;
  return internal(
      std::string(what) + " cannot be loaded on this GPU, which is sm_" + std::to_string(10 * major_ + minor_) +
      ". Machine code: " + why + ". PTX: " + status.message() + (words.empty() ? "" : ": " + words) +
      ". Install a newer NVIDIA driver, or compile the model again with a --target that is this GPU's or an "
      "earlier one's");
}

} // namespace cleave::rt
