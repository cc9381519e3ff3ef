// The initial weights of an artefact: one safetensors image, embedded in the executable up to 64 MiB, beside it above.
#ifndef CLEAVE_COMPILER_DRIVER_WEIGHTSIMAGE_H
#define CLEAVE_COMPILER_DRIVER_WEIGHTSIMAGE_H

#include "compiler/Import/ONNX/Importer.h"

#include "llvm/Support/MemoryBuffer.h"

namespace cleave {

inline constexpr uint64_t embeddedWeightsLimit = 64ull << 20;

struct WeightsImage {
  std::unique_ptr<llvm::MemoryBuffer> embedded; // null when written beside the artefact
  std::string file;                             // "NAME.weights/model.safetensors", relative to the artefact
};

// Streams the weights that the plan needs. Above the limit, OUTPUT.weights/ is written.
llvm::Expected<WeightsImage> writeWeights(const WeightMap &weights, llvm::StringRef output);

} // namespace cleave

#endif
