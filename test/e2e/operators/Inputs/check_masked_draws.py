"""Multinomial never draws a class that has no probability, however many classes there are: tokens that a top-k mask hides are not drawn.

  check_masked_draws.py FOLDER
"""
import pathlib
import sys

import numpy as np
from onnx import helper

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Inputs"))
from small_models import Checks  # noqa: E402

CLASSES, DRAWS = 50257, 2048

if __name__ == "__main__":
    checks = Checks(sys.argv[1])
    for low in (-np.inf, -100.0):
        scores = np.full((1, CLASSES), low, "f4")
        scores[0, [7, 50000]] = 0
        node = helper.make_node("Multinomial", ["x"], ["y"], sample_size=DRAWS, dtype=7, seed=3.0)
        got = checks.run(checks.model("draws", [node], {"x": scores}, {"y": np.zeros(1, np.int64)}), {"x": scores}, ["y"])
        if isinstance(got, str):
            sys.exit(got)
        drawn, counts = np.unique(got["y"], return_counts=True)
        likely = drawn.tolist() == [7, 50000] and counts.min() > 0.45 * DRAWS  # both of probability 1/2: 4.5 standard deviations
        checks.note(f"scores of {low}", "" if likely else f"drew {dict(zip(drawn.tolist(), counts.tolist()))}")
    checks.end()
