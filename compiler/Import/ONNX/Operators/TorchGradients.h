// Handles nodes whose gradient in PyTorch differs from that of their ONNX operator. torch.onnx.export(dynamo=True)
// keeps the call that a node stands for as metadata of the node,
// call_function[target=torch.ops.aten.detach.default](args = ...):
//
//   node      target=torch.ops.  arguments                 the gradient in PyTorch
//   Identity  aten.detach        (%tanh,)                  ends here
//   Gather    aten.embedding     (%w, %t, 0)               row 0 has none (padding_idx)
//   Gather    aten.embedding     (%w, %t, -1, True)        divided by each row's number of uses in the batch
//                                                          (scale_grad_by_freq): refused
//   Pow       aten.linalg_vector_norm  (%x, 3.0, [1])      0 where the norm is 0
//
// A Clip has no gradient at its bounds either. Clip is the operator of clamp, relu6 and hardtanh, so this needs no
// metadata.
//
// Some arguments of a call have no attribute of the ONNX operator:
//
//   node                     target=torch.ops.        arguments                     the argument means
//   SoftmaxCrossEntropyLoss  aten.cross_entropy_loss  (%x, %y, None, 1, -100, 0.1)  label_smoothing = 0.1
//
// Files of other exporters do not have this metadata.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_TORCHGRADIENTS_H
#define CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_TORCHGRADIENTS_H

#include "compiler/Import/ONNX/Environment.h"
#include "compiler/Import/ONNX/File/FlatGraph.h"
#include "compiler/Import/ONNX/OpContext.h"

namespace cleave::onnx_import {

// The call that a node stands for.
struct TorchCall {
  std::string target; // "aten.detach.default"; empty: the file has no call for the node
  llvm::SmallVector<std::string> arguments;
};
TorchCall torchCallOf(const onnx::NodeProto &node);

// Returns the label smoothing of a cross-entropy loss, in [0, 1]. It is 0 if the file has none.
double labelSmoothingOf(const onnx::NodeProto &loss);

// Gives the node's result the gradient of its call. Must be called after the node has been imported, for training.
// Fails if the gradient is not supported.
LogicalResult applyTorchGradient(const FlatNode &node, Environment &environment, OpContext &op);

} // namespace cleave::onnx_import

#endif
