// SPDX-License-Identifier: Apache-2.0
// A matrix times a vector, (m,n),(n)->(m): y = a x, da = dy x^T, dx = a^T dy.
#include <algorithm>
#include <cstdint>

#include "xla_ffi_ops/ffi.h"

namespace xla_ffi_ops {
namespace {

using Buffer = ffi::AnyBuffer;
using Result = ffi::Result<ffi::AnyBuffer>;

HandlerResult Forward(CpuContext, Buffer a, Buffer x, Result y) {
  Dim m = kUnknownDim, n = kUnknownDim;
  Checks checks;
  checks.Operand("a", a, ffi::F32, {&m, &n});
  checks.Operand("x", x, ffi::F32, {&n});
  const RowMap a_map = checks.Map("a", a, 2);
  const RowMap x_map = checks.Map("x", x, 1);
  checks.Result("y", *y, ffi::F32, {&m});
  if (!checks.ok()) return checks.error();

  const Rows<const float> a_rows{Data<const float>(a), m * n, a_map};
  const Rows<const float> x_rows{Data<const float>(x), n, x_map};
  float* out = Data<float>(*y);
  for (int64_t row = 0; row < Product(checks.loops()); ++row) {
    for (int64_t i = 0; i < m; ++i) {
      float sum = 0;
      for (int64_t j = 0; j < n; ++j) {
        sum += a_rows[row][i * n + j] * x_rows[row][j];
      }
      *out++ = sum;
    }
  }
  return ffi::Error::Success();
}

// An operand that rows share has the first `batch_rank` leading dimensions
// only, and its cotangent is the sum over the others, which are the rows.
HandlerResult Backward(CpuContext, int64_t batch_rank, Buffer a, Buffer x,
                       Buffer dy, Result da, Result dx) {
  Dim m = kUnknownDim, n = kUnknownDim;
  Checks checks;
  checks.Operand("dy", dy, ffi::F32, {&m});
  const bool a_shared =
      checks.SharedOperand("a", a, ffi::F32, {&m, &n}, batch_rank);
  const bool x_shared =
      checks.SharedOperand("x", x, ffi::F32, {&n}, batch_rank);
  const RowMap a_map = checks.Map("a", a, 2);
  const RowMap x_map = checks.Map("x", x, 1);
  const RowMap dy_map = checks.Map("dy", dy, 1);
  const int64_t rank = checks.loops().size();
  checks.Result("da", *da, ffi::F32, {&m, &n}, a_shared ? batch_rank : rank);
  checks.Result("dx", *dx, ffi::F32, {&n}, x_shared ? batch_rank : rank);
  if (!checks.ok()) return checks.error();

  const Rows<const float> a_rows{Data<const float>(a), m * n, a_map};
  const Rows<const float> x_rows{Data<const float>(x), n, x_map};
  const Rows<const float> dy_rows{Data<const float>(dy), m, dy_map};
  // Also where there are no rows: the sum of nothing is 0.
  std::fill_n(Data<float>(*da), Product(da->dimensions()), 0.0f);
  std::fill_n(Data<float>(*dx), Product(dx->dimensions()), 0.0f);
  const int64_t rows = Product(checks.loops().last(rank - batch_rank));
  for (int64_t row = 0; row < Product(checks.loops()); ++row) {
    float* da_out = Data<float>(*da) + (a_shared ? row / rows : row) * m * n;
    float* dx_out = Data<float>(*dx) + (x_shared ? row / rows : row) * n;
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        da_out[i * n + j] += dy_rows[row][i] * x_rows[row][j];
        dx_out[j] += dy_rows[row][i] * a_rows[row][i * n + j];
      }
    }
  }
  return ffi::Error::Success();
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(test_matvec_fwd, Forward,
                           .Arg<Buffer>()        // a
                               .Arg<Buffer>()    // x
                               .Ret<Buffer>());  // y

XLA_FFI_OPS_DEFINE_HANDLER(test_matvec_bwd, Backward,
                           .Attr<int64_t>("batch_rank")
                               .Arg<Buffer>()    // a
                               .Arg<Buffer>()    // x
                               .Arg<Buffer>()    // dy
                               .Ret<Buffer>()    // da
                               .Ret<Buffer>());  // dx

}  // namespace xla_ffi_ops
