// SPDX-License-Identifier: Apache-2.0
// clang-format off: the first file takes the place of one that the second uses.
#include "tests/cuda/emulator/cluster.cuh"
#include "xla_ffi_ops/ops/rms_norm/rms_norm_forward.cu"
