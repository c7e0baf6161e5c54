// SPDX-License-Identifier: Apache-2.0
// Results of two dtypes, (n)->(),(): the largest element and where it is.
#include <algorithm>
#include <cstdint>
#include <string>

#include "xla_ffi_ops/ffi.h"

namespace xla_ffi_ops {
namespace {

HandlerResult Max(CpuContext, ffi::AnyBuffer x,
                  ffi::Result<ffi::AnyBuffer> value,
                  ffi::Result<ffi::AnyBuffer> index) {
  Dim n = kUnknownDim;
  Checks checks;
  checks.Operand("x", x, FloatDTypes(), {&n});
  if (n < 1) checks.Fail("x", "have an element", "none");
  const RowMap map = checks.Map("x", x, 1);
  checks.Result("value", *value, x.element_type(), {});
  checks.Result("index", *index, ffi::S32, {});
  if (!checks.ok()) return checks.error();

  return Dispatch(FloatDTypes(), x.element_type(), [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    const Rows<const T> rows{Data<const T>(x), n, map};
    for (int64_t row = 0; row < Product(checks.loops()); ++row) {
      const T* begin = rows[row];
      const T* largest = std::max_element(begin, begin + n);
      Data<T>(*value)[row] = *largest;
      Data<int32_t>(*index)[row] = static_cast<int32_t>(largest - begin);
    }
    return ffi::Error::Success();
  });
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(test_max_fwd, Max,
                           .Arg<ffi::AnyBuffer>()        // x
                               .Ret<ffi::AnyBuffer>()    // value
                               .Ret<ffi::AnyBuffer>());  // index

}  // namespace xla_ffi_ops
