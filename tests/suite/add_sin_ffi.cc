// SPDX-License-Identifier: Apache-2.0
// A residual that callers see, (),()->(),(): s = a + b, y = sin(s). The backward
// pass has s instead of the operands: da = db = dy cos(s) + ds.
#include <cmath>
#include <cstdint>

#include "xla_ffi_ops/ffi.h"

namespace xla_ffi_ops {
namespace {

using Buffer = ffi::AnyBuffer;
using Result = ffi::Result<ffi::AnyBuffer>;

HandlerResult Forward(CpuContext, Buffer a, Buffer b, Result y, Result s) {
  Checks checks;
  checks.Operand("a", a, ffi::F32, {});
  checks.Operand("b", b, ffi::F32, {});
  const RowMap a_map = checks.Map("a", a, 0);
  const RowMap b_map = checks.Map("b", b, 0);
  checks.Result("y", *y, ffi::F32, {});
  checks.Result("s", *s, ffi::F32, {});
  if (!checks.ok()) return checks.error();
  for (int64_t i = 0; i < Product(checks.loops()); ++i) {
    const float sum = Data<float>(a)[a_map(i)] + Data<float>(b)[b_map(i)];
    Data<float>(*s)[i] = sum;
    Data<float>(*y)[i] = std::sin(sum);
  }
  return ffi::Error::Success();
}

// Rows may share a, b or both; the cotangent is a sum over rows then.
HandlerResult Backward(CpuContext, int64_t batch_rank, Buffer s, Buffer dy, Buffer ds,
                Result da, Result db) {
  Checks checks;
  checks.Operand("s", s, ffi::F32, {});
  checks.Operand("dy", dy, ffi::F32, {});
  checks.Operand("ds", ds, ffi::F32, {});
  const RowMap s_map = checks.Map("s", s, 0);
  const RowMap dy_map = checks.Map("dy", dy, 0);
  const RowMap ds_map = checks.Map("ds", ds, 0);
  const int64_t rank = checks.loops().size();
  for (Result result : {da, db}) {
    const bool shared =
        static_cast<int64_t>(result->dimensions().size()) < rank;
    checks.Result("da and db", *result, ffi::F32, {},
                  shared ? batch_rank : rank);
    if (!checks.ok()) return checks.error();
    const int64_t group =
        shared ? Product(checks.loops().last(rank - batch_rank)) : 1;
    float* out = Data<float>(*result);
    for (size_t i = 0; i < result->element_count(); ++i) out[i] = 0;
    for (int64_t i = 0; i < Product(checks.loops()); ++i) {
      out[i / group] +=
          Data<float>(dy)[dy_map(i)] * std::cos(Data<float>(s)[s_map(i)]) +
          Data<float>(ds)[ds_map(i)];
    }
  }
  return ffi::Error::Success();
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(test_add_sin_fwd, Forward,
                           .Arg<Buffer>()        // a
                               .Arg<Buffer>()    // b
                               .Ret<Buffer>()    // y
                               .Ret<Buffer>());  // s

XLA_FFI_OPS_DEFINE_HANDLER(test_add_sin_bwd, Backward,
                           .Attr<int64_t>("batch_rank")
                               .Arg<Buffer>()    // s
                               .Arg<Buffer>()    // dy
                               .Arg<Buffer>()    // ds
                               .Ret<Buffer>()    // da
                               .Ret<Buffer>());  // db

// The same for an op without a backward handler.
XLA_FFI_OPS_DEFINE_HANDLER(test_add_sin_by_rule_fwd, Forward,
                           .Arg<Buffer>()        // a
                               .Arg<Buffer>()    // b
                               .Ret<Buffer>()    // y
                               .Ret<Buffer>());  // s

}  // namespace xla_ffi_ops
