// SPDX-License-Identifier: Apache-2.0
// The handler of random_poisson, (2),(n)->(n).
#include <cstdint>

#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/ops/random_poisson/random_poisson.h"
#include "xla_ffi_ops/random/array_calls.h"

namespace xla_ffi_ops {
namespace {

using Buffer = ffi::AnyBuffer;

// A draw takes as long as to move so many bytes: some 10 blocks of Threefry in
// a lane, and logarithms.
constexpr int64_t kBytesPerDraw = 256;

HandlerResult PoissonHandler(CpuContext device, Buffer key, Buffer lam,
                             ffi::Result<Buffer> count, bool wide,
                             bool partitionable, bool lanczos) {
  Dim two = 2, n = kUnknownDim;
  Checks checks;
  checks.Operand("key", key, ffi::U32, {&two});
  checks.Operand("lam", lam, ffi::F32, {&n});
  checks.Result("count", *count, wide ? ffi::S64 : ffi::S32, {&n});
  const PoissonDraws call{
      {Data<const uint32_t>(key), 2, checks.Map("key", key, 1)},
      {Data<const float>(lam), n, checks.Map("lam", lam, 1)},
      n,
      count->untyped_data(),
      wide,
      partitionable,
      lanczos};
  if (!checks.ok()) return checks.error();
  return random::DrawArrays(device, PoissonKernel(call),
                            Product(checks.loops()), n, kBytesPerDraw);
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_random_poisson_fwd, PoissonHandler,
                           .Arg<Buffer>()      // key
                               .Arg<Buffer>()  // lam
                               .Ret<Buffer>()  // count
                               .Attr<bool>("wide")
                               .Attr<bool>("partitionable")
                               .Attr<bool>("lanczos"));

}  // namespace xla_ffi_ops
