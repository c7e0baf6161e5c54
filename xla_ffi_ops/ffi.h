// SPDX-License-Identifier: Apache-2.0
// What an FFI handler is written with: all of the kit. Only handlers (*_ffi.cc)
// include it; kernels see neither it nor XLA.
#ifndef XLA_FFI_OPS_FFI_H_
#define XLA_FFI_OPS_FFI_H_

#include "xla_ffi_ops/kit/call.h"            // IWYU pragma: export
#include "xla_ffi_ops/kit/checks.h"          // IWYU pragma: export
#include "xla_ffi_ops/kit/device.h"          // IWYU pragma: export
#include "xla_ffi_ops/kit/dtype.h"           // IWYU pragma: export
#include "xla_ffi_ops/kit/float16.h"         // IWYU pragma: export
#include "xla_ffi_ops/kit/gradients.h"       // IWYU pragma: export
#include "xla_ffi_ops/kit/handler.h"         // IWYU pragma: export
#include "xla_ffi_ops/kit/handler_result.h"  // IWYU pragma: export
#include "xla_ffi_ops/kit/parallel.h"        // IWYU pragma: export
#include "xla_ffi_ops/kit/rows.h"            // IWYU pragma: export
#include "xla_ffi_ops/kit/state.h"           // IWYU pragma: export
#include "xla_ffi_ops/kit/sum_rows.h"        // IWYU pragma: export
#include "xla_ffi_ops/kit/workspace.h"       // IWYU pragma: export

#endif  // XLA_FFI_OPS_FFI_H_
