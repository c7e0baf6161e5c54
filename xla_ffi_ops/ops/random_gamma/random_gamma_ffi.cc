// SPDX-License-Identifier: Apache-2.0
// The handler of random_gamma, (2),()->().
#include <cstdint>

#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/ops/random_gamma/random_gamma.h"

namespace xla_ffi_ops {
namespace {

using Buffer = ffi::AnyBuffer;
using RealTypes = DTypes<ffi::F32, ffi::F64>;

// A draw takes as long as to move so many bytes: some 40 blocks of Threefry in
// a lane, and logarithms.
constexpr int64_t kBytesPerDraw = 512;

HandlerResult GammaHandler(CpuContext device, Buffer key, Buffer alpha,
                           ffi::Result<Buffer> sample, bool log_space,
                           bool partitionable, double log1p_from) {
  Dim two = 2;
  Checks checks;
  checks.Operand("key", key, ffi::U32, {&two});
  checks.Operand("alpha", alpha, RealTypes(), {});
  checks.Result("sample", *sample, alpha.element_type(), {});
  if (!checks.ok()) return checks.error();
  return Dispatch(RealTypes(), alpha.element_type(), [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    const GammaDraws<T> call{
        {Data<const uint32_t>(key), 2, checks.Map("key", key, 1)},
        {Data<const T>(alpha), 1, checks.Map("alpha", alpha, 0)},
        Data<T>(*sample),
        log_space,
        partitionable,
        log1p_from};
    if (!checks.ok()) return HandlerResult(checks.error());
    return ParallelFor(
        device.pool, Product(checks.loops()), Grain(kBytesPerDraw),
        [=](int64_t begin, int64_t end) { RunGamma(call, begin, end); });
  });
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_random_gamma_fwd, GammaHandler,
                           .Arg<Buffer>()      // key
                               .Arg<Buffer>()  // alpha
                               .Ret<Buffer>()  // sample
                               .Attr<bool>("log_space")
                               .Attr<bool>("partitionable")
                               .Attr<double>("log1p_from"));

}  // namespace xla_ffi_ops
