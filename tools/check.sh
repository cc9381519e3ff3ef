#!/usr/bin/env bash
# Installs what is missing, builds everything and runs all tests: lit, GoogleTest, end to end. Can be repeated.
# The last line is "N passed, N failed, N skipped" over all suites; the exit code is not 0 when anything failed.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/setup.sh --tests
echo "== configuring build/"
cmake --preset default -DCLEAVE_BUILD_TESTS=ON -DCLEAVE_TEST_PYTHON="$PWD/.venv/bin/python" >/dev/null
echo "== building the programs and the tests"
cmake --build build
cmake --build build --target cleave-tests

log=build/check
mkdir -p "$log"
status=0
echo "== GoogleTest"
(cd build && ctest --output-on-failure --timeout 600 --output-junit check/gtest.xml) | tee "$log/gtest.log" || status=1
echo "== lit: passes, dialects, end to end"
/usr/lib/llvm-22/bin/lit -v --timeout=900 --xunit-xml-output "$log/lit.xml" build/test | tee "$log/lit.log" || status=1
python3 tools/dev/count_results.py "$log/gtest.xml" "$log/lit.xml" || status=1
exit $status
