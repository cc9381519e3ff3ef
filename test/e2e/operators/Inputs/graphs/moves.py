"""Operators that only move elements, in the chains that attention is made of, and what computes between them; for --kind moves."""
import numpy as np

import operators
import shapes
from building import is_float


def heads(g):
    """Parts of rows as heads, turned by themselves; and often back, put together in any order."""
    x = g.pick(lambda array: is_float(array.dtype) and 2 <= array.ndim <= 4 and array.shape[-1] % 2 == 0)
    if not x:
        return
    a = g.arrays[x]
    size = int(g.choose([n for n in range(1, a.shape[-1] // 2 + 1) if (a.shape[-1] // 2) % n == 0]))
    parts, *lead = g.emit("Split", [x], 2, {"axis": a.ndim - 1, "num_outputs": 2}) or [], *a.shape[:-1]
    split = [*lead, a.shape[-1] // 2 // size, size]
    if g.chance(0.3):
        split[:2] = [split[0] * split[1]]  # with the batch and the rows in one
    permutation = g.rng.permutation(len(split)).tolist()
    turned = []
    for part in parts:
        for operator, inputs, attributes in (("Reshape", [g.fixed(split)], {}), ("Transpose", [], {"perm": permutation})):
            part = (g.emit(operator, [part, *inputs], attributes=attributes) or [part])[0]
        if g.chance(0.2):
            part = (g.emit("Neg", [part]) or [part])[0]
        turned.append(part)
    if len(turned) < 2 or g.chance(0.3):
        return
    back = []
    for part in turned:
        part = g.emit("Transpose", [part], attributes={"perm": np.argsort(permutation).tolist()})
        part = part and g.emit("Reshape", [part[0], g.fixed([*lead, a.shape[-1] // 2])])
        back.extend(part or [])
    g.rng.shuffle(back)
    joined = g.emit("Concat", [str(part) for part in back], attributes={"axis": a.ndim - 1}) if len(back) == 2 else None
    if joined and g.chance(0.5):
        g.emit("ReduceSum", [joined[0], g.fixed(list(range(a.ndim - 1)))], attributes={"keepdims": 0})


def turned(g):
    """Turned, reshaped, and turned again."""
    for step in (shapes.transpose, shapes.reshape, shapes.transpose):
        step(g)


OPERATORS = [(6, heads), (3, turned), (4, shapes.reshape), (4, shapes.transpose), (3, shapes.cut), (3, shapes.join), (1, shapes.columns),
             (1, operators.unary), (1, operators.reduce), (1, shapes.matmul)]
