// Writes the initial weights of an artefact as one safetensors image. It is embedded in the executable up to 64 MiB,
// and written beside it above.
#ifndef CLEAVE_COMPILER_DRIVER_FILES_WEIGHTSIMAGE_H
#define CLEAVE_COMPILER_DRIVER_FILES_WEIGHTSIMAGE_H

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

// Returns OUTPUT.weights/model.safetensors, the file of weights that are too large to be embedded.
std::string weightsPathBeside(llvm::StringRef output);

inline constexpr uint64_t embeddedWeightsLimit = 64ull << 20;

// Writes the file weightsPathBeside(). It appears by commit(). Without commit(), neither the file nor the directory
// remains.
class WeightsFile {
public:
  explicit WeightsFile(std::string path) : path(std::move(path)) {}
  ~WeightsFile();
  llvm::Error write(const std::vector<rt::TensorView> &tensors);
  llvm::Error commit();
  // Returns the checksum of the header. Everything must have been written.
  llvm::Expected<std::string> checksum() const;

private:
  llvm::StringRef directory() const { return llvm::sys::path::parent_path(path); }

  std::string path;
  bool isNew = false; // the directory was created here
  std::optional<rt::SafeTensorsFile> file;
};

struct WeightsImage {
  std::unique_ptr<llvm::MemoryBuffer> embedded; // null: there are none, or they are beside the artefact
  std::string file;                             // "NAME.weights/model.safetensors", relative to the artefact; or empty
  std::string checksum;                         // of its header; the artefact contains it, too
  std::unique_ptr<WeightsFile> beside;          // that file, or null

  // Must be called after the artefact has been written.
  llvm::Error commit() { return beside ? beside->commit() : llvm::Error::success(); }
};

// Gathers the initial weights of the plan. If they exceed the limit, writes OUTPUT.weights/.
llvm::Expected<WeightsImage> writeWeights(const WeightMap &weights, const rt::fb::Plan &plan, llvm::StringRef output);

// Adds a constant of the program to the weights, under the name that planning gave it.
void addConstant(WeightMap &weights, llvm::StringRef name, mlir::DenseElementsAttr value);

} // namespace cleave

#endif
