#!/usr/bin/env bash
# Compiles every built-in kernel with nvcc for several generations of devices, none of which the
# machine needs. Warnings and register spills are errors:
#   tests/kernels/compile_all.sh [NVCC] [ARCHITECTURE...]
# NVCC defaults to the one on the PATH, the architectures to sm_80, sm_90a and sm_100.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

nvcc=${1:-nvcc}
shift || true
architectures=("$@")
[ ${#architectures[@]} -gt 0 ] || architectures=(sm_80 sm_90a sm_100)

image=$(mktemp -t deepbench-kernel.XXXXXX)
trap 'rm -f "$image"' EXIT
for source in src/cuda/kernels/*.cu tests/kernels/*.cu; do
  # Instances include the file of their templates, whose functions nothing uses without them.
  name=$(basename "$source" .cu)
  [ ! -e "tests/kernels/${name}_instances.cu" ] || continue
  for architecture in "${architectures[@]}"; do
    echo "$source for $architecture"
    "$nvcc" -std=c++17 -Isrc/cpp/deepbench -Isrc/cuda/kernels -Werror all-warnings \
      -Xptxas --warn-on-spills -c -o "$image" \
      "-gencode=arch=${architecture/sm_/compute_},code=$architecture" "$source"
  done
done
