// SPDX-License-Identifier: Apache-2.0
// A handler of a kernel that nobody defines.
#include "xla_ffi_ops/ffi.h"

namespace xla_ffi_ops {

void UndefinedKernel(const void* data);

template <typename Device>
HandlerResult Undefined(Device, ffi::AnyBuffer x) {
  UndefinedKernel(x.untyped_data());
  return ffi::Error::Success();
}

XLA_FFI_OPS_DEFINE_HANDLER(undefined, Undefined,
                           .Arg<ffi::AnyBuffer>());  // x

}  // namespace xla_ffi_ops
