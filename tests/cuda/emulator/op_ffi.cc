// SPDX-License-Identifier: Apache-2.0
// The handlers of one op: OP_FFI is their file.
// clang-format off: the second file's handlers are what the first makes them.
#include "tests/cuda/emulator/handlers.h"
#include OP_FFI
