#!/usr/bin/env python3
"""Exports the test models with PyTorch's exporters and strips their parameters: NAME/NAME.EXPORTER.onnx keeps the graph, and says
where in NAME/NAME.EXPORTER.weights each parameter lies. make_weights.py writes those files. Needs torch; run it to renew the models."""
import pathlib
import sys
import tempfile

import onnx
import torch

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here.parent.parent / "examples" / "export"))

from export import MODELS  # noqa: E402
from exporters import EXPORTERS  # noqa: E402

ALIGNMENT = 64
ONE_EXPORT = {"bert-base": "dynamo23", "gpt-25m": "torchscript"}  # the graphs of smaller models, only larger


def strip(model, names, location):
    """Moves the named initializers into external data that need not exist yet."""
    offset = 0
    for tensor in model.graph.initializer:
        if tensor.name not in names:
            continue
        size = len(onnx.numpy_helper.to_array(tensor).tobytes())
        for field in ("raw_data", "float_data", "int32_data", "int64_data"):
            tensor.ClearField(field)
        tensor.data_location = onnx.TensorProto.EXTERNAL
        del tensor.external_data[:]
        for key, value in (("location", location), ("offset", offset), ("length", size)):
            tensor.external_data.add(key=key, value=str(value))
        offset += -(-size // ALIGNMENT) * ALIGNMENT


def drop_noise(model):
    """Doc strings and metadata hold stack traces and paths of the machine that exported; shapes of inner values are not needed."""
    model.ClearField("doc_string")
    del model.metadata_props[:]
    model.graph.ClearField("doc_string")
    del model.graph.metadata_props[:]
    del model.graph.value_info[:]
    for item in [*model.graph.node, *model.graph.input, *model.graph.output, *model.graph.initializer]:
        item.ClearField("doc_string")
        del item.metadata_props[:]


def main():
    chosen = sys.argv[1:] or MODELS
    for name in chosen:
        for exporter, export in EXPORTERS.items():
            if exporter == "dynamo23" and not name.startswith(("gpt2", "bert")):
                continue
            if exporter != ONE_EXPORT.get(name, exporter):
                continue
            torch.manual_seed(0)
            net, inputs, outputs = MODELS[name]()
            learned = {key for key, _ in net.named_parameters(remove_duplicate=False)} | set(net.state_dict())
            with tempfile.TemporaryDirectory() as scratch:
                path = pathlib.Path(scratch) / "model.onnx"
                export(net, inputs, outputs, str(path))
                model = onnx.load(path)
            drop_noise(model)
            stem = f"{name}.{exporter}"
            strip(model, learned, stem + ".weights")
            (here / name).mkdir(exist_ok=True)
            onnx.save(model, here / name / (stem + ".onnx"))
            print(stem, (here / name / (stem + ".onnx")).stat().st_size, "bytes")


if __name__ == "__main__":
    main()
