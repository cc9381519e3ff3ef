"""bad_arrays.py DIRECTORY: data for the MLP (x f32[samples, 64], labels i64[samples], 10 classes), good and bad."""
import pathlib
import sys

import numpy as np

folder = pathlib.Path(sys.argv[1])
rng = np.random.default_rng(0)
arrays = {
    "x": rng.standard_normal((64, 64)).astype(np.float32), "y": rng.integers(0, 10, 64),
    "narrow": np.zeros((64, 63), np.float32), "few": np.zeros((3, 64), np.float32), "none": np.zeros((0, 64), np.float32),
    "double": np.zeros((64, 64)), "fortran": np.asfortranarray(np.zeros((64, 64), np.float32)),
    "nan": np.full((64, 64), np.nan, np.float32), "label10": np.full(64, 10), "negative": np.full(64, -5),
    "ignored": np.where(np.arange(64) % 2, -100, 3), "float": np.zeros(64, np.float32)}
arrays |= {"x8": arrays["x"][:8], "y8": arrays["y"][:8], "y9": np.where(np.arange(64) == 41, 99, arrays["y"])}
np.save(folder / "objects.npy", np.array([{}, []], object), allow_pickle=True)
for name, sample, value in (("nan41", 41, np.nan), ("inf7", 7, np.inf)):
    arrays[name] = arrays["x"].copy()
    arrays[name][sample, 5] = value
for name, array in arrays.items():
    np.save(folder / f"{name}.npy", array)
(folder / "cut.npy").write_bytes((folder / "x.npy").read_bytes()[:100])
(folder / "empty.npy").write_bytes(b"")
