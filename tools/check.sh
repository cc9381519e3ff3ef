#!/usr/bin/env bash
# Installs what is missing, builds everything and runs all tests: lit, GoogleTest, end to end. Can be repeated.
# The last line is "N passed, N failed, N skipped" over all suites; the exit code is not 0 when anything failed.
case "${1:-}" in -h | --help) exec awk 'NR > 1 && !/^#/ { exit } NR > 1 { sub(/^# ?/, ""); print }' "$0" ;; esac
set -euo pipefail
CDPATH= cd -- "$(dirname -- "$0")/.."
[ $# -eq 0 ] || { echo "check: expected no arguments; got: $*" >&2; exit 2; }

tools/setup.sh --tests
echo "== configuring build/"
cmake --preset default -DCLEAVE_BUILD_TESTS=ON -DCLEAVE_TEST_PYTHON="$PWD/.venv/bin/python" \
  -DCLEAVE_NVCC="$(tools/dev/find_nvcc.sh)" >/dev/null
echo "== building the programs and the tests"
cmake --build build
cmake --build build --target cleave-tests

# Which rows of the table of results (test/full) are by these sources; what is not, `ninja -C build check-cleave-full` runs.
.venv/bin/python test/full/run.py --build build --fresh || true

# Those that a machine without MPI would not have.
exec tools/dev/run_suites.sh build MpiTest.2 MpiTest.4 MpiCApiAbandoned MpiEqualsLocal MpiLostPeer \
  MpiStoppedPeer
