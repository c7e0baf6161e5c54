// SPDX-License-Identifier: Apache-2.0
// The handlers of affine_ffi.cc as they are for CUDA, with kernels on the CPU.
// clang-format off: the second file's handlers are what the first makes them.
#include "tests/cuda/emulator/handlers.h"
#include "tests/kit/cpp/rows/affine_ffi.cc"
