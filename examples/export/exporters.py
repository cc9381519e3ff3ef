"""The two supported ways to export a PyTorch model so that Cleave can train it.

What matters in both: the loss is an output of the graph, dropout and batch norm are kept (training form), parameters are neither
folded nor renamed, and dimension 0 is the symbol `batch`, so that the compiler can bind it (`--dim batch=8`).

Which tensors are buffers (`register_buffer`) is written in the files of the torch.export based exporter, and the compiler reads it. A
TorchScript file does not say it: there the compiler names those that are probably buffers, with the `--buffers` that keeps them.

What a file does not say about gradients, Cleave cannot follow:

                                TorchScript          torch.export (optimize=False)
  x.detach()                    lost                 kept: the gradient ends there
  with torch.no_grad():         lost                 lost
  p.requires_grad_(False)       lost                 lost
  Embedding(padding_idx=N)      lost                 kept: row N is not changed
  BatchNorm in eval()           kept, as a note      kept, as a note

Where it is lost, freeze what must not be trained: `--freeze 'backbone.*'`. Layers of batch norm that are to keep their statistics need
`--batch-norm frozen`. A part of a model that is used twice, once under no_grad, needs two exports, or two copies of its weights.
"""
import onnx
import onnx.numpy_helper
import torch


def export_torchscript(model, inputs, outputs, path, opset=17):
    """The TorchScript exporter. `training` keeps Dropout and BatchNormalization, `do_constant_folding=False` keeps the parameters as
    they are named in the module. It runs the model once, in training mode, which moves BatchNorm's running statistics towards the example's:
    they are put back, in the model and in the file."""
    model.train()
    buffers = {name: value.clone() for name, value in model.named_buffers()}
    dynamic = {name: {0: "batch"} for name, value in inputs.items() if value.dim()}
    torch.onnx.export(model, tuple(inputs.values()), path, dynamo=False, opset_version=opset,
                      input_names=list(inputs), output_names=outputs, dynamic_axes=dynamic,
                      training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False, keep_initializers_as_inputs=False)
    for name, value in model.named_buffers():
        value.copy_(buffers[name])
    exported = onnx.load(path, load_external_data=False)
    for tensor in exported.graph.initializer:
        if tensor.name in buffers:
            tensor.CopyFrom(onnx.numpy_helper.from_array(buffers[tensor.name].cpu().numpy(), tensor.name))
    onnx.save(exported, path)


def export_dynamo(model, inputs, outputs, path, opset=18):
    """The torch.export based exporter, with the model in training mode, which keeps Dropout (Cleave puts BatchNormalization into training
    form itself). `optimize=False` keeps the exporter from folding weights and from naming constants like parameters."""
    model.train()
    batch = torch.export.Dim("batch", min=2)
    shapes = {name: {0: batch} if value.dim() else None for name, value in inputs.items()}
    torch.onnx.export(model, tuple(inputs.values()), path, dynamo=True, opset_version=opset, input_names=list(inputs),
                      output_names=outputs, dynamic_shapes=shapes, optimize=False, external_data=False, verbose=False)


def export_dynamo_newest(model, inputs, outputs, path):
    """Opset 23 has Attention and Gelu as operators of their own."""
    export_dynamo(model, inputs, outputs, path, opset=23)


EXPORTERS = {"torchscript": export_torchscript, "dynamo": export_dynamo, "dynamo23": export_dynamo_newest}
