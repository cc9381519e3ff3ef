#!/bin/sh
# A process that gives up through the C API ends the others in bounded time, with a message each.
#   c_api_abandoned.sh PROGRAM MPI_MODULE
set -eu
export CLEAVE_MPI_MODULE="$2" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT
fails() {
  code=0
  timeout -k 5 60 mpirun --oversubscribe "$@" 2> "$errors" || code=$?
  cat "$errors"
  test "$code" != 0 && test "$code" != 124
}
fails -n 2 "$1"
grep -q 'process 1: .* bytes; got 3' "$errors"
grep -q 'process 0: .*rank 1 ' "$errors"
# One that goes without an error, while the others are in a call.
missed='rank 1 has ended its session, and others wait for it; all processes must make the same calls'
for ranks in 2 4; do
  fails -n $ranks "$1" early
  grep -q "process [0-9]: .*$missed" "$errors"
done
