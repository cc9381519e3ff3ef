// The initial weights of an artefact: one safetensors image, embedded in the executable up to 64 MiB, beside it above.
#ifndef CLEAVE_COMPILER_DRIVER_WEIGHTSIMAGE_H
#define CLEAVE_COMPILER_DRIVER_WEIGHTSIMAGE_H

#include "compiler/Import/ONNX/Weights.h"
#include "runtime/plan/Plan_generated.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

namespace cleave {

inline constexpr uint64_t embeddedWeightsLimit = 64ull << 20;

struct WeightsImage {
  std::unique_ptr<llvm::MemoryBuffer> embedded; // null when there are none, or they lie beside the artefact
  std::string file;                             // "NAME.weights/model.safetensors", relative to the artefact; or empty
};

// Gathers the weights that the plan begins with. Above the limit, OUTPUT.weights/ is written.
llvm::Expected<WeightsImage> writeWeights(const WeightMap &weights, const rt::fb::Plan &plan, llvm::StringRef output);

// Adds a constant of the program to the weights, under a name that planning made.
void addConstant(WeightMap &weights, llvm::StringRef name, mlir::DenseElementsAttr value);

} // namespace cleave

#endif
