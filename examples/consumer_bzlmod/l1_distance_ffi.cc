// SPDX-License-Identifier: Apache-2.0
// The handler, for both devices: it checks buffers and calls the kernel.
#include "l1_distance.h"
#include "xla_ffi_ops/ffi.h"

namespace my_project {
namespace {

namespace ffi = xla::ffi;
using xla_ffi_ops::Data;

template <typename Device>
xla_ffi_ops::HandlerResult Handler(Device device, ffi::AnyBuffer a,
                                   ffi::AnyBuffer b,
                                   ffi::Result<ffi::AnyBuffer> y) {
  xla_ffi_ops::Dim n = xla_ffi_ops::kUnknownDim;
  xla_ffi_ops::Checks checks;
  checks.Operand("a", a, ffi::F32, {&n});
  checks.Operand("b", b, ffi::F32, {&n});
  // Rows may share an operand: a map says which of its rows belongs to each.
  const auto a_map = checks.Map("a", a, 1);
  const auto b_map = checks.Map("b", b, 1);
  checks.Result("y", *y, ffi::F32, {});
  if (!checks.ok()) return checks.error();
  return xla_ffi_ops::ForRows(
      device, xla_ffi_ops::Product(checks.loops()), 2 * sizeof(float) * n,
      [a = Rows{Data<const float>(a), n, a_map},
       b = Rows{Data<const float>(b), n, b_map},
       y = Data<float>(*y)](auto where, int64_t begin, int64_t end) {
        L1Distance(where, begin, end, a, b, y);
        return ffi::Error::Success();
      });
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(my_l1_distance_fwd, Handler,
                           .Arg<ffi::AnyBuffer>()        // a
                               .Arg<ffi::AnyBuffer>()    // b
                               .Ret<ffi::AnyBuffer>());  // y

}  // namespace my_project
