#!/usr/bin/env bash
# CUDA's compiler: of an installed toolkit, or the one that `tools/setup.sh` has installed. Prints nothing where there is none.
case "${1:-}" in -h | --help) exec awk 'NR > 1 && !/^#/ { exit } NR > 1 { sub(/^# ?/, ""); print }' "$0" ;; esac
CDPATH= cd -- "$(dirname -- "$0")/../.."
for nvcc in "${CUDA_PATH:+$CUDA_PATH/bin/nvcc}" "${CUDA_HOME:+$CUDA_HOME/bin/nvcc}" "$(command -v nvcc)" /usr/local/cuda/bin/nvcc \
  "$PWD"/.venv-cuda/lib/python3*/site-packages/nvidia/cu13/bin/nvcc; do
  if [ -x "$nvcc" ]; then
    echo "$nvcc"
    exit 0
  fi
done
