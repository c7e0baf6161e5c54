// SPDX-License-Identifier: Apache-2.0
// A product of matrices whose columns are contiguous, as BLAS and LAPACK take
// them, (m,n),(n,k)->(m,k): c = a b, da = dc b^T, db = a^T dc.
#include <algorithm>
#include <cstdint>

#include "xla_ffi_ops/ffi.h"

namespace xla_ffi_ops {
namespace {

using Buffer = ffi::AnyBuffer;
using Result = ffi::Result<ffi::AnyBuffer>;

HandlerResult Forward(CpuContext, Buffer a, Buffer b, Result c) {
  Dim m = kUnknownDim, n = kUnknownDim, k = kUnknownDim;
  Checks checks;
  checks.Operand("a", a, ffi::F32, {&m, &n});
  checks.Operand("b", b, ffi::F32, {&n, &k});
  const RowMap a_map = checks.Map("a", a, 2);
  const RowMap b_map = checks.Map("b", b, 2);
  checks.Result("c", *c, ffi::F32, {&m, &k});
  if (!checks.ok()) return checks.error();

  const Rows<const float> as{Data<const float>(a), m * n, a_map};
  const Rows<const float> bs{Data<const float>(b), n * k, b_map};
  float* out = Data<float>(*c);
  for (int64_t row = 0; row < Product(checks.loops()); ++row) {
    for (int64_t column = 0; column < k; ++column) {
      for (int64_t i = 0; i < m; ++i) {
        float sum = 0;
        for (int64_t j = 0; j < n; ++j) {
          sum += as[row][i + j * m] * bs[row][j + column * n];
        }
        *out++ = sum;
      }
    }
  }
  return ffi::Error::Success();
}

HandlerResult Backward(CpuContext, int64_t batch_rank, Buffer a, Buffer b,
                       Buffer dc, Result da, Result db) {
  Dim m = kUnknownDim, n = kUnknownDim, k = kUnknownDim;
  Checks checks;
  checks.Operand("a", a, ffi::F32, {&m, &n});
  checks.BatchRank(batch_rank);
  const bool b_shared =
      checks.SharedOperand("b", b, ffi::F32, {&n, &k}, batch_rank);
  checks.Operand("dc", dc, ffi::F32, {&m, &k});
  const RowMap a_map = checks.Map("a", a, 2);
  const RowMap b_map = checks.Map("b", b, 2);
  const RowMap dc_map = checks.Map("dc", dc, 2);
  const int64_t rank = checks.loops().size();
  checks.Result("da", *da, ffi::F32, {&m, &n});
  checks.Result("db", *db, ffi::F32, {&n, &k}, b_shared ? batch_rank : rank);
  if (!checks.ok()) return checks.error();

  const Rows<const float> as{Data<const float>(a), m * n, a_map};
  const Rows<const float> bs{Data<const float>(b), n * k, b_map};
  const Rows<const float> dcs{Data<const float>(dc), m * k, dc_map};
  std::fill_n(Data<float>(*da), Product(da->dimensions()), 0.0f);
  std::fill_n(Data<float>(*db), Product(db->dimensions()), 0.0f);
  const int64_t rows = Product(checks.loops().last(rank - batch_rank));
  for (int64_t row = 0; row < Product(checks.loops()); ++row) {
    float* da_out = Data<float>(*da) + row * m * n;
    float* db_out = Data<float>(*db) + (b_shared ? row / rows : row) * n * k;
    for (int64_t column = 0; column < k; ++column) {
      for (int64_t j = 0; j < n; ++j) {
        for (int64_t i = 0; i < m; ++i) {
          const float dc_here = dcs[row][i + column * m];
          da_out[i + j * m] += dc_here * bs[row][j + column * n];
          db_out[j + column * n] += dc_here * as[row][i + j * m];
        }
      }
    }
  }
  return ffi::Error::Success();
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(test_matmul_fwd, Forward,
                           .Arg<Buffer>()        // a
                               .Arg<Buffer>()    // b
                               .Ret<Buffer>());  // c

XLA_FFI_OPS_DEFINE_HANDLER(test_matmul_bwd, Backward,
                           .Attr<int64_t>("batch_rank")
                               .Arg<Buffer>()    // a
                               .Arg<Buffer>()    // b
                               .Arg<Buffer>()    // dc
                               .Ret<Buffer>()    // da
                               .Ret<Buffer>());  // db

}  // namespace xla_ffi_ops
