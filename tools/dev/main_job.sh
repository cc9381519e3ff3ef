#!/usr/bin/env bash
# tools/dev/main_job.sh OUT STEPS: what quickstart.sh does with what it has built, the `cleave` on the path; a test runs fewer steps.
case "${1:-}" in -h | --help) exec awk 'NR > 1 && !/^#/ { exit } NR > 1 { sub(/^# ?/, ""); print }' "$0" ;; esac
set -euo pipefail
CDPATH= cd -- "$(dirname -- "$0")/../.."
out=${1:?usage: tools/dev/main_job.sh OUT STEPS}
steps=${2:?usage: tools/dev/main_job.sh OUT STEPS}

say() { printf '\n== %s\n' "$*"; }
# Says a command as one would type it, and runs it.
run() {
  local line="$" part
  for part in "$@"; do
    case $part in *[!A-Za-z0-9_./:=,+-]* | "") part=${part@Q} ;; esac
    line+=" $part"
  done
  printf '%s\n' "$line"
  "$@"
}

model=examples/gpt-nano/gpt-nano.onnx
mkdir -p "$out"

say "data: the licence texts of this machine, whole files held out for validation"
# Symbolic links are skipped: they name the same texts again.
held_out=(Artistic MPL-1.1)
: >"$out/train.bin"
: >"$out/val.bin"
for file in /usr/share/common-licenses/*; do
  if [ -L "$file" ] || [ ! -f "$file" ]; then continue; fi
  target=train
  for name in "${held_out[@]}"; do [ "$(basename "$file")" = "$name" ] && target=val; done
  cat "$file" >>"$out/$target.bin"
done
echo "$(stat -c %s "$out/train.bin") bytes to learn from, $(stat -c %s "$out/val.bin") bytes held out (${held_out[*]})"

say "compiling for training on two data-parallel ranks"
run cleave compile "$model" -o "$out/gpt" --train --loss-output loss --optimizer adamw,weight_decay=0.1 \
  --dim batch=16 --mesh dp=2

say "the proof, before anything runs"
run cleave verify "$out/gpt"

say "before training"
run "$out/gpt" evaluate --data "tokens=$out/val.bin:u8,window=64,shift=0" --data "labels=$out/val.bin:u8,window=64,shift=1"

say "training"
rm -rf "$out/ckpt"
run "$out/gpt" train \
  --data "tokens=$out/train.bin:u8,window=64,shift=0" --data "labels=$out/train.bin:u8,window=64,shift=1" \
  --val-data "tokens=$out/val.bin:u8,window=64,shift=0" --val-data "labels=$out/val.bin:u8,window=64,shift=1" \
  --steps "$steps" --lr 1e-3 --lr-schedule cosine,warmup=20 --clip-grad-norm 1 --eval-every $((steps / 5)) \
  --log-every $((steps / 10)) --save "$out/ckpt"

say "back to ONNX, and inference on the export"
run cleave export "$out/ckpt" --model "$model" -o "$out/trained.onnx"
run cleave compile "$out/trained.onnx" -o "$out/writer" --dim batch=1
run "$out/writer" generate --input tokens --prompt "This License " --bytes 240 --temperature 0.7 --seed 1
