// SPDX-License-Identifier: Apache-2.0
// An elementwise op, (),()->(): z = log(exp(x) + exp(y)).
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "xla_ffi_ops/ffi.h"

namespace xla_ffi_ops {
namespace {

using DTypeList = DTypes<ffi::F32, ffi::F64>;

HandlerResult LogAddExp(CpuContext, ffi::AnyBuffer x, ffi::AnyBuffer y,
                        ffi::Result<ffi::AnyBuffer> z) {
  Checks checks;
  checks.Operand("x", x, DTypeList(), {});
  checks.Operand("y", y, x.element_type(), {});
  const RowMap x_map = checks.Map("x", x, 0);
  const RowMap y_map = checks.Map("y", y, 0);
  checks.Result("z", *z, x.element_type(), {});
  if (!checks.ok()) return checks.error();

  return Dispatch(DTypeList(), x.element_type(), [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    const T* x_data = Data<const T>(x);
    const T* y_data = Data<const T>(y);
    T* z_data = Data<T>(*z);
    const int64_t size = Product(checks.loops());
    for (int64_t i = 0; i < size; ++i) {
      const T a = x_data[x_map(i)];
      const T b = y_data[y_map(i)];
      z_data[i] = std::max(a, b) + std::log1p(std::exp(-std::abs(a - b)));
    }
    return ffi::Error::Success();
  });
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(test_logaddexp_fwd, LogAddExp,
                           .Arg<ffi::AnyBuffer>()        // x
                               .Arg<ffi::AnyBuffer>()    // y
                               .Ret<ffi::AnyBuffer>());  // z

}  // namespace xla_ffi_ops
