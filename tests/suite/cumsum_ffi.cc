// SPDX-License-Identifier: Apache-2.0
// Running sums along any axis, (n,*)->(n,*), from either end.
#include <algorithm>
#include <cstdint>
#include <string>

#include "xla_ffi_ops/ffi.h"

namespace xla_ffi_ops {
namespace {

using DTypeList = DTypes<ffi::F32, ffi::F64>;

// So many columns at once that what was just written is still in the cache.
constexpr int64_t kColumns = 1024;

// Sums [n, cols] arrays along their first axis; `step` is 1 or -1.
template <typename T>
void SumColumns(int64_t n, int64_t cols, int64_t step, const T* x, T* y) {
  if (cols == 1) {
    T sum = 0;
    for (int64_t i = 0, at = step > 0 ? 0 : n - 1; i < n; ++i, at += step) {
      y[at] = sum += x[at];
    }
    return;
  }
  for (int64_t begin = 0; begin < cols; begin += kColumns) {
    const int64_t end = std::min(begin + kColumns, cols);
    int64_t row = step > 0 ? 0 : n - 1;
    for (int64_t j = begin; n > 0 && j < end; ++j) {
      y[row * cols + j] = x[row * cols + j];
    }
    for (int64_t i = 1; i < n; ++i) {
      const T* before = y + row * cols;
      row += step;
      for (int64_t j = begin; j < end; ++j) {
        y[row * cols + j] = before[j] + x[row * cols + j];
      }
    }
  }
}

HandlerResult CumSum(CpuContext, bool reverse, int64_t trailing_rank,
                     ffi::AnyBuffer x, ffi::Result<ffi::AnyBuffer> y) {
  const Shape shape = x.dimensions();
  const int64_t axis = static_cast<int64_t>(shape.size()) - 1 - trailing_rank;
  Checks checks;
  checks.Operand("x", x, DTypeList(), {});
  if (trailing_rank < 0 || axis < 0) {
    checks.Fail("trailing_rank", "leave an axis of x to sum along",
                std::to_string(trailing_rank));
  }
  checks.Result("y", *y, x.element_type(), {});
  if (!checks.ok()) return checks.error();

  const int64_t n = shape[axis];
  const int64_t cols = Product(shape.last(trailing_rank));
  return Dispatch(DTypeList(), x.element_type(), [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    for (int64_t row = 0; row < Product(shape.first(axis)); ++row) {
      SumColumns(n, cols, reverse ? -1 : 1, Data<const T>(x) + row * n * cols,
                 Data<T>(*y) + row * n * cols);
    }
    return ffi::Error::Success();
  });
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(test_cumsum_fwd, CumSum,
                           .Attr<bool>("reverse")
                               .Attr<int64_t>("trailing_rank")
                               .Arg<ffi::AnyBuffer>()    // x
                               .Ret<ffi::AnyBuffer>());  // y

}  // namespace xla_ffi_ops
