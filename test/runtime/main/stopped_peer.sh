#!/bin/sh
# A rank that is stopped within MPI_Init_thread() or MPI_Finalize() ends the others after CLEAVE_COMM_TIMEOUT_S, with a
# line. The limit is long enough for a loaded machine to start and to end: at least 10 s. In a program that uses the C API,
# no rank is ended that only waits for another one.
#   stopped_peer.sh TINY_MAIN MPI_MODULE STOP_IN_MPI C_API_PROCESSES
set -eu
export CLEAVE_MPI_MODULE="$2" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
head -c 4096 /bin/sh > "$dir/x.bin"
main=$1 preload=$3 host=$4

# train CALL: rank 1 stops in this call; none: no rank stops.
train() {
  code=0
  timeout -k 5 100 mpirun --oversubscribe -n 2 env "LD_PRELOAD=$preload" "CLEAVE_TEST_STOP_IN=$1" \
    "CLEAVE_COMM_TIMEOUT_S=$2" "$main" 2 train --data "x=$dir/x.bin:u8,window=4,mean=0,std=1" --steps 20 --lr 0.1 \
    --save "$dir/$1" > "$dir/out" 2> "$dir/err" || code=$?
  echo "$1: ended with code $code"
  cat "$dir/err"
}

train none 60
test "$code" = 0
test "$(grep -c 'error' "$dir/err")" = 0

train MPI_Init_thread 0.2
test "$code" != 0 && test "$code" != 124
grep -qE 'TinyMain: error: waited 10 s for the other ranks to start \(MPI_Init\): one is stopped' "$dir/err"
test ! -e "$dir/MPI_Init_thread"

train MPI_Finalize 20
test "$code" != 0 && test "$code" != 124
grep -qE 'TinyMain: error: waited [0-9]+ s for the other ranks to end \(MPI_Finalize\): .*what they saved is whole' "$dir/err"
grep -q 'step 20/20' "$dir/out"
cmp "$dir/none/step-00000020/rank-00000.safetensors" "$dir/MPI_Finalize/step-00000020/rank-00000.safetensors"

code=0
timeout -k 5 100 mpirun --oversubscribe -n 2 env CLEAVE_COMM_TIMEOUT_S=3 "$host" 12 > "$dir/out" 2> "$dir/err" || code=$?
echo "a slow rank of a host program: ended with code $code"
cat "$dir/err"
test "$code" = 0
