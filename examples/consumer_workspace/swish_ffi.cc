// SPDX-License-Identifier: Apache-2.0
// The handler, for both devices: it checks buffers and calls the kernel.
#include "swish.h"
#include "xla_ffi_ops/ffi.h"

namespace my_project {
namespace {

namespace ffi = xla::ffi;

template <typename Device>
xla_ffi_ops::HandlerResult Handler(Device device, ffi::AnyBuffer x,
                                   ffi::Result<ffi::AnyBuffer> y) {
  xla_ffi_ops::Checks checks;
  checks.Operand("x", x, ffi::F32, {});
  checks.Result("y", *y, ffi::F32, {});
  if (!checks.ok()) return checks.error();
  return xla_ffi_ops::ForRows(
      device, xla_ffi_ops::Product(checks.loops()), 2 * sizeof(float),
      [x = xla_ffi_ops::Data<const float>(x), y = xla_ffi_ops::Data<float>(*y)](
          auto where, int64_t begin, int64_t end) {
        Swish(where, begin, end, x, y);
        return ffi::Error::Success();
      });
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(my_swish_fwd, Handler,
                           .Arg<ffi::AnyBuffer>()        // x
                               .Ret<ffi::AnyBuffer>());  // y

}  // namespace my_project
