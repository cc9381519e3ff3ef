// The initial weights of an artefact: one safetensors image, embedded in the executable up to 64 MiB, beside it above.
#ifndef CLEAVE_COMPILER_DRIVER_WEIGHTSIMAGE_H
#define CLEAVE_COMPILER_DRIVER_WEIGHTSIMAGE_H

#include "compiler/Import/ONNX/File/Weights.h"
#include "runtime/plan/Plan_generated.h"
#include "runtime/state/SafeTensors.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cleave {

// OUTPUT.weights/model.safetensors: where the weights of an artefact lie that are too large to be embedded.
std::string weightsPathBeside(llvm::StringRef output);

inline constexpr uint64_t embeddedWeightsLimit = 64ull << 20;

// The file weightsPathBeside(), which appears by commit(); without it neither file nor directory are left.
class WeightsFile {
public:
  explicit WeightsFile(std::string path) : path(std::move(path)) {}
  ~WeightsFile();
  llvm::Error write(const std::vector<rt::TensorView> &tensors);
  llvm::Error commit();
  // Of the header, once all is written.
  llvm::Expected<std::string> checksum() const;

private:
  llvm::StringRef directory() const { return llvm::sys::path::parent_path(path); }

  std::string path;
  bool isNew = false; // the directory
  std::optional<rt::SafeTensorsFile> file;
};

struct WeightsImage {
  std::unique_ptr<llvm::MemoryBuffer> embedded; // null when there are none, or they lie beside the artefact
  std::string file;                             // "NAME.weights/model.safetensors", relative to the artefact; or empty
  std::string checksum;                         // of its header, by which the artefact knows it
  std::unique_ptr<WeightsFile> beside;          // that file; null when there is none

  // To be called when the artefact is there.
  llvm::Error commit() { return beside ? beside->commit() : llvm::Error::success(); }
};

// Gathers the weights that the plan begins with. Above the limit, OUTPUT.weights/ is written.
llvm::Expected<WeightsImage> writeWeights(const WeightMap &weights, const rt::fb::Plan &plan, llvm::StringRef output);

// Adds a constant of the program to the weights, under a name that planning made.
void addConstant(WeightMap &weights, llvm::StringRef name, mlir::DenseElementsAttr value);

} // namespace cleave

#endif
