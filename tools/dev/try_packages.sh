#!/usr/bin/env bash
# tools/dev/try_packages.sh BUILD WORK: makes the packages of a build tree, and tries them in a bare Debian 12 below WORK: the .deb files as apt
# installs them, then the tarball, unpacked at another place. Part of the full run; needs root and debootstrap;
# DEBIAN_MIRROR is the mirror that debootstrap takes, where not its usual one.
set -euo pipefail
source_dir=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "${1:?usage: tools/dev/try_packages.sh BUILD WORK}" && pwd)
work=$(mkdir -p "${2:?usage: tools/dev/try_packages.sh BUILD WORK}" && cd "$2" && pwd)
root=$work/root

cmake --build "$build" --target cleave cleave-opt cleave_main cleave_comm_mpi
rm -rf "$build/packages"
for kind in DEB TGZ; do (cd "$build" && cpack -G $kind >"$work/cpack-$kind.log"); done

[ -x "$root/usr/bin/apt-get" ] || debootstrap --variant=minbase --include=ca-certificates bookworm "$root" ${DEBIAN_MIRROR:-} >"$work/debootstrap.log"
# Packages come from where this machine gets its own.
cp -r /etc/apt/sources.list* "$root/etc/apt/"
mkdir -p "$root/try"
cp "$build"/packages/*.deb "$build"/packages/*.tar.gz "$source_dir"/docs/recorded/mlp.onnx "$root/try/"

# What a newcomer does, with the commands on the path and Python's package where Debian looks for it.
cat >"$root/try/try.sh" <<'TRY'
set -eux
python3 -c "import numpy as n; x = n.random.default_rng(0).random((512, 8)).astype('f4'); n.save('x.npy', x); n.save('y.npy', x[:, :4].argmax(1))"
cleave --version
cleave compile mlp.onnx -o mlp --train --loss cross-entropy --optimizer adamw --dim batch=32 --mesh dp=2
cleave verify mlp
./mlp train --data input=x.npy --data labels=y.npy --epochs 2 --lr 1e-2 --save ckpt
cleave export ckpt --model mlp.onnx -o trained.onnx
cleave compile trained.onnx -o libmlp.so --emit shared --dim batch=4
python3 -c "import cleave, numpy; print(cleave.Model('libmlp.so').infer(input=numpy.ones((4, 8)))['logits'].shape)"
rm -rf ckpt
TRY
run() { chroot "$root" env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 bash -c "cd /try && $1"; }
run "apt-get update -qq && apt-get install -y -qq --no-install-recommends python3-numpy ./cleave-runtime*.deb ./cleave-compiler*.deb >apt.log"
run "bash try.sh"
# The same from the tarball: the packages go, what they depend on stays.
run "apt-get purge -y -qq cleave-runtime cleave-compiler >>apt.log && rm -rf /opt/moved && mkdir /opt/moved && tar xzf cleave-*.tar.gz -C /opt/moved --strip-components=1"
run "export PATH=/opt/moved/bin:\$PATH PYTHONPATH=/opt/moved/lib/python3/dist-packages && bash try.sh"
echo "packages tried: $(cd "$build/packages" && ls *.deb *.tar.gz | xargs)"
