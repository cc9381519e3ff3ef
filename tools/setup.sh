#!/usr/bin/env bash
# Installs the Debian 12 packages that Cleave builds with; does nothing where they are installed already.
#   tools/setup.sh            what building and running needs
#   tools/setup.sh --tests    also the Python environment of the tests (.venv: test/requirements.txt, docs/requirements.txt)
#   tools/setup.sh --cuda     also what the tests' emulated device needs
# On a machine without CUDA, --tests and --cuda install its compiler from PyPI (.venv-cuda, 296 MB): it compiles the hand-written kernels
# of programs for GPUs.
case "${1:-}" in -h | --help) exec awk 'NR > 1 && !/^#/ { exit } NR > 1 { sub(/^# ?/, ""); print }' "$0" ;; esac
set -euo pipefail
CDPATH= cd -- "$(dirname -- "$0")/.."

build_packages=(
  build-essential cmake ninja-build ccache git ca-certificates
  libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools lld-22 zlib1g-dev
  protobuf-compiler libprotobuf-dev libonnx-dev
  libflatbuffers-dev flatbuffers-compiler libdnnl-dev libopenmpi-dev openmpi-bin
  libcli11-dev nlohmann-json3-dev
)
# clang-14 and its runtime are for libFuzzer, which g++ lacks; zsh, fish and groff read what cleave says about itself.
test_packages=(pkg-config libgtest-dev libgmock-dev libbenchmark-dev python3 python3-psutil python3-venv clang-14 libclang-rt-14-dev
  zsh fish groff-base)

cuda_packages=(libgtest-dev libgmock-dev python3 python3-venv)

packages=("${build_packages[@]}")
[ $# -le 1 ] || { echo "setup: expected --tests, --cuda or nothing; got: $*" >&2; exit 2; }
case "${1:-}" in
--tests) packages+=("${test_packages[@]}") ;;
--cuda) packages+=("${cuda_packages[@]}") ;;
"") ;;
*) echo "setup: expected --tests, --cuda or nothing; got: $1" >&2; exit 2 ;;
esac

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  if [ "$(id -u)" -ne 0 ]; then
    echo "setup: these packages are missing; install them as root:" >&2
    echo "  apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
  fi
  echo "== installing ${#missing[@]} Debian packages: ${missing[*]}"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

if [ "${1:-}" = "--tests" ]; then
  if ! .venv/bin/python -c 'import numpy, onnx, onnxruntime, mkdocs, material' 2>/dev/null; then
    echo "== making .venv with test/requirements.txt and docs/requirements.txt"
    python3 -m venv .venv
    .venv/bin/pip install -q --disable-pip-version-check -r test/requirements.txt -r docs/requirements.txt
  fi
fi

# An installed toolkit goes first; its version is the tests'.
if [ $# -eq 1 ] && [ -z "$(tools/dev/find_nvcc.sh)" ]; then
  echo "== making .venv-cuda with CUDA's compiler"
  python3 -m venv .venv-cuda
  .venv-cuda/bin/pip install -q --disable-pip-version-check "nvidia-cuda-nvcc==13.0.*" "nvidia-cuda-crt==13.0.*" "nvidia-nvvm==13.0.*" \
    "nvidia-cuda-runtime==13.0.*" "nvidia-cuda-cccl==13.0.*"
fi
