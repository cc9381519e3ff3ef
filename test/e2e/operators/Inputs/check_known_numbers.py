"""Numbers that the importer works out: they are those that the same nodes have at run time, and integers are exact.

  check_known_numbers.py FOLDER
"""
import pathlib
import sys

import numpy as np
from onnx import AttributeProto, helper, numpy_helper

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Inputs"))
from small_models import Checks  # noqa: E402

node = helper.make_node
X = np.float32([-1.0, 2.0, -3.0])


def ranges(checks):
    """Of integers that no float64 tells apart. int64 bounds are exact in Python."""
    bounds = {"above_2_53": (2 ** 53, 2 ** 53 + 3, 1), "above_2_62": (2 ** 62, 2 ** 62 + 500, 100),
              "nanoseconds": (1_700_000_000_000_000_001, 1_700_000_000_000_000_011, 3),
              "downwards": (2 ** 53 + 3, 2 ** 53, -1), "whole_type": (-2 ** 63, 2 ** 63 - 1, 2 ** 62), "empty": (2 ** 53 + 1, 2 ** 53, 1), "small": (5, -4, -3)}
    checks.check("ranges", [node("Range", [f"{name}.{i}" for i in range(3)], [name]) for name in bounds] + [node("Neg", ["x"], ["y"])], {"x": X},
                 {name: np.array(range(*three), np.int64) for name, three in bounds.items()} | {"y": -X}, peer=False,
                 initializers={f"{name}.{i}": np.int64(number) for name, three in bounds.items() for i, number in enumerate(three)})


def long_ranges(checks):
    """Of more elements than the importer keeps: the program counts them."""
    bounds = {"tokens": (0, 131072, 1), "downwards": (2 ** 53 + 3, 2 ** 53 - 300_000, -4)}
    arrays = {name: np.array(range(*three), np.int64) for name, three in bounds.items()} | {"reals": np.arange(0.5, 100000.5, 1.25).astype("f4")}
    bounds["reals"] = (0.5, 100000.5, 1.25)
    checks.check("long_ranges", [node("Range", [f"{name}.{i}" for i in range(3)], [name]) for name in bounds] + [node("Neg", ["x"], ["y"])], {"x": X},
                 arrays | {"y": -X}, peer=False,
                 initializers={f"{name}.{i}": arrays[name].dtype.type(number) for name, three in bounds.items() for i, number in enumerate(three)})


def narrow_ranges(checks):
    """In f16 they are computed wider, as `stash_type` says: the type does not hold their indices, and 0.02 is added often."""
    kept, computed = (np.float16(0), np.float16(20), np.float16(0.02)), (np.float16(0), np.float16(2000), np.float16(0.02))
    nodes, outputs, constants = [node("Neg", ["x"], ["y"])], {"y": -X}, {}
    for name, (start, limit, delta) in (("kept", kept), ("computed", computed)):
        count = int(np.ceil((np.float64(limit) - np.float64(start)) / np.float64(delta)))
        constants |= {f"{name}.start": start, f"{name}.limit": limit, f"{name}.delta": delta}
        for stash in (1, 11):
            nodes.append(node("Range", [f"{name}.start", f"{name}.limit", f"{name}.delta"], [f"{name}.{stash}"], stash_type=stash))
            outputs[f"{name}.{stash}"] = (np.float64(start) + np.arange(count) * np.float64(delta)).astype("f2")
    assert len(outputs["computed.1"]) > 2 ** 16
    checks.check("narrow_ranges", nodes, {"x": X}, outputs, 1e-3, initializers=constants, opset=27, peer=False)
    checks.refuse("stash", "`stash_type` 7 is not known; expected 1 (float) or 11 (double)",
                  [node("Range", ["kept.start", "kept.limit", "kept.delta"], ["y"], stash_type=7)], {"x": X}, {"y": outputs["kept.1"]},
                  initializers=constants, opset=27)


def casts(checks):
    """Of floats to narrow integers: saturating at the type's ends, as at run time; of integers wrapping, as numpy."""
    numbers = np.float32([np.inf, -np.inf, 3e9, -3e9, 1e20, 300, -300, 127.9, -1.5, 70000, 0])
    integers = np.int64([2 ** 40 + 5, -1, 300, -129, 2 ** 31])
    nodes, outputs = [], {}
    for kind in ("i1", "i2", "i4", "u1"):
        to = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
        ends = np.iinfo(kind)
        for source, want in (("numbers", np.trunc(np.clip(np.float64(numbers), ends.min, ends.max)).astype(kind)), ("integers", integers.astype(kind))):
            for place in ("given", "known"):
                nodes.append(node("Cast", [f"{source}.{place}"], [f"{source}.{place}.{kind}"], to=to))
                outputs[f"{source}.{place}.{kind}"] = want
    known = [node("Constant", [], [f"{name}.known"], value=numpy_helper.from_array(array)) for name, array in (("numbers", numbers), ("integers", integers))]
    # The standard leaves them open, and onnxruntime has other numbers in 8 and 16 bits.
    checks.check("casts", known + nodes, {"numbers.given": numbers, "integers.given": integers}, outputs, peer=False)


