// Records how the nodes of a graph use its initializers. This is evidence of a tensor's purpose, in addition to its
// name. An Identity gives a tensor a further name, and is no use: torch.export writes one for the running statistics of
// a layer that is applied twice.
//
//   BatchNormalization(x, w, b, mean, var) -> y    Identity(mean) -> m    BatchNormalization(y, w, b, m, v) -> z
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_FILE_TENSORUSES_H
#define CLEAVE_COMPILER_IMPORT_ONNX_FILE_TENSORUSES_H

#include "compiler/Import/ONNX/File/FlatGraph.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace cleave::onnx_import {

class TensorUses {
public:
  explicit TensorUses(const FlatGraph &graph);

  // True if the tensor is used only as class weights of a loss. They are settings of the training, which no gradient
  // changes.
  bool isClassWeight(llvm::StringRef name) const;
  // True if the tensor is used only as the initial state of a recurrent layer. Exporters write zeros for it.
  bool isInitialState(llvm::StringRef name) const;
  // True if the tensor is a running mean or variance of a BatchNormalization by its own name, and has other uses, too.
  bool isSharedStatistic(llvm::StringRef name) const;
  // True if the tensor is used only in element-wise arithmetic, or as a list from which a Gather selects numbers. So it
  // is never a factor of a matrix product, a kernel of a convolution, or the scale of a normalization.
  bool isArithmetic(llvm::StringRef name) const;
  // True if the tensor is an operand of a layer: a factor of a matrix product, a kernel of a convolution, the scale or
  // slope of a normalization or a PRelu, or a bias, which is added to the result of a product.
  bool isOfLayer(llvm::StringRef name) const { return ofLayers_.contains(name); }

private:
  struct Use {
    llvm::StringRef operation;
    int input;
    bool hasOwnName; // and not that of an Identity
  };
  llvm::ArrayRef<Use> of(llvm::StringRef name) const;

  llvm::StringMap<llvm::SmallVector<Use, 1>> uses_;
  llvm::StringSet<> ofLayers_;
};

} // namespace cleave::onnx_import

#endif
