"""The first step of Adam after steps that were skipped: its bias correction counts one step, and so each number moves by the rate.

  check_skipped_steps.py BEFORE AFTER RATE SKIPPED
"""
import pathlib
import sys

import numpy as np

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Inputs"))
from checkpoint_states import read_states  # noqa: E402

before, after = (read_states(pathlib.Path(folder)) for folder in sys.argv[1:3])
rate, skipped = float(sys.argv[3]), float(sys.argv[4])
assert after["scalar.skipped"] == skipped, after["scalar.skipped"]
moved = np.concatenate([np.abs(after[name] - value).ravel() for name, value in before.items() if name in after and f"{name}#exp_avg" in after])
assert abs(np.median(moved) / rate - 1) < 0.05, np.median(moved) / rate
