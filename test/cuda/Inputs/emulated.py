"""emulated.py BUILD COMMAND...    Runs a command on a build's emulated CUDA device (test/cuda/emulated)."""
import os
import pathlib
import sys


def environment(build, **more):
    """This process's environment and `more`, with the device's libraries where it names no others."""
    libraries = {f"CLEAVE_LIB{name.upper()}": str(pathlib.Path(build) / f"test-lib/libcleave_emulated_{name}.so")
                 for name in ("cuda", "cublaslt", "cudnn", "nccl")}
    return {**libraries, **os.environ, **more}


if __name__ == "__main__":
    os.execvpe(sys.argv[2], sys.argv[2:], environment(sys.argv[1]))
