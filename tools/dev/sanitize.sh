#!/usr/bin/env bash
# tools/dev/sanitize.sh asan|tsan [PART...]: builds what is ours with sanitizers (build-KIND/) and runs what would show a fault. asan
# has UBSan too. Parts, all by default:
#   runtime   the runtime's tests
#   programs  training with checkpoints, evaluation and several layouts, and inference, by programs that build/bin/cleave has
#             compiled and that link the sanitized runtime
#   compiler  (asan) the compiler itself: gpt-nano and ResNet-18, hostile models and mistaken options
# Any finding is a failure. Needs what tools/setup.sh --tests installs; CLEAVE_TEST_PYTHON=... replaces .venv's Python, CLEAVE_JOBS=N
# bounds the build.
case "${1:-}" in -h | --help) exec awk 'NR > 1 && !/^#/ { exit } NR > 1 { sub(/^# ?/, ""); print }' "$0" ;; esac
set -euo pipefail
CDPATH= cd -- "$(dirname -- "$0")/../.."
usage() {
  echo "usage: tools/dev/sanitize.sh asan|tsan [runtime|programs|compiler...]" >&2
  exit 2
}
kind=${1:-}
case $kind in
  asan) parts="runtime programs compiler" ;;
  tsan) parts="runtime programs" ;; # the compiler has no threads but MLIR's, which is not instrumented
  *) usage ;;
esac
shift
for part in "$@"; do [[ " $parts " == *" $part "* ]] || usage; done
parts=${*:-$parts}
build=$PWD/build-$kind
out=$build/programs
python=${CLEAVE_TEST_PYTHON:-$PWD/.venv/bin/python}
say() { printf '== %s: %s\n' "$kind" "$*"; }

# A finding ends in SIGABRT, which lit's `not` tells from an error message. LLVM's allocators poison memory only where they are inlined
# into our objects, and its containers are annotated only there, so that ASan must listen to neither. Open MPI never frees what its
# modules hold, and its own locks are none that ThreadSanitizer would pass.
export ASAN_OPTIONS=abort_on_error=1:allow_user_poisoning=0:detect_container_overflow=0
export UBSAN_OPTIONS=abort_on_error=1:print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1:abort_on_error=1:suppressions=$PWD/tools/dev/tsan.supp
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# dlopen() is the sanitizer's here, and does not look where the program's own run path leads.
export CLEAVE_MPI_MODULE=$build/lib/libcleave_comm_mpi.so
without_leaks() { ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 "$@"; }

# ThreadSanitizer cannot map its shadow where the kernel scatters addresses widely (vm.mmap_rnd_bits). libgomp's barriers are
# futexes, which it does not see: teams are of one thread, so that what is checked are the ranks' own threads. tsan.supp tells
# what oneDNN's cache has to do with it.
run() {
  if [ "$kind" = tsan ]; then
    OMP_THREAD_LIMIT=1 DNNL_PRIMITIVE_CACHE_CAPACITY=0 setarch -R "$@"
  else
    "$@"
  fi
}

build_targets() {
  say "building $*"
  local compiler=ON
  [ "$kind" = tsan ] && compiler=OFF
  cmake --preset "$kind" -DCLEAVE_BUILD_COMPILER=$compiler -DCLEAVE_BUILD_TESTS=ON -DCLEAVE_TEST_PYTHON="$python" >/dev/null
  cmake --build "$build" ${CLEAVE_JOBS:+-j "$CLEAVE_JOBS"} --target "$@"
}

check_runtime() {
  build_targets runtime-tests cleave_main cleave_comm_mpi
  say "the runtime's tests"
  (
    cd "$build"
    # Without what is about teams: with teams of one the library's kernels, made for more threads, compute parts of their results.
    local without=()
    [ "$kind" = asan ] || without=(-E 'HostKernelTest|TeamTest')
    GTEST_FILTER=$([ "$kind" = asan ] && echo '*' || echo '-Rank.LaunchesCopiesAndFills') \
      run ctest --output-on-failure --timeout 1200 --no-tests=error -L runtime -LE mpi "${without[@]}"
    [ "$kind" = tsan ] || without_leaks ctest --output-on-failure --timeout 600 --no-tests=error -L mpi
  )
}

make_models() {
  mkdir -p "$out"
  "$python" test/models/make_weights.py "$out" test/models/mnist-cnn/mnist-cnn.torchscript.onnx test/models/resnet18/resnet18.torchscript.onnx
  "$python" - "$out" <<'END'
import sys
import numpy as np
random = np.random.default_rng(1)
for name, shape in (("digits", (32, 1, 28, 28)), ("images", (2, 3, 64, 64))):
    np.save(f"{sys.argv[1]}/{name}.npy", random.standard_normal(shape, dtype=np.float32))
for name, classes, count in (("classes", 10, 32), ("labels", 1000, 2)):
    np.save(f"{sys.argv[1]}/{name}.npy", random.integers(0, classes, count))
END
}

