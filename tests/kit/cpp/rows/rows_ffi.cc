// SPDX-License-Identifier: Apache-2.0
// checks.h, row_map.h, parallel.h and sum_rows.h for rows_test.py: generalized
// ufuncs with results that are exact in int64.
#include <cstdint>

#include "xla_ffi_ops/ffi.h"

namespace xla_ffi_ops {
namespace {

using Buffer = ffi::AnyBuffer;
using Result = ffi::Result<ffi::AnyBuffer>;
using IntRows = Rows<const int64_t>;

// (m,*),(n,*),(*)->(m,n,*): y[i, j] = a[i] * b[j] + c.
template <typename Device>
HandlerResult Outer(Device device, int64_t trailing_rank, Buffer a, Buffer b,
                    Buffer c, Result y) {
  Dim m = kUnknownDim;
  Dim n = kUnknownDim;
  Checks checks;
  checks.TrailingRank(trailing_rank);
  checks.Operand("a", a, ffi::S64, {&m});
  checks.Operand("b", b, ffi::S64, {&n});
  checks.Operand("c", c, ffi::S64, {});
  const RowMap a_map = checks.Map("a", a, 1);
  const RowMap b_map = checks.Map("b", b, 1);
  const RowMap c_map = checks.Map("c", c, 0);
  const RowMap a_t = checks.TrailingMap("a", a, 1);
  const RowMap b_t = checks.TrailingMap("b", b, 1);
  const RowMap c_t = checks.TrailingMap("c", c, 0);
  checks.Result("y", *y, ffi::S64, {&m, &n});
  if (!checks.ok()) return checks.error();
  const int64_t a_size = checks.TrailingSize(a, 1);
  const int64_t b_size = checks.TrailingSize(b, 1);
  const int64_t c_size = checks.TrailingSize(c, 0);
  const IntRows a_rows{Data<const int64_t>(a), m * a_size, a_map};
  const IntRows b_rows{Data<const int64_t>(b), n * b_size, b_map};
  const IntRows c_rows{Data<const int64_t>(c), c_size, c_map};
  const int64_t size = Product(checks.trailing());
  return ForRows(device, Product(checks.loops()), 100'000,
                 [=, y = Data<int64_t>(*y)](auto, int64_t begin, int64_t end) {
                   for (int64_t row = begin; row < end; ++row) {
                     int64_t* y_row = y + row * m * n * size;
                     for (int64_t k = 0; k < m * n * size; ++k) {
                       const int64_t t = k % size;
                       const int64_t i = k / size / n, j = k / size % n;
                       y_row[k] = a_rows[row][i * a_size + a_t(t)] *
                                      b_rows[row][j * b_size + b_t(t)] +
                                  c_rows[row][c_t(t)];
                     }
                   }
                 });
}

// (n,*),(n,*)->(n,*): the sum of x * w over the loop dimensions that w lacks,
// if it has just the first `batch_rank` and no trailing ones.
template <typename Device>
HandlerResult Sum(Device device, int64_t batch_rank, int64_t trailing_rank,
                  Buffer x, Buffer w, Result y) {
  Dim n = kUnknownDim;
  Checks checks;
  checks.TrailingRank(trailing_rank);
  checks.Operand("x", x, ffi::S64, {&n});
  checks.BatchRank(batch_rank);
  const bool shared = checks.SharedOperand("w", w, ffi::S64, {&n}, batch_rank);
  const RowMap x_map = checks.Map("x", x, 1);
  const RowMap w_map = checks.Map("w", w, 1);
  const RowMap x_t = checks.TrailingMap("x", x, 1);
  const RowMap w_t = checks.TrailingMap("w", w, 1);
  if (shared) {
    checks.Result("y", *y, ffi::S64, {&n}, batch_rank);
  } else {
    checks.Result("y", *y, ffi::S64, {&n});
  }
  if (!checks.ok()) return checks.error();
  const int64_t x_size = checks.TrailingSize(x, 1);
  const int64_t w_size = checks.TrailingSize(w, 1);
  const IntRows x_rows{Data<const int64_t>(x), n * x_size, x_map};
  const IntRows w_rows{Data<const int64_t>(w), n * w_size, w_map};
  const Shape loops = checks.loops();
  const int64_t size = Product(checks.trailing());
  const auto sum = [=](int64_t begin, int64_t end, int64_t j, int64_t t) {
    int64_t sum = 0;
    for (int64_t row = begin; row < end; ++row) {
      sum +=
          x_rows[row][j * x_size + x_t(t)] * w_rows[row][j * w_size + w_t(t)];
    }
    return sum;
  };
  int64_t* const out = Data<int64_t>(*y);
  if (!shared) {
    return ForRows(
        device, Product(loops), 40'000, [=](auto, int64_t begin, int64_t end) {
          for (int64_t row = begin; row < end; ++row) {
            for (int64_t k = 0; k < n * size; ++k) {
              out[row * n * size + k] = sum(row, row + 1, k / size, k % size);
            }
          }
        });
  }
  return SumRows<int64_t>(device, Product(loops.first(batch_rank)),
                          Product(loops.last(loops.size() - batch_rank)), n,
                          40'000, out,
                          [=](auto, int64_t begin, int64_t end, int64_t* sums) {
                            for (int64_t j = 0; j < n; ++j) {
                              sums[j] = 0;
                              for (int64_t t = 0; t < size; ++t)
                                sums[j] += sum(begin, end, j, t);
                            }
                          });
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(kit_test_outer, Outer,
                           .Attr<int64_t>("trailing_rank")
                               .Arg<Buffer>()    // a
                               .Arg<Buffer>()    // b
                               .Arg<Buffer>()    // c
                               .Ret<Buffer>());  // y

XLA_FFI_OPS_DEFINE_HANDLER(kit_test_sum, Sum,
                           .Attr<int64_t>("batch_rank")
                               .Attr<int64_t>("trailing_rank")
                               .Arg<Buffer>()    // x
                               .Arg<Buffer>()    // w
                               .Ret<Buffer>());  // y

}  // namespace xla_ffi_ops
