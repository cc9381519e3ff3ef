#!/bin/sh
# A process that gives up through the C API ends the others in bounded time, with a message each.
#   c_api_abandoned.sh PROGRAM MPI_MODULE
set -eu
export CLEAVE_MPI_MODULE="$2" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT
code=0
timeout -k 5 60 mpirun --oversubscribe -n 2 "$1" 2> "$errors" || code=$?
cat "$errors"
test "$code" != 0 && test "$code" != 124
grep -q 'process 1: .* bytes; got 3' "$errors"
grep -q 'process 0: .*rank 1 ' "$errors"