check_programs() {
  build_targets cleave_main cleave_comm_mpi
  say "emitted programs"
  rm -rf "$out" && make_models
  local cleave=build/bin/cleave text=/usr/share/common-licenses/GPL-3
  export CLEAVE_HOME=$build # programs link the runtime that lies there
  local tokens=(tokens=$text:u8,window=64,shift=0 labels=$text:u8,window=64,shift=1)
  local data=(--data "${tokens[0]}" --data "${tokens[1]}" --threads 1)
  local gpt=(compile examples/gpt-nano/gpt-nano.onnx --train --loss-output loss)
  "$cleave" "${gpt[@]}" -o "$out/dp2" --dim batch=2 --mesh dp=2 --bucket-size 256KiB
  "$cleave" "${gpt[@]}" -o "$out/dp4" --dim batch=1 --mesh dp=4 --micro-batches 3 --optimizer sgd,momentum=0.9
  "$cleave" "${gpt[@]}" -o "$out/fsdp" --dim batch=2 --mesh fsdp=2 --precision bf16 --recompute blocks
  "$cleave" "${gpt[@]}" -o "$out/hybrid" --dim batch=1 --mesh dp=2,fsdp=2 --precision fp16 --micro-batches 2
  "$cleave" "${gpt[@]}" -o "$out/offload" --dim batch=1 --mesh fsdp=2 --offload params,grads,optimizer,activations --save-async
  "$cleave" "${gpt[@]}" -o "$out/server" --dim batch=1 --mesh dp=3 --dp-sync parameter-server
  "$cleave" compile "$out/mnist-cnn/mnist-cnn.torchscript.onnx" -o "$out/cnn" --train --loss-output loss --dim batch=4 --mesh dp=2
  "$cleave" compile "$out/resnet18/resnet18.torchscript.onnx" -o "$out/resnet" --dim batch=1 --mesh dp=2
  run "$out/dp2" train "${data[@]}" --steps 4 --save "$out/ckpt" --save-every 2 --trace "$out/trace.json" \
    --val-data "${tokens[0]}" --val-data "${tokens[1]}" --eval-every 3 --metrics "$out/m.jsonl" --tensorboard "$out/tb"
  run "$out/dp2" train "${data[@]}" --steps 6 --save "$out/ckpt" --resume auto --clip-grad-norm 1
  run "$out/dp4" train "${data[@]}" --steps 3 --lr 1e-3
  run "$out/fsdp" train "${data[@]}" --steps 3 --save "$out/sharded" --save-every 1
  run "$out/hybrid" train "${data[@]}" --steps 4 --save "$out/sharded" --resume auto
  run "$out/offload" train "${data[@]}" --steps 4 --save "$out/aside" --save-every 1
  run "$out/server" train "${data[@]}" --steps 6 --save "$out/aside" --save-every 1 --resume auto
  [ "$kind" = tsan ] || without_leaks mpirun -n 2 --oversubscribe "$out/dp2" train "${data[@]}" --steps 3
  run "$out/cnn" train --data "x=$out/digits.npy" --data "labels=$out/classes.npy" --threads 1 --steps 3
  run "$out/resnet" infer --input "x=$out/images.npy" --input "labels=$out/labels.npy" --output "logits=$out/logits.npy" --threads 1
  "$cleave" export "$out/ckpt" --model examples/gpt-nano/gpt-nano.onnx -o "$out/trained.onnx"
  "$cleave" compile "$out/trained.onnx" -o "$out/writer" --dim batch=1
  run "$out/writer" generate --prompt "This License " --bytes 4 --seed 1 --threads 1
}

check_compiler() {
  build_targets cleave cleave-import cleave_main cleave_comm_mpi
  say "the compiler on models"
  [ -e "$out/resnet18" ] || make_models
  local training=(--train --loss-output loss --global-batch 4)
  "$build/bin/cleave" compile examples/gpt-nano/gpt-nano.onnx "${training[@]}" -o "$out/checked" --mesh dp=2,fsdp=2 --precision bf16
  "$build/bin/cleave" compile examples/gpt-nano/gpt-nano.onnx "${training[@]}" -o "$out/checked" --recompute blocks --micro-batches 2
  "$build/bin/cleave" verify "$out/checked"
  "$build/bin/cleave" compile "$out/resnet18/resnet18.torchscript.onnx" "${training[@]}" -o "$out/checked" --mesh dp=2
  "$build/bin/cleave" inspect "$out/checked" --text >/dev/null
  say "hostile and mistaken input"
  LD_LIBRARY_PATH=$build/lib /usr/lib/llvm-22/bin/lit -v --timeout=1200 "$build/test" --filter 'Import/(hostile|errors)|e2e/(messages/(errors-|cli-errors)|checkpoints/hostile-checkpoints)'
}

for part in $parts; do "check_$part"; done
say "nothing found in: $parts"
