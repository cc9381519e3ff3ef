// Reads what exporters of PyTorch state about a file, in its metadata.
//
// torch.onnx.export(dynamo=True) stores the signature of the exported program as text, in the graph's metadata:
//   # inputs
//   p_fc_weight: PARAMETER target='fc.weight'
//   b_mean: BUFFER target='mean' persistent=True
//   x: USER_INPUT
//   # outputs
//   getitem_3: BUFFER_MUTATION target='bn.running_mean'
// (An older exporter writes `InputSpec(kind=<InputKind.PARAMETER: 2>, ..., target='fc.weight', ...)`.) Targets are the
// names of initializers. So the file itself says which initializers are parameters.
//
// cleave.export_torch stores `cleave.form` = `training`: each layer has the form in which the module trains it. A
// BatchNormalization in inference form is then a layer in eval(), even if there is no other form in the file.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_FILE_EXPORTSIGNATURE_H
#define CLEAVE_COMPILER_IMPORT_ONNX_FILE_EXPORTSIGNATURE_H

#include "compiler/Import/ONNX/File/ModelFile.h"

#include "llvm/ADT/StringSet.h"

namespace cleave::onnx_import {

constexpr const char kFormKey[] = "cleave.form"; // of ModelProto.metadata_props
constexpr const char kTrainingForm[] = "training";

struct ExportSignature {
  enum class Kind { Unknown, Parameter, Buffer };

  bool isPresent = false;
  std::vector<std::string> parameters, buffers; // in the file's order; `buffers` includes lifted constants
  llvm::StringSet<> mutated;                    // buffers that the program writes
  llvm::StringSet<> unsaved;                    // those of `buffers` that no state_dict has
  std::string form;                             // the value of `cleave.form`; empty: the file does not say it

  Kind kindOf(llvm::StringRef name) const;
  bool isTrainingForm() const { return form == kTrainingForm; }

  llvm::StringMap<Kind> kinds;
};

ExportSignature readExportSignature(const onnx::ModelProto &model);
// Parses the text of the metadata.
ExportSignature parseExportSignature(llvm::StringRef text);

} // namespace cleave::onnx_import

#endif
