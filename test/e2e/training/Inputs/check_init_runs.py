"""Whether programs that draw their weights compute what a program does that has the same weights from a file, bit by bit.

check_init_runs.py DIR            DIR/infer (drawn) against DIR/exported, and with --weights in their place
check_init_runs.py DIR library    DIR/libllama.so, through cleave.Model
"""
import pathlib
import subprocess
import sys

import numpy as np

directory = pathlib.Path(sys.argv[1])
tokens = np.random.default_rng(0).integers(0, 256, (2, 64))


def run(program, *options):
    np.save(directory / "tokens.npy", tokens)
    subprocess.run([directory / program, "infer", "--input", f"tokens={directory}/tokens.npy", "--output", f"lm_head={directory}/y.npy", *options], check=True)
    return np.load(directory / "y.npy")


wanted = run("exported")
if len(sys.argv) > 2:
    import cleave
    got = cleave.Model(directory / "libllama.so", seed=5).infer(tokens=tokens, labels=tokens)["lm_head"]
    assert np.array_equal(got, wanted)
    assert not np.array_equal(cleave.Model(directory / "libllama.so").infer(tokens=tokens, labels=tokens)["lm_head"], wanted)
else:
    assert np.array_equal(run("infer", "--seed", "5"), wanted)
    assert not np.array_equal(run("infer"), wanted)
    assert np.array_equal(run("infer", "--weights", directory / "one.ckpt"), wanted)
print("equal")
