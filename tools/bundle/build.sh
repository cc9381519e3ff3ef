#!/bin/sh
# Builds the programs of this bundle: bin/NAME of each model. Needs a C++17 compiler (g++ 9 or later), no CUDA and nothing of
# Cleave. From the environment: CXX (default c++), CXXFLAGS (-O3 -DNDEBUG), JOBS, how many compilers run at a time (one a core).
case "${1:-}" in -h | --help) exec awk 'NR > 1 && !/^#/ { exit } NR > 1 { sub(/^# ?/, ""); print }' "$0" ;; esac
set -eu
tab=$(printf '\t')
export CXX="${CXX:-c++}" CXXFLAGS="${CXXFLAGS:--O3 -DNDEBUG}"

fail() {
  echo "build.sh: $*" >&2
  exit 1
}

objectOf() { echo "build/$(echo "$1" | tr / -).o"; }

# A line of sources/list.txt: part, path, options.
compileLine() {
  IFS=$tab
  # shellcheck disable=SC2086 # fields
  set -- $1
  unset IFS
  path=$2
  shift 2
  object=$(objectOf "$path")
  if [ -n "$(find "$object" -newer "$path" 2>/dev/null)" ]; then
    return
  fi
  # shellcheck disable=SC2086 # words
  $CXX $CXXFLAGS -std=c++17 -fPIC -fopenmp -Isources -Isources/runtime/include -isystem sources/others "$@" -c "$path" -o "$object.new" ||
    fail "$path cannot be compiled"
  mv "$object.new" "$object"
}

# Whether a program of these lines can be made; further arguments are the compiler's.
canBuild() {
  text=$1
  shift
  # shellcheck disable=SC2086
  printf '%s\nint main() {}\n' "$text" | $CXX $CXXFLAGS -std=c++17 -fopenmp -x c++ - "$@" -o build/try 2>build/try.log
}

# Objects of one part, as an archive.
archive() {
  objects=""
  for path in $(grep -E "^($1)$tab" sources/list.txt | cut -f 2); do
    objects="$objects $(objectOf "$path")"
  done
  rm -f "build/lib$2.a"
  # shellcheck disable=SC2086
  "${AR:-ar}" rcs "build/lib$2.a" $objects || fail "'${AR:-ar}' made no archive; Debian: apt-get install binutils"
}

linkModel() {
  printf '%s\n' '#include "cleave/model.h"' 'extern "C" {' "extern const cleave_model cleave_model_$1;" \
    'extern const cleave_model *const cleave_main_model;' "const cleave_model *const cleave_main_model = &cleave_model_$1;" '}' >"build/$1.main.cpp"
  needs=cleave_rt_device.link
  if [ "$2" = host ]; then
    needs=cleave_rt.link
  fi
  mkdir -p bin
  # shellcheck disable=SC2086
  $CXX $CXXFLAGS -std=c++17 -Isources/runtime/include "build/$1.main.cpp" "models/$1.o" -o "build/$1" -Lbuild -Wl,--gc-sections -lcleave_main \
    "@sources/$needs" || fail "bin/$1 cannot be linked"
  mv "build/$1" "bin/$1"
  echo "bin/$1"
}

if [ "${1:-}" = --compile ]; then # by xargs below
  compileLine "$2"
  exit 0
fi
CDPATH= cd -- "$(dirname -- "$0")"
if [ $# -gt 0 ]; then
  sed -n '2,3s/^# \{0,1\}//p' build.sh
  exit 2
fi
mkdir -p build
if [ "$(cat build/flags 2>/dev/null)" != "$CXX $CXXFLAGS" ]; then
  rm -rf build
  mkdir build
  echo "$CXX $CXXFLAGS" >build/flags
fi
jobs=${JOBS:-$(nproc)}
case $jobs in 0* | *[!0-9]*) fail "JOBS=$jobs: expected a number of compilers, from 1" ;; esac
canBuild '#include <filesystem>
#include <omp.h>' || fail "'$CXX' is no C++17 compiler with OpenMP ($(head -n 1 build/try.log)); name one in CXX, or Debian: apt-get install g++"
if ! canBuild '' -lz; then # its headers are here; a machine that has no package for programmers has the library alone
  zlib=$($CXX -print-file-name=libz.so.1)
  [ "$zlib" != libz.so.1 ] || fail "there is no libz.so.1; Debian: apt-get install zlib1g"
  ln -sf "$zlib" build/libz.so
fi
if grep -q "${tab}host\$" models/list.txt; then
  canBuild '#include <oneapi/dnnl/dnnl.hpp>' -ldnnl ||
    fail "models of the host need oneDNN ($(head -n 1 build/try.log)); Debian: apt-get install libdnnl-dev"
fi
grep -E "^(runtime|host|main)$tab" sources/list.txt | xargs -d '\n' -n 1 -P "$jobs" ./build.sh --compile ||
  fail "a source cannot be compiled; the lines above say why"
archive 'runtime|host' cleave_rt
archive main cleave_main
while IFS=$tab read -r name kind; do
  linkModel "$name" "$kind"
done <models/list.txt
if command -v mpicxx >/dev/null; then
  mkdir -p lib
  module=$(grep "^mpi$tab" sources/list.txt | cut -f 2)
  # shellcheck disable=SC2086
  OMPI_CXX=$CXX MPICH_CXX=$CXX mpicxx $CXXFLAGS -std=c++17 -fPIC -shared -Isources "$module" -o lib/libcleave_comm_mpi.so ||
    fail "the module of MPI cannot be built"
  echo lib/libcleave_comm_mpi.so
else
  echo "no mpicxx: the ranks of a program are threads of one process"
fi
