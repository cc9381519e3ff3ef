// What the nodes of a graph use its initializers for: evidence of what a tensor is, beside its name.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_FILE_TENSORUSES_H
#define CLEAVE_COMPILER_IMPORT_ONNX_FILE_TENSORUSES_H

#include "compiler/Import/ONNX/File/FlatGraph.h"

#include "llvm/ADT/StringMap.h"

namespace cleave::onnx_import {

class TensorUses {
public:
  explicit TensorUses(const FlatGraph &graph);

  // Nothing but the weights of classes in a loss: numbers of the training, which no gradient changes.
  bool isClassWeight(llvm::StringRef name) const;
  // Nothing but the state in which a recurrent layer starts: zeros, unless the user has made it.
  bool isInitialState(llvm::StringRef name) const;
  // A running mean or variance of a BatchNormalization, and something else besides.
  bool isSharedStatistic(llvm::StringRef name) const;
  // Nothing but an operand of arithmetic, element by element, or a list from which integers choose numbers: never a
  // factor of a product of matrices, a kernel of a convolution, the scale of a normalization.
  bool isArithmetic(llvm::StringRef name) const;

private:
  struct Use {
    llvm::StringRef operation;
    int input;
  };
  llvm::ArrayRef<Use> of(llvm::StringRef name) const;

  llvm::StringMap<llvm::SmallVector<Use, 1>> uses_;
};

} // namespace cleave::onnx_import

#endif
