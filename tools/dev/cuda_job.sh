#!/usr/bin/env bash
# tools/dev/cuda_job.sh BUILD OUT STEPS: what `quickstart.sh --cuda` does with what it has built, the `cleave` on the path. The emulated
# device computes each thread of each kernel on the CPU: its time says nothing of a GPU's.
case "${1:-}" in -h | --help) exec awk 'NR > 1 && !/^#/ { exit } NR > 1 { sub(/^# ?/, ""); print }' "$0" ;; esac
set -euo pipefail
CDPATH= cd -- "$(dirname -- "$0")/../.."
build=$(cd "${1:?usage: tools/dev/cuda_job.sh BUILD OUT STEPS}" && pwd)
out=${2:?usage: tools/dev/cuda_job.sh BUILD OUT STEPS}
steps=${3:?usage: tools/dev/cuda_job.sh BUILD OUT STEPS}

mkdir -p "$out"
model=examples/gpt-nano/gpt-nano.onnx text=/usr/share/common-licenses/GPL-3
compile=(cleave compile "$model" --train --loss-output loss --optimizer adamw,weight_decay=0.1 --dim batch=2)
data=(--data "tokens=$text:u8,window=64,shift=0" --data "labels=$text:u8,window=64,shift=1" --steps "$steps" --lr 1e-3 --no-shuffle)

printf '\n== compiling for the host and for a GPU of compute capability 9.0\n'
"${compile[@]}" -o "$out/host"
"${compile[@]}" -o "$out/gpu" --target cuda:sm_90

printf '\n== training %s steps on the host\n' "$steps"
"$out/host" train "${data[@]}" --metrics "$out/host.jsonl"
printf '\n== training them on the emulated device, which computes each thread of the kernels on the CPU\n'
CLEAVE_LIBCUDA=$build/test-lib/libcleave_emulated_cuda.so CLEAVE_LIBCUBLASLT=$build/test-lib/libcleave_emulated_cublaslt.so \
  "$out/gpu" train "${data[@]}" --metrics "$out/gpu.jsonl"

printf '\n== losses\n'
python3 - "$out/host.jsonl" "$out/gpu.jsonl" "$steps" <<'END'
import json
import sys

host, gpu = ([row["loss"] for row in map(json.loads, open(path)) if "loss" in row] for path in sys.argv[1:3])
if not len(host) == len(gpu) == int(sys.argv[3]):
    sys.exit(f"expected {sys.argv[3]} losses; got {len(host)} and {len(gpu)}")
apart = [abs(a - b) / abs(b) for a, b in zip(gpu, host)]
print("step        host    emulated   relative difference")
for step, row in enumerate(zip(host, gpu, apart), 1):
    print("{:4} {:11.7f} {:11.7f} {:21.1e}".format(step, *row))
if max(apart) > 1e-5:
    sys.exit("they differ by more than 1e-5")
END
