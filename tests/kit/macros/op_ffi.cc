// SPDX-License-Identifier: Apache-2.0
// The source of handlers.
#include "tests/kit/macros/dep.h"
#include "xla_ffi_ops/ffi.h"

namespace xla_ffi_ops {
namespace {

HandlerResult Nothing(CpuContext) { return ffi::Error::Success(); }

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(macros_op, Nothing, );

}  // namespace xla_ffi_ops