def powers(checks):
    """Of known integers: exact, as those at run time are."""
    base, exponent = np.int64([7, -3, 3, 2, 10]), np.int64([20, 39, 39, 62, 18])
    want = np.array([b ** e for b, e in zip(base.tolist(), exponent.tolist())], np.int64)
    known = [node("Constant", [], [name], value=numpy_helper.from_array(array)) for name, array in (("b", base), ("e", exponent))]
    checks.check("powers", [*known, node("Pow", ["b", "e"], ["p"]), node("Neg", ["x"], ["y"])], {"x": X}, {"p": want, "y": -X}, peer=False)
    small = np.int64([1, -1, 2, -1])
    known = [node("Constant", [], [name], value=numpy_helper.from_array(array)) for name, array in (("b", small), ("e", np.int64([-3, -3, -1, -2])))]
    checks.check("inverse_powers", [*known, node("Pow", ["b", "e"], ["p"]), node("Neg", ["x"], ["y"])], {"x": X},
                 {"p": np.int64([1, -1, 0, 1]), "y": -X}, peer=False)


def odd_exponents(checks):
    """Integers that the base's type does not hold: an odd one stays odd."""
    base, exponent = np.float32([-1, -1, 2, -3, 1.0000001]), np.int64([2 ** 24 + 1, 2 ** 24, -2, 3, 2 ** 24 + 1])
    want = np.array([np.float64(b) ** float(e) for b, e in zip(base, exponent.tolist())]).astype("f4")
    nodes = [node("Pow", ["b", "e"], ["given"]), node("Pow", ["b", "known"], ["p"])]
    checks.check("odd_exponents", nodes, {"b": base, "e": exponent}, {"given": want, "p": want}, 1e-5, initializers={"known": exponent})
    base, exponent = np.float16([-1, 2]), np.int32([2 ** 24 + 1, 3])
    checks.check("odd_exponents_f16", nodes[:1], {"b": base, "e": exponent}, {"given": np.float16([-1, 8])})


def nonzeros(checks):
    x, mask = np.float32([[0, 1.5], [-2, 0]]), np.array([True, False, True])
    checks.check("nonzeros", [node("NonZero", ["w"], ["i"]), node("NonZero", ["m"], ["j"]), node("Neg", ["x"], ["y"])], {"x": X},
                 {"i": np.array(np.nonzero(x)), "j": np.array(np.nonzero(mask)), "y": -X}, initializers={"w": x, "m": mask})


def written_zeros(checks):
    """Writers of proto3 leave the field of a zero out, and say the attribute's type."""
    for name, kind, use, want in (("value_float", AttributeProto.FLOAT, "Add", X), ("value_int", AttributeProto.INT, "Gather", X[0])):
        zero = node("Constant", [], ["c"])
        zero.attribute.append(AttributeProto(name=name, type=kind))
        checks.check(name, [zero, node(use, ["x", "c"], ["y"])], {"x": X}, {"y": want})


def eyes(checks):
    square = np.ones((2, 2), "f4")
    for kind in ("f4", "i4", "?"):
        checks.check(f"eye_{np.dtype(kind)}", [node("EyeLike", ["x"], ["y"], dtype=helper.np_dtype_to_tensor_dtype(np.dtype(kind)))], {"x": square},
                     {"y": np.eye(2, dtype=kind)}, peer=kind != "?")
    checks.check("eye_like", [node("EyeLike", ["x"], ["y"])], {"x": square}, {"y": np.eye(2, dtype="f4")})
    for number in (12, 8):  # UINT32, STRING
        checks.refuse(f"eye_{number}", f"dtype {number} is not supported", [node("EyeLike", ["x"], ["y"], dtype=number)], {"x": square},
                      {"y": np.eye(2, dtype="f4")})


def opsets(checks):
    checks.refuse("opset", "the model uses opset 28; operators are known up to opset 27", [node("Relu", ["x"], ["y"])], {"x": X}, {"y": X}, opset=28)
    newer = helper.make_function("own", "F", ["a"], ["b"], [node("Relu", ["a"], ["b"])], [helper.make_opsetid("", 28)])
    checks.refuse("opset_of_function", "function 'F' uses opset 28; operators are known up to opset 27", [node("F", ["x"], ["y"], domain="own")], {"x": X},
                  {"y": X}, functions=[newer], domains=["own"])
    checks.check("running_sum", [node("CumSum", ["x", "axis"], ["y"])], {"x": X}, {"y": np.cumsum(X)}, initializers={"axis": np.int64(0)}, opset=13)


if __name__ == "__main__":
    all_checks = Checks(sys.argv[1])
    for part in (ranges, long_ranges, narrow_ranges, casts, powers, odd_exponents, nonzeros, written_zeros, eyes, opsets):
        part(all_checks)
    all_checks.end()
