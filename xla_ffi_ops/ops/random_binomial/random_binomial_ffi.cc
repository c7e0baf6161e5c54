// SPDX-License-Identifier: Apache-2.0
// The handler of random_binomial, (2),(n),(n)->(n).
#include <cstdint>

#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/ops/random_binomial/random_binomial.h"
#include "xla_ffi_ops/random/array_calls.h"

namespace xla_ffi_ops {
namespace {

using Buffer = ffi::AnyBuffer;

// A draw takes as long as to move so many bytes: some 10 blocks of Threefry in
// a lane, and logarithms.
constexpr int64_t kBytesPerDraw = 256;

HandlerResult BinomialHandler(CpuContext device, Buffer key, Buffer n, Buffer p,
                              ffi::Result<Buffer> sample, bool partitionable) {
  Dim two = 2, count = kUnknownDim;
  Checks checks;
  checks.Operand("key", key, ffi::U32, {&two});
  checks.Operand("n", n, ffi::F32, {&count});
  checks.Operand("p", p, ffi::F32, {&count});
  checks.Result("sample", *sample, ffi::F32, {&count});
  const BinomialDraws call{
      {Data<const uint32_t>(key), 2, checks.Map("key", key, 1)},
      {Data<const float>(n), count, checks.Map("n", n, 1)},
      {Data<const float>(p), count, checks.Map("p", p, 1)},
      count,
      Data<float>(*sample),
      partitionable};
  if (!checks.ok()) return checks.error();
  return random::DrawArrays(device, BinomialKernel(call),
                            Product(checks.loops()), count, kBytesPerDraw);
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_random_binomial_fwd, BinomialHandler,
                           .Arg<Buffer>()      // key
                               .Arg<Buffer>()  // n
                               .Arg<Buffer>()  // p
                               .Ret<Buffer>()  // sample
                               .Attr<bool>("partitionable"));

}  // namespace xla_ffi_ops
