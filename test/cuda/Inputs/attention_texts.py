"""attention_texts.py BUILD FOLDER    FOLDER/mma.ptx and FOLDER/wgmma.ptx: attention's kernels of 16 bits, for test/gpu/attention.py."""
import pathlib
import sys

import ptxas


def write(build, folder):
    text = (pathlib.Path(build) / "kernels/AttentionImage.ptx").read_text()
    names = [f"attention_{part}{kind}_{size}" for part in ("", "grad_") for kind in ("f16", "bf16") for size in (64, 128)]
    (pathlib.Path(folder) / "mma.ptx").write_text(ptxas.module_of(text, names))
    (pathlib.Path(folder) / "wgmma.ptx").write_text(ptxas.text_for_sm_90a(text))


if __name__ == "__main__":
    write(*sys.argv[1:3])
