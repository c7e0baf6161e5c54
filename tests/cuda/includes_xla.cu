// SPDX-License-Identifier: Apache-2.0
// Kernels see nothing of XLA.
#include "xla/ffi/api/ffi.h"
