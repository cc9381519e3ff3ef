"""damage_weights_beside.py PROGRAM X.npy: the weights beside a program, damaged or replaced by what is no file. Each is refused in one line that
names the file, and nothing waits."""
import os
import pathlib
import subprocess
import sys

program, x = map(pathlib.Path, sys.argv[1:])
weights = program.parent / f"{program.name}.weights" / "model.safetensors"
kept, output = program.parent / "kept.safetensors", program.parent / "y.npy"
os.rename(weights, kept)
whole = kept.read_bytes()


def changed(position, byte):
    return whole[:position] + byte + whole[position + 1:]


header = 8 + int.from_bytes(whole[:8], "little")
DAMAGES = {
    "a bit of a tensor": lambda: weights.write_bytes(changed(len(whole) // 2, bytes([whole[len(whole) // 2] ^ 1]))),
    "a bit of the last value": lambda: weights.write_bytes(changed(len(whole) - 1, bytes([whole[-1] ^ 64]))),
    "another name": lambda: weights.write_bytes(whole[:header].replace(b'"w"', b'"v"') + whole[header:]),
    "another type": lambda: weights.write_bytes(whole[:header].replace(b'"F32"', b'"I32"') + whole[header:]),
    "too short": lambda: weights.write_bytes(whole[:-4]),
    "too long": lambda: weights.write_bytes(whole + bytes(4)),
    "nothing in it": lambda: weights.write_bytes(b""),
    "a header beyond the file": lambda: weights.write_bytes(b"\xff" * 7 + b"\x7f" + whole[8:]),
    "not there": lambda: None,
    "a pipe": lambda: os.mkfifo(weights),
    "a directory": lambda: weights.mkdir(),
    "a device": lambda: weights.symlink_to("/dev/zero"),
    "a link to itself": lambda: weights.symlink_to(weights.name),
}


def run():
    return subprocess.run([program, "infer", "--input", f"x={x}", "--output", f"y={output}"], capture_output=True, text=True, timeout=60)


failures = 0
for name, damage in DAMAGES.items():
    damage()
    result = run()
    lines = result.stderr.strip().splitlines()
    if result.returncode != 1 or len(lines) != 1 or weights.name not in lines[0] or output.exists():
        failures += 1
        print(f"FAILED {name}: ended with {result.returncode}, {result.stderr[:300]}")
    weights.rmdir() if weights.is_dir() and not weights.is_symlink() else weights.unlink(missing_ok=True)
weights.symlink_to(kept)  # a link to the file itself is fine
assert run().returncode == 0 and output.exists()
print(f"{len(DAMAGES) - failures} damages refused")
sys.exit(failures != 0)
