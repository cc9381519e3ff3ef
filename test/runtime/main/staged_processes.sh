#!/bin/sh
# A pipeline whose stages are processes: it writes the same bytes as one of threads, tells its losses from the rank that
# prints, and ends with a line on every survivor when a stage is lost.
#   staged_processes.sh STAGED_MAIN MPI_MODULE
set -eu
export CLEAVE_MPI_MODULE="$2" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
head -c 4096 /bin/sh > "$dir/x.bin"
# 8 bytes a sample, as pixels.
pixels="u8,window=8,mean=0,std=1"
data="--data x=$dir/x.bin:$pixels --data t=$dir/x.bin:$pixels"
train="train $data --lr 0.1 --seed 3"
timeless() { sed 's/"\(samples_per_s\|step_s\|peak_bytes\)": [^,}]*,* *//g' "$1"; }

# equal RANKS PP DP FSDP: threads and processes.
equal() {
  ranks=$1
  shift
  mpirun="timeout 100 mpirun --oversubscribe -n $ranks $program $*"
  rm -rf "$dir/local" "$dir/mpi"
  "$program" "$@" $train --steps 20 --save "$dir/local" --metrics "$dir/local.jsonl" --val-data "x=$dir/x.bin:$pixels" \
    --val-data "t=$dir/x.bin:$pixels" --eval-every 5 --save-best > "$dir/local.log"
  $mpirun $train --steps 20 --save "$dir/mpi" --metrics "$dir/mpi.jsonl" --val-data "x=$dir/x.bin:$pixels" \
    --val-data "t=$dir/x.bin:$pixels" --eval-every 5 --save-best > "$dir/mpi.log"
  timeless "$dir/local.jsonl" > "$dir/local.txt"
  timeless "$dir/mpi.jsonl" > "$dir/mpi.txt"
  cmp "$dir/local.txt" "$dir/mpi.txt"
  for part in "$dir"/local/step-00000020/*; do cmp "$part" "$dir/mpi/step-00000020/${part##*/}"; done
  test "$(grep -c 'step 20/20' "$dir/mpi.log")" = 1 # only rank 0 talks
  $mpirun $train --steps 20 --save "$dir/full$ranks" --checkpoint full > "$dir/full.log"
  # On from there with another mesh, as processes and as one.
  cp -r "$dir/mpi" "$dir/mpi2"
  timeout 100 mpirun --oversubscribe -n 2 "$program" 1 1 2 $train --steps 25 --save "$dir/mpi" --resume auto \
    --metrics "$dir/a.jsonl" > "$dir/a.log"
  "$program" 1 1 2 $train --steps 25 --save "$dir/mpi2" --resume auto --metrics "$dir/b.jsonl" > "$dir/b.log"
  timeless "$dir/a.jsonl" > "$dir/a.txt"
  timeless "$dir/b.jsonl" > "$dir/b.txt"
  cmp "$dir/a.txt" "$dir/b.txt"
  test "$(wc -l < "$dir/a.txt")" = 5
  $mpirun evaluate $data > "$dir/evaluate.mpi"
  "$program" "$@" evaluate $data > "$dir/evaluate.local"
  cmp "$dir/evaluate.mpi" "$dir/evaluate.local"
  rm -rf "$dir/mpi2" "$dir/full$ranks"
}
program=$1
equal 2 2 1 1
equal 4 4 1 1
equal 4 2 1 2

# The loss that ends a run is the last stage's: all processes end by it.
code=0
timeout 60 mpirun --oversubscribe -n 2 "$program" 2 1 1 train $data --lr 1e30 --steps 20 > "$dir/nan.log" 2>&1 || code=$?
test "$code" != 0 && test "$code" != 124
grep -q 'error: step .*the loss is \(not a number\|infinite\)' "$dir/nan.log"

# lose RANK: trains as four stages, kills that one in the midst of a step, waits for the end. Each process has a file for
# what it says: mpirun does not read all of what those say that it ends.
lose() {
  rm -f "$dir/out" "$dir"/err.*
  timeout -k 5 120 mpirun --oversubscribe -n 4 sh -c 'exec "$@" 2> "$0.$OMPI_COMM_WORLD_RANK"' "$dir/err" \
    "$program" 4 1 1 $train --steps 100000000 --log-every 10 > "$dir/out" 2> "$dir/launcher" &
  launcher=$!
  for i in $(seq 600); do
    grep -q 'step 20/' "$dir/out" 2> /dev/null && break
    sleep 0.1
  done
  grep -q 'step 20/' "$dir/out"
  mpirun=$(pgrep -P "$launcher")
  for process in $(pgrep -P "$mpirun"); do
    if tr '\0' '\n' < "/proc/$process/environ" | grep -qx "OMPI_COMM_WORLD_RANK=$1"; then victim=$process; fi
  done
  begin=$(date +%s)
  kill -KILL "$victim"
  code=0
  wait "$launcher" || code=$?
  seconds=$(($(date +%s) - begin))
  echo "stage $1 killed: ended with code $code after $seconds s"
  cat "$dir"/err.*
  test "$code" != 0 && test "$code" != 124 && test "$seconds" -le 5
  # Each survivor says what it waited for: a message, and of which rank, or what processes tell each other between steps.
  transfer='[(](send|recv).*[)]: (to|from) rank .'
  between='telling all processes the results: broadcast|agreement'
  lost="rank $1 (\(process $victim\) has died|is lost)"
  for rank in 0 1 2 3; do
    test "$rank" = "$1" || grep -Eq "StagedMain: error: $lost.*this process was in step .*($transfer|$between)" "$dir/err.$rank"
  done
  cat "$dir"/err.* | grep -Eq "$lost.*$transfer"
}
lose 0
lose 2
lose 3
