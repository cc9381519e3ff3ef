#!/usr/bin/env bash
# tools/dev/run_suites.sh BUILD [TEST...]: runs the gate's suites, all of GoogleTest and lit, on what is built; what `check-cleave` and
# tools/check.sh run. Closes with the time taken of the budget and, as its last line, "N passed, N failed, N skipped". It is a
# failure when one of TEST is not registered with CTest.
case "${1:-}" in -h | --help) exec awk 'NR > 1 && !/^#/ { exit } NR > 1 { sub(/^# ?/, ""); print }' "$0" ;; esac
set -euo pipefail
CDPATH= cd -- "$(dirname -- "$0")/../.."
build=${1:?usage: tools/dev/run_suites.sh BUILD [TEST...]}
shift
budget_minutes=20
log=$build/check
mkdir -p "$log"
status=0
SECONDS=0
echo "== GoogleTest"
(cd "$build" && ctest -j "$(nproc)" --no-tests=error --output-on-failure --timeout 600 --output-junit check/gtest.xml) 2>&1 | tee "$log/gtest.log" || status=1
results=("$log/gtest.xml")
if [ -e "$build/test/lit.site.cfg.py" ]; then # a build of the runtime alone has none
  echo "== lit: passes, dialects, end to end"
  results+=("$log/lit.xml")
  # Some tests wait for others, or for a run that they have killed: one more at a time than there are cores.
  /usr/lib/llvm-22/bin/lit -v -j "$(($(nproc) + 1))" --timeout=900 --xunit-xml-output "$log/lit.xml" "$build/test" 2>&1 | tee "$log/lit.log" || status=1
fi
printf 'time: %d min %d s; the budget is %d min\n' $((SECONDS / 60)) $((SECONDS % 60)) $budget_minutes
python3 tools/dev/count_results.py "${results[@]}" -- "$@" || status=1
exit $status
