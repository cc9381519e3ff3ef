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
// Clip is the operator of clamp, relu6 and hardtanh. The gradient of a number that equals a bound:
//
//   relu6, hardtanh          none
//   clamp before torch 2.15  the number gets all of it, also if bounds are tensors (Max and Min)
//   clamp since torch 2.15   none; it is shared with a bound that is a tensor
//
// The file names the version that has exported it (producer_version). Without metadata, a Clip with one bound is a
// clamp, because the others have two. One with two bounds is taken to be a relu6 or hardtanh.
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
// `model` is the file. Fails if the gradient is not supported.
LogicalResult applyTorchGradient(const FlatNode &node, const onnx::ModelProto &model, Environment &environment,
                                 OpContext &op);

} // namespace cleave::onnx_import

#endif
