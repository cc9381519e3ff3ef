#!/usr/bin/env python3
"""violated_schemas.py IMPORTER SCRATCH [--seed N] [--models N]: nodes that the standard's schemas do not allow.

Every operator that Cleave reads, in every version of its definition: taken from ONNX's own node tests where the importer accepts it, then
changed so that it breaks the operator's schema in one way. An input or output too many, a required one left out, each type that an input may
not have (bf16 may stand wherever f16 does), two types where the schema wants one, an attribute of another type, an unknown one, a required
one that is missing. The importer must refuse each with one line that names the node. The same nodes without the change are accepted."""
import argparse
import collections
import pathlib
import random
import shutil
import subprocess
import sys

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, helper, numpy_helper

KINDS = {"tensor(float16)": TensorProto.FLOAT16, "tensor(bfloat16)": TensorProto.BFLOAT16, "tensor(float)": TensorProto.FLOAT,
         "tensor(double)": TensorProto.DOUBLE, "tensor(int8)": TensorProto.INT8, "tensor(int16)": TensorProto.INT16,
         "tensor(int32)": TensorProto.INT32, "tensor(int64)": TensorProto.INT64, "tensor(uint8)": TensorProto.UINT8,
         "tensor(bool)": TensorProto.BOOL}
Option = onnx.defs.OpSchema.FormalParameterOption
OLDEST_OPSET, NODE = 13, "the_node"


class Base:
    """A node test of one node as a model of another opset."""

    def __init__(self, folder, opset):
        self.model = onnx.load(folder / "model.onnx")
        self.arrays = {}
        for i, info in enumerate(self.model.graph.input):
            tensor = TensorProto()
            tensor.ParseFromString((folder / f"test_data_set_0/input_{i}.pb").read_bytes())
            self.arrays[info.name] = tensor
        del self.model.opset_import[:]
        self.model.opset_import.append(helper.make_opsetid("", opset))
        self.node = self.model.graph.node[0]
        self.node.name = NODE
        self.schema = onnx.defs.get_schema(self.node.op_type, opset)

    def build(self, fixed):
        """The model with the inputs in `fixed` as initializers; declared output types are left to the importer."""
        model = onnx.ModelProto()
        model.CopyFrom(self.model)
        for info in list(model.graph.input):
            if info.name in fixed:
                model.graph.input.remove(info)
                tensor = model.graph.initializer.add()
                tensor.CopyFrom(self.arrays[info.name])
                tensor.name = info.name
        outputs = [onnx.ValueInfoProto(name=output.name) for output in model.graph.output]
        del model.graph.output[:]
        model.graph.output.extend(outputs)
        return model

    def fixings(self):
        names = list(self.arrays)
        return [[], [n for n in names[1:] if self.arrays[n].data_type in (TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL)], names[1:], names]


def run(importer, path, model):
    path.write_bytes(model.SerializeToString())
    return subprocess.run([*importer.split(), str(path), "--quiet"], capture_output=True, text=True, errors="replace", timeout=120)


def retyped(model, name, kind):
    """The input or initializer with another element type, and elements that it has."""
    dtype = helper.tensor_dtype_to_np_dtype(kind)
    for info in model.graph.input:
        if info.name == name:
            info.type.tensor_type.elem_type = kind
    for tensor in model.graph.initializer:
        if tensor.name == name:
            changed = numpy_helper.from_array(np.asarray(numpy_helper.to_array(tensor), np.float64).astype(dtype), name)
            changed.data_type = kind
            tensor.CopyFrom(changed)


def formal(parameters, i):
    return parameters[min(i, len(parameters) - 1)]


def type_of(model, name):
    for info in model.graph.input:
        if info.name == name:
            return info.type.tensor_type.elem_type
    return next(tensor.data_type for tensor in model.graph.initializer if tensor.name == name)


def counts(base):
    """(what, change) where change edits a model in place."""
    schema, node = base.schema, base.node
    if not any(p.option == Option.Variadic for p in schema.inputs):
        first = next(iter(node.input), None)
        extra = len(schema.inputs) + 1 - len(node.input)
        if first:
            yield "an input too many", lambda m: m.graph.node[0].input.extend([first] * extra)
    if not any(p.option == Option.Variadic for p in schema.outputs):
        extra = len(schema.outputs) + 1 - len(node.output)
        yield "an output too many", lambda m: m.graph.node[0].output.extend([f"more{i}" for i in range(extra)])
    for i in range(len(node.input)):
        if formal(schema.inputs, i).option != Option.Optional:
            yield f"input {i} left out", lambda m, i=i: m.graph.node[0].input.__setitem__(i, "")
    if schema.min_input:
        yield "too few inputs", lambda m: m.graph.node[0].input.__delitem__(slice(schema.min_input - 1, None))


