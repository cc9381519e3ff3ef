#!/bin/sh
# A rank that is killed, or stops answering, ends the run: in bounded time, and with a line on every survivor that says
# which rank it was.
#   lost_peer.sh TINY_MAIN MPI_MODULE
set -eu
export CLEAVE_MPI_MODULE="$2" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
head -c 4096 /bin/sh > "$dir/x.bin"
train="train --data x=$dir/x.bin:u8,window=4,mean=0,std=1 --steps 100000000 --lr 1e-9 --log-every 10"

# lose SIGNAL SECONDS: trains on four ranks, sends the signal to rank 2, waits for the end.
lose() {
  rm -f "$dir/out"
  timeout -k 5 120 mpirun --oversubscribe -n 4 "$1" 4 $train > "$dir/out" 2> "$dir/err" &
  launcher=$!
  for i in $(seq 600); do
    grep -q 'step 20/' "$dir/out" 2> /dev/null && break
    sleep 0.1
  done
  grep -q 'step 20/' "$dir/out"
  mpirun=$(pgrep -P "$launcher")
  for process in $(pgrep -P "$mpirun"); do
    if tr '\0' '\n' < "/proc/$process/environ" | grep -qx OMPI_COMM_WORLD_RANK=2; then victim=$process; fi
  done
  begin=$(date +%s)
  kill "-$2" "$victim"
  code=0
  wait "$launcher" || code=$?
  kill -KILL "$victim" 2> /dev/null || true
  seconds=$(($(date +%s) - begin))
  echo "$2: ended with code $code after $seconds s"
  cat "$dir/err"
  test "$code" != 0 && test "$code" != 124 && test "$seconds" -le "$3"
}

lose "$1" KILL 20
grep -q "rank 2 (process $victim) has died" "$dir/err"
# Each from where it was: who has seen it, or has been told.
test "$(grep -c 'TinyMain: error: rank 2 (process .* has died.*this process was in step \|TinyMain: error: rank 2 is lost.*this process was in step ' "$dir/err")" = 3

export CLEAVE_COMM_HEARTBEAT_S=3
lose "$1" STOP 30
grep -q 'rank . has not answered for 3 s' "$dir/err"
test "$(grep -c 'TinyMain: error: .*this process was in step ' "$dir/err")" -ge 3
