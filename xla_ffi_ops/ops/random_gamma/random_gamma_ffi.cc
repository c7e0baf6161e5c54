// SPDX-License-Identifier: Apache-2.0
// The handler of random_gamma, (2),()->().
#include <cstdint>

#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/ops/random_gamma/random_gamma.h"

namespace xla_ffi_ops {
namespace {

using Buffer = ffi::AnyBuffer;

// A draw takes as long as to move so many bytes: some 40 blocks of Threefry in
// a lane, and logarithms.
constexpr int64_t kBytesPerDraw = 512;

HandlerResult GammaHandler(CpuContext device, Buffer key, Buffer alpha,
                           ffi::Result<Buffer> sample, bool log_space,
                           bool partitionable) {
  Dim two = 2;
  Checks checks;
  checks.Operand("key", key, ffi::U32, {&two});
  checks.Operand("alpha", alpha, ffi::F32, {});
  checks.Result("sample", *sample, ffi::F32, {});
  const GammaDraws call{
      {Data<const uint32_t>(key), 2, checks.Map("key", key, 1)},
      {Data<const float>(alpha), 1, checks.Map("alpha", alpha, 0)},
      Data<float>(*sample),
      log_space,
      partitionable};
  if (!checks.ok()) return checks.error();
  return ParallelFor(
      device.pool, Product(checks.loops()), Grain(kBytesPerDraw),
      [=](int64_t begin, int64_t end) { RunGamma(call, begin, end); });
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_random_gamma_fwd, GammaHandler,
                           .Arg<Buffer>()      // key
                               .Arg<Buffer>()  // alpha
                               .Ret<Buffer>()  // sample
                               .Attr<bool>("log_space")
                               .Attr<bool>("partitionable"));

}  // namespace xla_ffi_ops
