#!/bin/sh
# The same training on two threads and on two processes writes the same bytes; a wrong number of processes is told.
#   mpi_equals_local.sh TINY_MAIN MPI_MODULE
set -eu
export CLEAVE_MPI_MODULE="$2" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
head -c 4096 /bin/sh > "$dir/x.bin"
# 4 bytes a sample, as pixels.
train="train --data x=$dir/x.bin:u8,window=4,mean=0,std=1 --steps 20 --lr 0.1 --seed 3"
"$1" 2 $train --save "$dir/local" > "$dir/local.log"
mpirun --oversubscribe -n 2 "$1" 2 $train --save "$dir/mpi" > "$dir/mpi.log"
cmp "$dir/local/step-00000020/rank-00000.safetensors" "$dir/mpi/step-00000020/rank-00000.safetensors"
cmp "$dir/local/step-00000020/checkpoint.json" "$dir/mpi/step-00000020/checkpoint.json"
test "$(grep -c 'step 20/20' "$dir/mpi.log")" = 1 # only rank 0 talks
mpirun --oversubscribe -n 2 "$1" 2 $train --save "$dir/full" --checkpoint full > "$dir/full.log"
"$1" 2 $train --save "$dir/localfull" --checkpoint full > "$dir/localfull.log"
cmp "$dir/full/step-00000020/model.safetensors" "$dir/localfull/step-00000020/model.safetensors"
# A leader that cannot write: every process ends, nobody waits.
code=0
timeout 60 mpirun --oversubscribe -n 2 "$1" 2 $train --save /proc/no > "$dir/no.log" 2>&1 || code=$?
test "$code" != 0 && test "$code" != 124
grep -q 'error: --save: cannot create /proc/no' "$dir/no.log"
"$1" 2 infer --input "x=$dir/x.bin:u8,window=4,mean=0,std=1" --output "y=$dir/local.npy"
mpirun --oversubscribe -n 2 "$1" 2 infer --input "x=$dir/x.bin:u8,window=4,mean=0,std=1" --output "y=$dir/mpi.npy"
cmp "$dir/local.npy" "$dir/mpi.npy"
if mpirun --oversubscribe -n 3 "$1" 2 $train > "$dir/wrong.log" 2>&1; then exit 1; fi
grep -q 'started as 3 processes, but compiled for 2 ranks (dp=2); use mpirun -n 2' "$dir/wrong.log"
# What only the leader can see stops everybody at once: nobody waits for a process that has given up.
code=0
timeout 60 mpirun --oversubscribe -n 2 "$1" 2 $train --metrics "$dir/nowhere/m.jsonl" > "$dir/alone.log" 2>&1 || code=$?
test "$code" != 0 && test "$code" != 124
grep -q 'nowhere/m.jsonl: No such file or directory' "$dir/alone.log"
# Processes that were not given the same say so, and train nothing.
head -c 4000 /bin/sh > "$dir/less.bin"
less=$(echo "$train" | sed s/x.bin/less.bin/)
differ() {
  code=0
  timeout 60 mpirun --oversubscribe -n 1 "$program" 2 $train : -n 1 "$program" 2 $2 > "$dir/differ.log" 2>&1 || code=$?
  test "$code" != 0 && test "$code" != 124
  grep -q "$1" "$dir/differ.log"
}
program=$1
differ 'the samples of --data: this process has 1000, the first one 1024' "$less"
differ 'lr: process 1 was given another value than the first one' "$(echo "$train" | sed 's/--lr 0.1/--lr 0.2/')"
differ 'steps: process 1 was given another value than the first one' "$(echo "$train" | sed 's/--steps 20/--steps 21/')"
differ 'save: process 1 was given another value than the first one' "$train --save $dir/alone"
