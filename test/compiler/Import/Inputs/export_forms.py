#!/usr/bin/env python3
"""What the importer says about recorded exports (exports/record.py): export_forms.py IMPORTER. For each file the notes and warnings that must
be there, as texts that they contain, and what is trained. No other may be there: a false alarm fails. Another model than the author's is a warning."""
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

importer = sys.argv[1]
folder = pathlib.Path(__file__).parent / "exports"
# Per file: texts of its notes, in any order.
NOTES = {
    "norm.torchscript-default": ["batch normalization is folded"],
    "norm.torchscript-unfolded": ["tensors are merged with others"],
    "norm.torchscript-named": [],
    "norm.torchscript-training": [],
    "norm.dynamo-default": ["parameters are folded or merged"],
    "norm.dynamo-unfolded": ["call model.train() before the export"],
    "norm.dynamo-optimized": ["parameters are folded or merged"],
    "norm.dynamo-training": [],
    "norm-dropout.torchscript-default": ["batch normalization is folded"],
    "norm-dropout.torchscript-unfolded": ["tensors are merged with others"],
    "norm-dropout.torchscript-named": [],
    "norm-dropout.torchscript-training": [],
    "norm-dropout.dynamo-default": ["parameters are folded or merged"],
    "norm-dropout.dynamo-unfolded": ["call model.train() before the export"],
    "norm-dropout.dynamo-optimized": ["parameters are folded or merged"],
    "norm-dropout.dynamo-training": [],
    "buffers.torchscript-default": ["are probably buffers", "model.gain", "transposed or folded"],
    "buffers.torchscript-unfolded": ["are probably buffers", "model.gain"],
    "buffers.torchscript-named": ["are probably buffers", "model.gain", "transposed or folded"],
    "buffers.torchscript-training": ["are probably buffers", "model.gain"],
    "buffers.dynamo-default": ["1 of 3 parameters are folded or merged"],
    "buffers.dynamo-unfolded": [],
    "buffers.dynamo-optimized": ["1 of 3 parameters are folded or merged"],
    "buffers.dynamo-training": [],
    "tied.torchscript-default": ["tensors are merged with others of equal values", "--tie 'model.embedding.weight=onnx::"],
    "tied.torchscript-unfolded": ["tensors are merged with others of equal values"],
    "tied.torchscript-named": ["transposed or folded", "--tie 'model.embedding.weight=onnx::"],
    "tied.torchscript-training": [],
    "tied.dynamo-default": ["parameters are folded or merged", "--tie 'model.head.weight=val_"],
    "tied.dynamo-unfolded": [],
    "tied.dynamo-optimized": ["parameters are folded or merged", "--tie 'model.head.weight=val_"],
    "tied.dynamo-training": [],
}


def run(path, *options):
    result = subprocess.run([importer, path, "--train", "--loss-output", "loss", "--dim", "batch=2", "--notes", *options], capture_output=True,
                            text=True, timeout=60)
    if result.returncode:
        return [], set(), result.stderr.strip()
    lines = [line for line in result.stdout.splitlines() if line.startswith(("note: ", "warning: "))]
    if any(line.startswith("warning: ") != ("the exporter has changed the model" in line) for line in lines):
        return [], set(), f"expected warnings of changed models alone: {lines}"
    notes = [line.partition(": ")[2] for line in lines]
    trained = set(re.findall(r'role<parameter>.*?#cleave.segment<"([^"]*)"', result.stdout))
    return notes, trained, ""


failures = []
for name, expected in NOTES.items():
    notes, trained, error = run(folder / f"{name}.onnx")
    module = name.split(".")[0]
    left = [note for note in notes if not any(text in note for text in expected)]
    missing = [text for text in expected if not any(text in note for note in notes)]
    if error or left or missing:
        failures.append(f"{name}: {error} missing {missing}, more than expected {left}")
    if any("\n" in note or len(note) > 360 for note in notes):
        failures.append(f"{name}: a note is long: {notes}")
    if module == "buffers" and name.endswith(("training", "unfolded")):
        if "torchscript" in name:
            given = [re.search(r"--buffers (\S+)", note).group(1) for note in notes if "--buffers" in note]
            _, trained, error = run(folder / f"{name}.onnx", "--buffers", given[0].strip("'") if given else "")
        if error or trained != {"model.gain", "model.fc.weight", "model.fc.bias"}:
            failures.append(f"{name}: {error} trains {sorted(trained)}")
    if name.endswith(("dynamo-training", "torchscript-training")) and any("running" in state or "buffer" in state for state in trained):
        failures.append(f"{name}: trains {sorted(trained)}")


def without_norm(path, form):
    """torch.export's file of a module whose BatchNorm is not in the graph: in training form nothing uses it, and else it may have been folded."""
    ports = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4]), helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])]
    nodes = [helper.make_node("Mul", ["x", "w"], ["y"]), helper.make_node("ReduceMean", ["y"], ["loss"], keepdims=0)]
    graph = helper.make_graph(nodes, "g", ports[:1], ports[1:], [numpy_helper.from_array(np.ones(4, "f4"), "w")])
    graph.metadata_props.add(key="pkg.torch.export.ExportedProgram.graph_signature", value=(
        "# inputs\np_w: PARAMETER target='w'\np_norm_weight: PARAMETER target='norm.weight'\np_norm_bias: PARAMETER target='norm.bias'\n"
        "b_norm_running_mean: BUFFER target='norm.running_mean' persistent=True\nb_norm_running_var: BUFFER target='norm.running_var' persistent=True\n"
        "x: USER_INPUT\n# outputs\nloss: USER_OUTPUT\n"))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8, producer_name="pytorch")
    if form:
        model.metadata_props.add(key="cleave.form", value=form)
    save(model, path)


with tempfile.TemporaryDirectory() as temporary:
    for form, expected in (("training", False), ("", True)):
        without_norm(pathlib.Path(temporary) / "norm.onnx", form)
        notes, trained, error = run(pathlib.Path(temporary) / "norm.onnx")
        if error or trained != {"w"} or any("2 of 3 parameters are folded or merged" in note for note in notes) != expected:
            failures.append(f"a norm that is not in the graph, form '{form}': {error} {trained} {notes}")
print("\n".join("FAILED " + failure for failure in failures))
print(f"{len(NOTES)} files, {len(failures)} failures")
sys.exit(bool(failures))
