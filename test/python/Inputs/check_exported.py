"""Compiles and trains what cleave.export_torch wrote: check_exported.py EXPORTED WORK MODEL...

Each MODEL.txt ends with the command that export_torch gave for it. The compiler must have nothing to say about the export, and three
steps on two ranks must change all parameters but the frozen ones, and no buffer but running statistics."""
import json
import pathlib
import re
import shlex
import subprocess
import sys

import numpy as np
import onnx
import onnx.numpy_helper

KEPT = {"cnn": ["mean", "conv1.weight", "conv1.bias"], "language": ["positions"]}


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{shlex.join(map(str, command))}\n{result.stdout}{result.stderr}")
    return result.stdout + result.stderr


def tensors_of(checkpoint):
    data = (checkpoint / "model.safetensors").read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])
    return {name: np.frombuffer(data[8 + size + entry["data_offsets"][0]:8 + size + entry["data_offsets"][1]], np.float32)
            for name, entry in header.items() if name != "__metadata__" and entry["dtype"] == "F32"}


def main():
    exported, work = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    for model in sys.argv[3:]:
        lines = (exported / f"{model}.txt").read_text().splitlines()
        count = int(lines[0].split()[0])
        command = shlex.split(lines[-1])
        command[2], command[4] = str(exported / command[2]), str(work / model)
        said = run(*command, "--mesh", "dp=2", "--optimizer", "sgd")
        notes = [line for line in said.splitlines() if line.startswith("note:") and "adds the input 'labels'" not in line]
        assert not notes, notes
        file = onnx.load(exported / f"{model}.onnx")
        initial = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in file.graph.initializer}
        data = []
        rng = np.random.default_rng(1)
        labels = [8] if "language" in model else []
        for port in file.graph.input:
            shape = [16] + [dim.dim_value for dim in port.type.tensor_type.shape.dim[1:]]
            whole = port.type.tensor_type.elem_type == onnx.TensorProto.INT64
            np.save(work / f"{model}.{port.name}.npy",
                    rng.integers(1, 4, shape) if whole else rng.standard_normal(shape).astype(np.float32))
            data += ["--data", f"{port.name}={work}/{model}.{port.name}.npy"]
        if not any(port.name == "labels" for port in file.graph.input):
            np.save(work / f"{model}.labels.npy", rng.integers(1, 4, [16] + labels))
            data += ["--data", f"labels={work}/{model}.labels.npy"]
        run(work / model, "train", *data, "--epochs", "2", "--lr", "0.1", "--save", work / f"{model}.ckpt", "--checkpoint", "full")
        trained = tensors_of(next((work / f"{model}.ckpt").glob("step-*")))
        kept = KEPT.get(model.split(".")[0], [])
        changed = {name for name, value in trained.items() if name in initial and not np.array_equal(value, initial[name].ravel())}
        assert changed == {name for name in trained if name in initial} - set(kept), (model, sorted(changed), sorted(trained))
        assert re.search(r"\b\d+ parameters", said) and count == sum(name in trained for name in initial if name not in buffers(model)), model
        print(f"{model}: {len(changed)} tensors trained, {len(kept)} kept")


def buffers(model):
    return {"cnn": {"mean"} | {f"bn{i}.running_{what}" for i in (1, 2) for what in ("mean", "var")},
            "language": {"positions"}}.get(model.split(".")[0], set())


main()
