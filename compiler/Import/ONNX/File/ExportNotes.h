// Warns if the exporter has changed the model that the author wants to train. An exporter's defaults prepare a
// model for inference: they fold batch normalization into convolutions, merge parameters that happen to be equal, and
// remove dropout. Such a graph trains without an error, but it is another model.
//
// Warnings and notes need evidence in the file, and each names the call that exports the original model:
//   - dynamo=True: the signature lists parameters that the file does not have. They are not just tied: the exporter
//     writes a tied parameter once, too, but then it has not made a tensor of its own.
//   - TorchScript: a convolution whose bias has a name of the exporter, or an Identity of an initializer, which
//     replaces a merged parameter;
//   - both: BatchNormalizations of which none updates its statistics, if the graph has no Dropout, and the file does not
//     state that it is in training form.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_FILE_EXPORTNOTES_H
#define CLEAVE_COMPILER_IMPORT_ONNX_FILE_EXPORTNOTES_H

#include "compiler/Import/ONNX/File/ExportSignature.h"
#include "compiler/Import/ONNX/File/FlatGraph.h"

namespace cleave::onnx_import {

// Adds at most two notes and one warning of one line. `isFrozen`: batch normalization keeps its statistics (--batch-norm
// frozen).
void noteExport(const ModelFile &file, const FlatGraph &graph, const ExportSignature &signature, bool isFrozen,
                std::vector<std::string> &notes, std::vector<std::string> &warnings);

// Returns the running means of layers in eval(): of BatchNormalizations in inference form, in a file that has others in
// training form, or that states its form (ExportSignature.h). A layer that is used in both forms is not one of them. If
// all are in inference form, and the file does not state its form, it was probably exported for inference.
llvm::StringSet<> findKeptNorms(const FlatGraph &graph, const ExportSignature &signature);

// Adds at most one note, which names the nodes in training mode. For a file that is compiled without --train.
void noteTrainingForm(const ModelFile &file, const FlatGraph &graph, std::vector<std::string> &notes);

// True for names that an exporter made, for a constant of the code or for a tensor that it computed: val_3,
// onnx::Conv_39. A parameter's name is that of an attribute of a module.
bool isExporterName(llvm::StringRef name);

// Returns for example "a, b and 4 more".
std::string listNames(llvm::ArrayRef<std::string> names, size_t shown = 2);

// Returns the parameters of the signature that the file does not have, if the exporter has changed tensors of the file.
// Otherwise returns an empty list, because a missing parameter is then tied to another one.
std::vector<std::string> changedParameters(const onnx::GraphProto &graph, const ExportSignature &signature);

} // namespace cleave::onnx_import

#endif
