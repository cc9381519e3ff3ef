#!/usr/bin/env bash
# tools/dev/try_packages.sh BUILD WORK: makes the packages of a build tree, and tries them in a bare Debian 12 below WORK, as a newcomer would:
#
#   1. cleave-runtime alone runs a program that this machine's compiler has linked, also under mpirun
#   2. cleave-compiler compiles, verifies, trains, exports, and links programs (docs/linking.md as it stands, with the files of the package)
#   3. the tarball does the same from another place, after the packages are gone
#
# Part of the full run (test/full); needs root and debootstrap. DEBIAN_MIRROR is the mirror that debootstrap takes, where not its usual one.
case "${1:-}" in -h | --help) exec awk 'NR > 1 && !/^#/ { exit } NR > 1 { sub(/^# ?/, ""); print }' "$0" ;; esac
set -euo pipefail
source_dir=$(CDPATH= cd -- "$(dirname -- "$0")/../.." && pwd)
build=$(cd "${1:?usage: tools/dev/try_packages.sh BUILD WORK}" && pwd)
work=$(mkdir -p "${2:?usage: tools/dev/try_packages.sh BUILD WORK}" && cd "$2" && pwd)
root=$work/root

[ "$(id -u)" -eq 0 ] || { echo "try_packages: run this as root: a Debian is installed below $work, and entered by chroot" >&2; exit 1; }
command -v debootstrap >/dev/null || { echo "try_packages: apt-get install debootstrap" >&2; exit 1; }

# Says how a step has ended; its output is shown where it has failed.
step() {
  local name=$1
  shift
  if "$@" >"$work/$name.log" 2>&1; then echo "$name: done"; else
    tail -50 "$work/$name.log" >&2
    echo "try_packages: '$name' failed; the whole output is $work/$name.log" >&2
    exit 1
  fi
}

make_packages() {
  cmake --build "$build" --target cleave cleave-opt cleave_main cleave_comm_mpi
  rm -rf "$build/packages"
  for kind in DEB TGZ; do (cd "$build" && cpack -G $kind); done
}
make_system() {
  [ -x "$root/usr/bin/apt-get" ] || debootstrap --variant=minbase --include=ca-certificates bookworm "$root" ${DEBIAN_MIRROR:-}
  # Packages come from where this machine gets its own.
  cp -r /etc/apt/sources.list* "$root/etc/apt/"
}
copy_files() {
  rm -rf "$root/try" && mkdir -p "$root/try"
  cp "$build"/packages/*.deb "$build"/packages/*.tar.gz "$source_dir"/test/docs/Inputs/run_guide.py "$root/try/"
  "$build/bin/cleave" compile "$source_dir/docs/recorded/mlp.onnx" -o "$root/try/linked" --train --loss cross-entropy --dim batch=32 --mesh dp=2
  cat >"$root/try/data.py" <<'PYTHON'
import numpy
x = numpy.random.default_rng(0).random((512, 8)).astype("f4")
numpy.save("x.npy", x)
numpy.save("y.npy", x[:, :4].argmax(1))
PYTHON
  cat >"$root/try/compile.sh" <<'TRY'
set -eux
cleave --version
prefix=$(dirname "$(dirname "$(readlink -f "$(command -v cleave)")")")
export CLEAVE_SOURCE=$prefix/share/cleave
cleave compile $CLEAVE_SOURCE/docs/recorded/mlp.onnx -o mlp --train --loss cross-entropy --optimizer adamw --dim batch=32 --mesh dp=2
cleave verify mlp
rm -rf ckpt
./mlp train --data input=x.npy --data labels=y.npy --epochs 20 --lr 1e-2 --save ckpt
mpirun --allow-run-as-root --oversubscribe -n 2 ./mlp evaluate --data input=x.npy --data labels=y.npy --weights ckpt
cleave export ckpt --model $CLEAVE_SOURCE/docs/recorded/mlp.onnx -o trained.onnx --outputs logits
cleave compile trained.onnx -o infer --dim batch=32
./infer infer --input input=x.npy --output logits=logits.npy
python3 -c "import numpy as n; hits = (n.load('logits.npy').argmax(1) == n.load('y.npy')).mean(); print(hits); assert hits > 0.5"
python3 run_guide.py $prefix/share/doc/cleave/linking.md /try/linking $CLEAVE_SOURCE $prefix/lib/python3/dist-packages
TRY
}

# In the new system, which has /proc as every system does: the loader finds moved libraries by it. It is gone with the command.
run() {
  unshare --mount bash -ec 'mount -t proc proc "$1/proc"; exec chroot "$1" env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 bash -ec "cd /try; $2"' - "$root" "$1"
}
install="apt-get install -y --no-install-recommends"

step packages make_packages
step debian make_system
step files copy_files
step runtime-install run "apt-get purge -y 'cleave-*' || true; apt-get update; $install python3-numpy openmpi-bin ./cleave-runtime*.deb"
step runtime run "test ! -e /usr/bin/cleave; python3 data.py; train='./linked train --data input=x.npy --data labels=y.npy --epochs 1'
                  \$train; mpirun --allow-run-as-root --oversubscribe -n 2 \$train"
step compiler-install run "$install pkg-config cmake make ./cleave-compiler*.deb"
step compiler run "bash compile.sh; zcat -f /usr/share/man/man1/cleave.1* | grep -q CLEAVE"
# What the packages depend on stays.
step unpack run "apt-get purge -y cleave-runtime cleave-compiler; test ! -e /usr/bin/cleave
                 rm -rf /opt/moved && mkdir /opt/moved && tar xzf cleave-*.tar.gz -C /opt/moved --strip-components=1"
step tarball run "export PATH=/opt/moved/bin:\$PATH CMAKE_PREFIX_PATH=/opt/moved PKG_CONFIG_PATH=/opt/moved/lib/pkgconfig; bash compile.sh"
echo "installed and tried: $(cd "$build/packages" && ls *.deb *.tar.gz | xargs)"
