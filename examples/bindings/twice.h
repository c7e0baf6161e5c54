// SPDX-License-Identifier: Apache-2.0
// The handler's symbol, for whoever binds it.
#ifndef TWICE_H_
#define TWICE_H_

#include "xla/ffi/api/ffi.h"

XLA_FFI_DECLARE_HANDLER_SYMBOL(example_twice_cpu);

#endif  // TWICE_H_
