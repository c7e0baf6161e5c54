// SPDX-License-Identifier: Apache-2.0
// The CUDA kernels of one op: OP_CU is their file.
// clang-format off: the first file takes the place of one that the second uses.
#include "tests/cuda/emulator/cluster.cuh"
#include OP_CU
