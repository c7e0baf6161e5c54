// SPDX-License-Identifier: Apache-2.0
// clang-format off: the second file's handlers are what the first makes them.
#include "tests/cuda/emulator/handlers.h"
#include "xla_ffi_ops/ops/rms_norm/rms_norm_ffi.cc"