def types(base):
    schema, node = base.schema, base.node
    for i, name in enumerate(node.input):
        if not name or list(node.input).count(name) > 1:
            continue
        parameter = formal(schema.inputs, i)
        for text, kind in KINDS.items():
            if text not in parameter.types and not (text == "tensor(bfloat16)" and "tensor(float16)" in parameter.types):
                yield f"input {i} of type {text}", lambda m, name=name, kind=kind: retyped(m, name, kind)
        partners = [other for j, other in enumerate(node.input) if j != i and other and formal(schema.inputs, j).type_str == parameter.type_str]
        if not partners or not parameter.is_homogeneous or not parameter.type_str in {c.type_param_str for c in schema.type_constraints}:
            continue
        for text in parameter.types:
            if text in KINDS:
                def change(m, name=name, kind=KINDS[text], partner=partners[0]):
                    if type_of(m, partner) == kind:
                        return False
                    retyped(m, name, kind)
                yield f"input {i} of type {text}, unlike the others", change


def attributes(base):
    schema, node = base.schema, base.node
    yield "an unknown attribute", lambda m: m.graph.node[0].attribute.append(helper.make_attribute("unheard_of", 1))
    wrong = {AttributeProto.INT: 0.5, AttributeProto.FLOAT: "a", AttributeProto.STRING: 1, AttributeProto.INTS: 1, AttributeProto.FLOATS: [1],
             AttributeProto.STRINGS: "a", AttributeProto.TENSOR: 1}
    for name, attribute in schema.attributes.items():
        def without(m, name=name):
            kept = [a for a in m.graph.node[0].attribute if a.name != name]
            del m.graph.node[0].attribute[:]
            m.graph.node[0].attribute.extend(kept)
        if attribute.required:
            yield f"attribute {name} missing", without
        kind = int(attribute.type.value)
        if kind in wrong:
            def other(m, name=name, value=wrong[kind], without=without):
                without(m)
                m.graph.node[0].attribute.append(helper.make_attribute(name, value))
            yield f"attribute {name} of another type", other


def bases():
    """(operator, since version, folders): node tests that may serve as its base, the simplest first."""
    folders = collections.defaultdict(list)
    data = pathlib.Path(onnx.__file__).parent / "backend/test/data/node"
    for path in sorted(data.glob("*/model.onnx")):
        model = onnx.load(path)
        if len(model.graph.node) == 1 and model.graph.node[0].domain == "" and not model.functions and all(
                i.type.WhichOneof("value") == "tensor_type" for i in model.graph.input):
            folders[model.graph.node[0].op_type].append(path.parent)
    versions = collections.defaultdict(set)
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "" and schema.name in folders:
            versions[schema.name].add(schema.since_version)
    for name, since in sorted((name, since) for name, found in versions.items() for since in found):
        newer = [other for other in versions[name] if other > since]
        if not newer or min(newer) > OLDEST_OPSET:
            yield name, max(since, OLDEST_OPSET), folders[name]


def accepted(importer, path, folders, opset):
    """A base with which the importer reads the operator in this version, and its model; None where it knows none."""
    for folder in folders[:8]:
        try:
            base = Base(folder, opset)
        except Exception:
            continue
        for fixed in base.fixings():
            model = base.build(fixed)
            result = run(importer, path, model)
            if result.returncode == 0:
                return base, model
            if "is not supported: " in result.stderr and "operator '" in result.stderr:
                return None
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("importer")
    parser.add_argument("scratch", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--models", type=int, default=1 << 30)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    shutil.rmtree(options.scratch, ignore_errors=True)
    options.scratch.mkdir(parents=True)
    rng, path = random.Random(options.seed), options.scratch / "m.onnx"
    tried = wrong = operators = 0
    definitions = [entry for entry in bases() if options.only in ("", entry[0])]
    rng.shuffle(definitions)
    for name, since, folders in definitions:
        if tried >= options.models:
            break
        found = accepted(options.importer, path, folders, since)
        if not found:
            continue
        operators += 1
        base, model = found
        for what, change in [*counts(base), *types(base), *attributes(base)]:
            changed = onnx.ModelProto()
            changed.CopyFrom(model)
            if change(changed) is False:
                continue
            tried += 1
            result = run(options.importer, path, changed)
            lines = result.stderr.strip().splitlines()
            if result.returncode != 1 or len(lines) != 1 or not lines[0].startswith("error: ") or NODE not in lines[0]:
                wrong += 1
                kept = options.scratch / f"{name}-{since}-{wrong}.onnx"
                kept.write_bytes(changed.SerializeToString())
                print(f"FAILED {kept}: {name} of opset {since} with {what} ended with {result.returncode}: {result.stderr[:200].strip()}", flush=True)
    print(f"{tried} violations of {operators} definitions, {wrong} not refused as they should be")
    sys.exit(wrong != 0 or tried == 0)


if __name__ == "__main__":
    main()
