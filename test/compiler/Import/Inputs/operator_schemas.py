#!/usr/bin/env python3
"""operator_schemas.py [TABLE]: the rows of compiler/Import/ONNX/Operators/OperatorSchemas.inc, from the schemas of the installed onnx.

With TABLE, compares: every row that onnx knows must be in the table as onnx has it, up to the newest operator set that the importer reads. The
table may have rows of newer releases of onnx."""
import re
import sys

import onnx

OLDEST_OPSET, NEWEST_OPSET = 13, 27
TYPES = {"float16": "f16", "bfloat16": "bf16", "float": "f32", "double": "f64", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
         "uint8": "u8", "bool": "bool"}  # the types that Cleave has
REAL = ["f16", "f32", "f64"]
Option, Kind = onnx.defs.OpSchema.FormalParameterOption, onnx.defs.OpSchema.DifferentiationCategory


def type_set(texts):
    """`f16 f32`, `seq(f32)`, or `-` where none of Cleave's types is among them."""
    plain, wrapped = set(), {}
    for text in texts:
        match = re.fullmatch(r"(?:(seq|optional)\()?(?:(seq)\()?tensor\((\w+)\)\)*", text)
        if not match or match[3] not in TYPES:
            continue
        if match[1] or match[2]:
            wrapped.setdefault("opt" if match[1] == "optional" else "seq", set()).add(TYPES[match[3]])
        else:
            plain.add(TYPES[match[3]])

    def words(names):
        if names == set(TYPES.values()):
            return ["any"]
        common = ["real"] if names >= set(REAL) else []
        return common + [name for name in TYPES.values() if name in names and not (common and name in REAL)]

    result = words(plain) + [f"{kind}({' '.join(words(names))})" for kind, names in sorted(wrapped.items())]
    return "|".join(result).replace(" ", "|") or "-"


def formal(parameter, constraints):
    """`X:T`, `B?:T` (may be left out), `data...1:T` (at least one), `v...0*:V` (of different types)."""
    mark = "?" if parameter.option == Option.Optional else ""
    if parameter.option == Option.Variadic:
        mark = f"...{parameter.min_arity}" + ("" if parameter.is_homogeneous else "*")
    name = parameter.type_str
    return f"{parameter.name}{mark}:" + (name if name in constraints else type_set([name]))


def row(schema):
    constraints = {c.type_param_str: type_set(c.allowed_type_strs) for c in schema.type_constraints}
    inputs = " ".join(formal(p, constraints) for p in schema.inputs)
    outputs = " ".join(formal(p, constraints) for p in schema.outputs)
    attributes = " ".join(f"{a.name}{'!' * a.required}:{a.type.name}" for _, a in sorted(schema.attributes.items()))
    types = " ".join(f"{name}={types}" for name, types in sorted(constraints.items()))
    return f'"{inputs} -> {outputs}", "{types}", "{attributes}"'


# Definitions that a later release of onnx added to an operator set that was there before: the first release that has them.
ADDED_BY = {("Attention", 25): (1, 23)}

# As onnx 1.13 to 1.15 defined it; later releases call it deprecated and know no inputs, but files of that time are read.
AS_DEFINED_ONCE = {("GroupNormalization", 18): '"X:T scale:T bias:T -> Y:T", "T=real|bf16", "epsilon:FLOAT num_groups!:INT"'}


def rows():
    """{(operator, since): row} of every definition that applies from OLDEST_OPSET on, where it differs from the one before."""
    versions = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "":
            versions.setdefault(schema.name, {})[schema.since_version] = schema
    result = {}
    for name, found in versions.items():
        before = None
        for since in sorted(found):
            later = [other for other in found if other > since]
            if later and min(later) <= OLDEST_OPSET:
                continue
            text = AS_DEFINED_ONCE.get((name, since)) or ('"", "", "deprecated"' if found[since].deprecated else row(found[since]))
            if text != before:
                result[name, max(since, OLDEST_OPSET)] = text
            before = text
    return result


def main():
    expected = {key: f'{{"{key[0]}", {key[1]}, {text}}},' for key, text in sorted(rows().items())}
    if len(sys.argv) == 1:
        print("\n".join(expected.values()))
        return
    table, wrong = {}, 0
    for line in open(sys.argv[1], encoding="utf-8"):
        if match := re.match(r'\{"(\w+)", (\d+), ', line):
            table[match[1], int(match[2])] = line.strip()
    release = tuple(int(number) for number in onnx.__version__.split(".")[:2])
    for key in sorted(set(expected) | set(table)):
        is_known = key[1] <= min(NEWEST_OPSET, onnx.defs.onnx_opset_version()) and release >= ADDED_BY.get(key, (0,))
        if table.get(key) != expected.get(key) and is_known:
            wrong += 1
            print(f"FAILED {key}:\n  table: {table.get(key)}\n  onnx:  {expected.get(key)}")
    print(f"{len(expected)} definitions, {wrong} differ")
    sys.exit(wrong != 0 or not expected)


main()
