// Writes the data object of a compiled model, an object file with everything that runtime/include/cleave/model.h
// declares.
//
// The plan and the weights are constants aligned to 64 bytes. The table of kernels refers to the symbols that
// compileKernels() defines. Weights go into a large-data section, so that 64 MiB of them do not push other data out of
// reach of 32-bit offsets.
#ifndef CLEAVE_COMPILER_CODEGEN_HOST_MODELOBJECT_H
#define CLEAVE_COMPILER_CODEGEN_HOST_MODELOBJECT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace cleave {

// The section of the plan's bytes. `cleave inspect` and `cleave verify` find them by it in any artefact.
inline constexpr const char *planSection = "cleave_plan";
// The section of cleave_model.kernel_facts. `cleave verify` finds them by it, and compares the plan with the code.
inline constexpr const char *factsSection = "cleave_facts";
// The section of cleave_model.device_kernels. `cleave verify` finds the alignments by it that the code relies on.
inline constexpr const char *deviceSection = "cleave_device_kernels";

// The section of cleave_model.weights_file, and after its NUL cleave_model.weights_checksum. `cleave bundle` finds the
// weights beside an object by them.
inline constexpr const char *weightsSection = "cleave_weights_file";
// The name of a model's symbol begins with this: "cleave_model_gpt".
inline constexpr const char *modelSymbol = "cleave_model_";

struct ModelObject {
  // A kernel of the device image (model.h, cleave_device_kernel). It has no symbol if it is not generated.
  struct Kernel {
    std::string symbol;
    uint32_t blockSize = 0;
    uint64_t blocks = 0;
    uint64_t alignments = 0;
  };
  std::string name; // cleave_model_<name>: a C identifier
  llvm::StringRef plan;
  std::vector<std::string> kernels; // symbols in the order of Plan.kernels; empty if a kernel is not generated
  std::vector<uint64_t> facts;      // rt::KernelFacts::hash() of each, 0 if it is not generated; rt::sealsOf()
  std::string image;                // code for a device; empty if kernels are the host's
  std::vector<Kernel> device;       // in the order of Plan.kernels; empty without an image
  llvm::StringRef weights;          // a safetensors image, or empty
  std::string weightsFile;          // path of the weights beside the executable, or empty
  std::string weightsChecksum;      // of that file's header; empty without one
  bool isMain = false;              // defines cleave_main_model too: the only model of an executable or shared library
};

// Returns the bytes of the object file.
llvm::Expected<std::string> emitModelObject(const ModelObject &model);

} // namespace cleave

#endif
