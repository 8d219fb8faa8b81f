#!/usr/bin/env bash
# Compiles every kernel of ours with nvcc, for generations of devices that the machine need not
# have; warnings are errors, and registers that spill:
#   tests/kernels/compile_all.sh [NVCC] [ARCHITECTURE...]
# NVCC is by default the one on the PATH; the architectures sm_80, sm_90a and sm_100.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

nvcc=${1:-nvcc}
shift || true
architectures=("$@")
[ ${#architectures[@]} -gt 0 ] || architectures=(sm_80 sm_90a sm_100)

image=$(mktemp -t deepbench-kernel.XXXXXX)
trap 'rm -f "$image"' EXIT
for source in src/cuda/kernels/*.cu tests/kernels/*.cu; do
  for architecture in "${architectures[@]}"; do
    echo "$source for $architecture"
    "$nvcc" -std=c++17 -Isrc/cpp/deepbench -Isrc/cuda/kernels -Werror all-warnings \
      -Xptxas --warn-on-spills -cubin -o "$image" \
      "-gencode=arch=${architecture/sm_/compute_},code=$architecture" "$source"
  done
done
