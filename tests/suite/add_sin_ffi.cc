// SPDX-License-Identifier: Apache-2.0
// A residual that callers see, (),()->(),(): s = a + b, y = sin(s). The
// backward pass has s instead of the operands: da = db = dy cos(s) + ds.
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

// Both gradients have all loop dimensions: what is not kept nobody shares here.
HandlerResult Backward(CpuContext, int64_t batch_rank, Buffer s, Buffer dy,
                       Buffer ds, Result da, Result db) {
  Checks checks;
  checks.Operand("s", s, ffi::F32, {});
  checks.Operand("dy", dy, ffi::F32, {});
  checks.Operand("ds", ds, ffi::F32, {});
  checks.BatchRank(batch_rank);
  const RowMap s_map = checks.Map("s", s, 0);
  const RowMap dy_map = checks.Map("dy", dy, 0);
  const RowMap ds_map = checks.Map("ds", ds, 0);
  checks.Result("da", *da, ffi::F32, {});
  checks.Result("db", *db, ffi::F32, {});
  if (!checks.ok()) return checks.error();
  for (int64_t i = 0; i < Product(checks.loops()); ++i) {
    const float sum = Data<float>(s)[s_map(i)];
    const float gradient =
        Data<float>(dy)[dy_map(i)] * std::cos(sum) + Data<float>(ds)[ds_map(i)];
    Data<float>(*da)[i] = Data<float>(*db)[i] = gradient;
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
