// SPDX-License-Identifier: Apache-2.0
// The handler of random_gamma_grad, (),()->().
#include <cstdint>

#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/ops/random_gamma_grad/random_gamma_grad.h"

namespace xla_ffi_ops {
namespace {

using Buffer = ffi::AnyBuffer;
using RealTypes = DTypes<ffi::F32, ffi::F64>;

// A derivative takes as long as to move so many bytes: sums of some 20 terms.
constexpr int64_t kBytesPerSlope = 1024;

HandlerResult GradHandler(CpuContext device, Buffer alpha, Buffer sample,
                          ffi::Result<Buffer> slope) {
  Checks checks;
  checks.Operand("alpha", alpha, RealTypes(), {});
  checks.Operand("sample", sample, alpha.element_type(), {});
  checks.Result("slope", *slope, alpha.element_type(), {});
  if (!checks.ok()) return checks.error();
  return Dispatch(RealTypes(), alpha.element_type(), [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    const GammaGrads<T> call{
        {Data<const T>(alpha), 1, checks.Map("alpha", alpha, 0)},
        {Data<const T>(sample), 1, checks.Map("sample", sample, 0)},
        Data<T>(*slope)};
    if (!checks.ok()) return HandlerResult(checks.error());
    return ParallelFor(
        device.pool, Product(checks.loops()), Grain(kBytesPerSlope),
        [=](int64_t begin, int64_t end) { RunGammaGrads(call, begin, end); });
  });
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_random_gamma_grad_fwd, GradHandler,
                           .Arg<Buffer>()        // alpha
                               .Arg<Buffer>()    // sample
                               .Ret<Buffer>());  // slope

}  // namespace xla_ffi_ops
