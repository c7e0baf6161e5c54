// SPDX-License-Identifier: Apache-2.0
// What an FFI handler is written with. Only handlers (*_ffi.cc) include it;
// kernels see neither it nor XLA.
#ifndef XLA_FFI_OPS_FFI_H_
#define XLA_FFI_OPS_FFI_H_

#include "xla_ffi_ops/handler/call.h"             // IWYU pragma: export
#include "xla_ffi_ops/handler/checks.h"           // IWYU pragma: export
#include "xla_ffi_ops/handler/dtype.h"            // IWYU pragma: export
#include "xla_ffi_ops/handler/handler.h"          // IWYU pragma: export
#include "xla_ffi_ops/handler/state.h"            // IWYU pragma: export
#include "xla_ffi_ops/rows/calls/compute_rows.h"  // IWYU pragma: export
#include "xla_ffi_ops/rows/calls/sum_rows.h"      // IWYU pragma: export
#include "xla_ffi_ops/rows/workspace.h"           // IWYU pragma: export
#include "xla_ffi_ops/threads/handler_result.h"   // IWYU pragma: export
#include "xla_ffi_ops/threads/parallel.h"         // IWYU pragma: export
#include "xla_ffi_ops/vec/device.h"               // IWYU pragma: export
#include "xla_ffi_ops/vec/float16.h"              // IWYU pragma: export
#include "xla_ffi_ops/vec/row_map.h"              // IWYU pragma: export

#endif  // XLA_FFI_OPS_FFI_H_
