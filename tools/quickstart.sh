#!/usr/bin/env bash
# The main job, from nothing: installs what is missing, builds, compiles a byte-level GPT for two data-parallel ranks,
# trains it on the licence texts of this machine, exports the result to ONNX, and lets the export write.
# Can be repeated; everything it makes lies in build/ and out/quickstart/.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/setup.sh
printf '\n== building the compiler and the runtime (build/)\n'
cmake --preset default -DCLEAVE_BUILD_TESTS="${CLEAVE_BUILD_TESTS:-OFF}" >/dev/null
cmake --build build --target cleave cleave-opt cleave_main cleave_comm_mpi
PATH="$PWD/build/bin:$PATH" exec tools/dev/main_job.sh out/quickstart 1000
