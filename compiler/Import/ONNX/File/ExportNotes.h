// Whether a file holds the model that its author would train. An exporter's defaults prepare a model for inference:
// they fold batch normalization into convolutions, merge parameters that happen to be equal, and leave dropout out.
// Such a graph trains without an error, but it is another model.
//
// Notes rest on evidence in the file alone, and each names the call that exports the model itself:
//   - dynamo=True: the signature lists parameters which the file has not (and which are not tied: the exporter writes a
//     tied one once, but then it has made no tensor of its own);
//   - TorchScript: a convolution whose bias bears a name of the exporter's, or an Identity of an initializer, which
//     stands for a merged parameter;
//   - both: BatchNormalization that does not update its statistics, in a graph without Dropout, or among others that
//   do.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_FILE_EXPORTNOTES_H
#define CLEAVE_COMPILER_IMPORT_ONNX_FILE_EXPORTNOTES_H

#include "compiler/Import/ONNX/File/ExportSignature.h"
#include "compiler/Import/ONNX/File/FlatGraph.h"

namespace cleave::onnx_import {

// At most two notes of one line. `isFrozen`: batch normalization keeps its statistics (--batch-norm frozen).
void noteExport(const ModelFile &file, const FlatGraph &graph, const ExportSignature &signature, bool isFrozen,
                std::vector<std::string> &notes);

// At most one note, for a file that is compiled without --train: its nodes of training_mode 1.
void noteTrainingForm(const ModelFile &file, const FlatGraph &graph, std::vector<std::string> &notes);

// A name that an exporter made up, for a constant of the code or for a tensor that it computed: val_3, onnx::Conv_39.
// A parameter is named after an attribute of a module.
bool isExporterName(llvm::StringRef name);

// "a, b and 4 more"
std::string listNames(llvm::ArrayRef<std::string> names, size_t shown = 2);

// Parameters of the signature that the file has not, in a file in which the exporter has changed tensors. Empty
// otherwise: what is missing then is tied to another one.
std::vector<std::string> changedParameters(const onnx::GraphProto &graph, const ExportSignature &signature);

} // namespace cleave::onnx_import

#endif
