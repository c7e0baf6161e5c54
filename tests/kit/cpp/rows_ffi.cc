// SPDX-License-Identifier: Apache-2.0
// checks.h, rows.h and sum_rows.h for rows_test.py: generalized ufuncs with
// results that are exact in int64.
#include <cstdint>

#include "xla_ffi_ops/ffi.h"

namespace xla_ffi_ops {
namespace {

using Buffer = ffi::AnyBuffer;
using Result = ffi::Result<ffi::AnyBuffer>;
using IntRows = Rows<const int64_t>;

// (m),(n),()->(m,n): y[i, j] = a[i] * b[j] + c.
template <typename Device>
HandlerResult Outer(Device device, Buffer a, Buffer b, Buffer c, Result y) {
  Dim m = kUnknownDim;
  Dim n = kUnknownDim;
  Checks checks;
  checks.Operand("a", a, ffi::S64, {&m});
  checks.Operand("b", b, ffi::S64, {&n});
  checks.Operand("c", c, ffi::S64, {});
  const IntRows a_rows{Data<const int64_t>(a), m, checks.Map("a", a, 1)};
  const IntRows b_rows{Data<const int64_t>(b), n, checks.Map("b", b, 1)};
  const IntRows c_rows{Data<const int64_t>(c), 1, checks.Map("c", c, 0)};
  checks.Result("y", *y, ffi::S64, {&m, &n});
  if (!checks.ok()) return checks.error();
  return ForRows(device, Product(checks.loops()), 100'000,
                 [=, y = Data<int64_t>(*y)](auto, int64_t begin, int64_t end) {
                   for (int64_t row = begin; row < end; ++row) {
                     int64_t* y_row = y + row * m * n;
                     for (int64_t k = 0; k < m * n; ++k) {
                       y_row[k] = a_rows[row][k / n] * b_rows[row][k % n] +
                                  *c_rows[row];
                     }
                   }
                 });
}

// (n),(n)->(n): the sum of x * w over the loop dimensions that w lacks, if it
// has just the first `batch_rank`.
template <typename Device>
HandlerResult Sum(Device device, int64_t batch_rank, Buffer x, Buffer w,
                  Result y) {
  Dim n = kUnknownDim;
  Checks checks;
  checks.Operand("x", x, ffi::S64, {&n});
  const int64_t loop_rank = checks.loops().size();
  if (batch_rank < 0 || batch_rank > loop_rank) {
    checks.Fail("batch_rank", "be a number of loops", "another");
  }
  if (!checks.ok()) return checks.error();
  const bool shared = checks.SharedOperand("w", w, ffi::S64, {&n}, batch_rank);
  const IntRows x_rows{Data<const int64_t>(x), n, checks.Map("x", x, 1)};
  const IntRows w_rows{Data<const int64_t>(w), n, checks.Map("w", w, 1)};
  const int64_t y_rank = shared ? batch_rank : loop_rank;
  checks.Result("y", *y, ffi::S64, {&n}, y_rank);
  if (!checks.ok()) return checks.error();
  const Shape loops = checks.loops();
  return SumRows<int64_t>(device, Product(loops.first(y_rank)),
                          Product(loops.last(loop_rank - y_rank)), n, 40'000,
                          Data<int64_t>(*y),
                          [=](auto, int64_t begin, int64_t end, int64_t* sum) {
                            for (int64_t j = 0; j < n; ++j) {
                              sum[j] = 0;
                              for (int64_t row = begin; row < end; ++row) {
                                sum[j] += x_rows[row][j] * w_rows[row][j];
                              }
                            }
                          });
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(kit_test_outer, Outer,
                           .Arg<Buffer>()        // a
                               .Arg<Buffer>()    // b
                               .Arg<Buffer>()    // c
                               .Ret<Buffer>());  // y

XLA_FFI_OPS_DEFINE_HANDLER(kit_test_sum, Sum,
                           .Attr<int64_t>("batch_rank")
                               .Arg<Buffer>()    // x
                               .Arg<Buffer>()    // w
                               .Ret<Buffer>());  // y

}  // namespace xla_ffi_ops
