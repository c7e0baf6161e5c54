// SPDX-License-Identifier: Apache-2.0
// The same with the kit: operands are not copied to a common shape, rows are
// split over threads, and errors name the op and the operand.
#include <cmath>
#include <cstdint>

#include "xla_ffi_ops/ffi.h"

namespace {

namespace ffi = xla::ffi;
using xla_ffi_ops::Checks;
using xla_ffi_ops::CpuContext;
using xla_ffi_ops::Data;
using xla_ffi_ops::HandlerResult;
using xla_ffi_ops::Product;
using xla_ffi_ops::RowMap;

using Buffer = ffi::AnyBuffer;
using Result = ffi::Result<ffi::AnyBuffer>;

HandlerResult Forward(CpuContext device, Buffer x, Buffer rate, Result y) {
  Checks checks;
  checks.Operand("x", x, ffi::F32, {});
  checks.Operand("rate", rate, ffi::F32, {});
  const RowMap x_at = checks.Map("x", x, 0);
  const RowMap rate_at = checks.Map("rate", rate, 0);
  checks.Result("y", *y, ffi::F32, {});
  if (!checks.ok()) return checks.error();
  return xla_ffi_ops::ForRows(
      device, Product(checks.loops()), 3 * sizeof(float),
      [=, x = Data<float>(x), rate = Data<float>(rate), y = Data<float>(*y)](
          auto, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          y[i] = std::exp(-rate[rate_at(i)] * x[x_at(i)]);
        }
        return ffi::Error::Success();
      });
}

// dx = -rate y dy and drate = -x y dy: `batch_rank` says nothing where no
// operand is shared by rows.
HandlerResult Backward(CpuContext device, int64_t batch_rank, Buffer x,
                       Buffer rate, Buffer y, Buffer dy, Result dx,
                       Result drate) {
  Checks checks;
  checks.Operand("x", x, ffi::F32, {});
  checks.Operand("rate", rate, ffi::F32, {});
  checks.Operand("y", y, ffi::F32, {});
  checks.Operand("dy", dy, ffi::F32, {});
  checks.BatchRank(batch_rank);
  const RowMap x_at = checks.Map("x", x, 0);
  const RowMap rate_at = checks.Map("rate", rate, 0);
  const RowMap y_at = checks.Map("y", y, 0);
  const RowMap dy_at = checks.Map("dy", dy, 0);
  checks.Result("dx", *dx, ffi::F32, {});
  checks.Result("drate", *drate, ffi::F32, {});
  if (!checks.ok()) return checks.error();
  return xla_ffi_ops::ForRows(
      device, Product(checks.loops()), 6 * sizeof(float),
      [=, x = Data<float>(x), rate = Data<float>(rate), y = Data<float>(y),
       dy = Data<float>(dy), dx = Data<float>(*dx),
       drate = Data<float>(*drate)](auto, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const float g = -y[y_at(i)] * dy[dy_at(i)];
          dx[i] = rate[rate_at(i)] * g;
          drate[i] = x[x_at(i)] * g;
        }
        return ffi::Error::Success();
      });
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(example_decay_4_fwd, Forward,
                           .Arg<Buffer>()        // x
                               .Arg<Buffer>()    // rate
                               .Ret<Buffer>());  // y

XLA_FFI_OPS_DEFINE_HANDLER(example_decay_5_fwd, Forward,
                           .Arg<Buffer>()        // x
                               .Arg<Buffer>()    // rate
                               .Ret<Buffer>());  // y

XLA_FFI_OPS_DEFINE_HANDLER(example_decay_5_bwd, Backward,
                           .Attr<int64_t>("batch_rank")
                               .Arg<Buffer>()    // x
                               .Arg<Buffer>()    // rate
                               .Arg<Buffer>()    // y
                               .Arg<Buffer>()    // dy
                               .Ret<Buffer>()    // dx
                               .Ret<Buffer>());  // drate
