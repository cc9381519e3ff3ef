"""Makes stored.npz and deflated.npz of DataTest: x f32[50, 3] = 0, 1, 2, ... and labels u8[50] = i mod 10."""
import pathlib

import numpy as np

here = pathlib.Path(__file__).parent
arrays = {"x": np.arange(150, dtype=np.float32).reshape(50, 3), "labels": (np.arange(50) % 10).astype(np.uint8)}
np.savez(here / "stored.npz", **arrays)
np.savez_compressed(here / "deflated.npz", **arrays)
