#!/usr/bin/env bash
# tools/dev/sanitize.sh asan|ubsan|tsan: builds what is ours with sanitizers (build-KIND/) and runs what would show a fault.
#   asan   (with UBSan) the runtime's tests; the importer and the compiler on hostile and mistaken input; training,
#   ubsan  evaluation, checkpoints and inference with emitted programs that link the sanitized runtime
#   tsan   the runtime's tests, and the same programs with several ranks, streams and micro-batches; compiled by build/bin/cleave
# Any finding is a failure. Needs what tools/setup.sh --tests installs; CLEAVE_TEST_PYTHON=... replaces .venv's Python.
set -euo pipefail
cd "$(dirname "$0")/../.."
kind=${1:-}
case $kind in
  asan | ubsan) compiler=ON ;;
  tsan) compiler=OFF ;;
  *)
    echo "usage: tools/dev/sanitize.sh asan|ubsan|tsan" >&2
    exit 2
    ;;
esac
build=$PWD/build-$kind
python=${CLEAVE_TEST_PYTHON:-$PWD/.venv/bin/python}
say() { printf '== %s: %s\n' "$kind" "$*"; }

# A finding ends in SIGABRT, which lit's `not` tells from an error message. LLVM's allocators poison memory only where they
# are inlined into our objects, so that ASan must not listen to them. Open MPI never frees what its modules hold, and its own
# locks are none that ThreadSanitizer would pass.
export ASAN_OPTIONS=abort_on_error=1:allow_user_poisoning=0 UBSAN_OPTIONS=abort_on_error=1:print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1:abort_on_error=1:ignore_noninstrumented_modules=1 # oneDNN, libgomp
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
without_leaks() { ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 "$@"; }

say "building"
cmake --preset "$kind" -DCLEAVE_BUILD_COMPILER=$compiler -DCLEAVE_BUILD_TESTS=ON -DCLEAVE_TEST_PYTHON="$python" >/dev/null
programs=(cleave_main cleave_comm_mpi)
[ $compiler = ON ] && programs+=(cleave cleave-import)
cmake --build "$build" --target runtime-tests "${programs[@]}"

# ThreadSanitizer cannot map its shadow where the kernel scatters addresses widely (vm.mmap_rnd_bits). libgomp's barriers are
# futexes, which it does not see: teams are of one thread, so that what is checked are the ranks' own threads.
[ $kind = tsan ] && export OMP_THREAD_LIMIT=1
run() { if [ $kind = tsan ]; then setarch -R "$@"; else "$@"; fi; }

say "the runtime's tests"
cd "$build"
run ctest --output-on-failure --timeout 1200 --no-tests=error -L runtime -LE mpi
[ $kind = tsan ] || without_leaks ctest --output-on-failure --timeout 600 --no-tests=error -L mpi
cd - >/dev/null

if [ $compiler = ON ]; then
  say "hostile and mistaken input"
  /usr/lib/llvm-22/bin/lit -v --timeout=1200 "$build/test" --filter 'Import/(hostile|errors)|e2e/(errors-|cli-errors)'
  cleave=$build/bin/cleave
else
  cleave=build/bin/cleave
  export CLEAVE_HOME=$build # programs link the runtime that lies there
fi

say "emitted programs"
out=$build/programs
rm -rf "$out" && mkdir -p "$out"
"$python" test/models/make_weights.py "$out" test/models/mnist-cnn/mnist-cnn.torchscript.onnx test/models/resnet18/resnet18.torchscript.onnx
text=/usr/share/common-licenses/GPL-3
tokens=(tokens=$text:u8,window=64,shift=0 labels=$text:u8,window=64,shift=1)
data=(--data "${tokens[0]}" --data "${tokens[1]}")
gpt=(compile examples/gpt-nano/gpt-nano.onnx --train --loss-output loss)
"$cleave" "${gpt[@]}" -o "$out/dp2" --dim batch=2 --mesh dp=2 --bucket-size 256KiB
"$cleave" "${gpt[@]}" -o "$out/dp4" --dim batch=1 --mesh dp=4 --micro-batches 3 --optimizer sgd,momentum=0.9
"$cleave" compile "$out/mnist-cnn/mnist-cnn.torchscript.onnx" -o "$out/cnn" --train --loss-output loss --dim batch=4 --mesh dp=2
"$cleave" compile "$out/resnet18/resnet18.torchscript.onnx" -o "$out/resnet" --dim batch=1 --mesh dp=2
run "$out/dp2" train "${data[@]}" --threads 1 --steps 4 --save "$out/ckpt" --save-every 2 --trace "$out/trace.json" \
  --val-data "${tokens[0]}" --val-data "${tokens[1]}" --eval-every 3 --metrics "$out/m.jsonl" --tensorboard "$out/tb"
run "$out/dp2" train "${data[@]}" --threads 1 --steps 6 --save "$out/ckpt" --resume auto --clip-grad-norm 1
run "$out/dp4" train "${data[@]}" --threads 1 --steps 3 --lr 1e-3
[ $kind = tsan ] || without_leaks mpirun -n 2 --oversubscribe "$out/dp2" train "${data[@]}" --threads 1 --steps 3
"$python" - "$out" <<'END'
import sys
import numpy as np
random = np.random.default_rng(1)
for name, shape in (("digits", (32, 1, 28, 28)), ("images", (2, 3, 64, 64))):
    np.save(f"{sys.argv[1]}/{name}.npy", random.standard_normal(shape, dtype=np.float32))
np.save(f"{sys.argv[1]}/classes.npy", random.integers(0, 10, 32))
END
run "$out/cnn" train --data "x=$out/digits.npy" --data "labels=$out/classes.npy" --threads 1 --steps 3
run "$out/resnet" infer --input "x=$out/images.npy" --output "logits=$out/logits.npy" --threads 1
"$cleave" export "$out/ckpt" --model examples/gpt-nano/gpt-nano.onnx -o "$out/trained.onnx"
"$cleave" compile "$out/trained.onnx" -o "$out/writer" --dim batch=1
run "$out/writer" generate --prompt "This License " --bytes 4 --seed 1 --threads 1
say "nothing found"
