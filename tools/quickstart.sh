#!/usr/bin/env bash
# The main job, from nothing: installs what is missing, builds, compiles a byte-level GPT for two data-parallel ranks,
# trains it on the licence texts of this machine, exports the result to ONNX, and lets the export write.
# Can be repeated; everything it makes lies in build/ and out/quickstart/.
#   tools/quickstart.sh --cuda    without a GPU: compiles the GPT for cuda:sm_90 and trains it for some steps on the tests' emulated
#                                 device, with the host's losses beside; makes build-cuda/, out/quickstart-cuda/ and, where there
#                                 is no CUDA toolkit, .venv-cuda/
case "${1:-}" in -h | --help) exec awk 'NR > 1 && !/^#/ { exit } NR > 1 { sub(/^# ?/, ""); print }' "$0" ;; esac
set -euo pipefail
CDPATH= cd -- "$(dirname -- "$0")/.."

[ $# -le 1 ] || { echo "quickstart: expected --cuda or nothing; got: $*" >&2; exit 2; }
case "${1:-}" in
"") ;;
--cuda)
  tools/setup.sh --cuda
  printf '\n== building the compiler, the runtime and the emulated device (build-cuda/)\n'
  cmake --preset default -B build-cuda -DCLEAVE_BUILD_TESTS=ON -DCLEAVE_NVCC="$(tools/dev/find_nvcc.sh)" >/dev/null
  cmake --build build-cuda --target cleave cleave_main cleave_emulated_cuda cleave_emulated_cublaslt
  PATH="$PWD/build-cuda/bin:$PATH" exec tools/dev/cuda_job.sh build-cuda out/quickstart-cuda 3
  ;;
*) echo "quickstart: expected --cuda or nothing; got: $1" >&2; exit 2 ;;
esac

tools/setup.sh
printf '\n== building the compiler and the runtime (build/)\n'
cmake --preset default -DCLEAVE_BUILD_TESTS="${CLEAVE_BUILD_TESTS:-OFF}" >/dev/null
cmake --build build --target cleave cleave-opt cleave_main cleave_comm_mpi
PATH="$PWD/build/bin:$PATH" exec tools/dev/main_job.sh out/quickstart 1000
