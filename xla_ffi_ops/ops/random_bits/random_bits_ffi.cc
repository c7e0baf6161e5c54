// SPDX-License-Identifier: Apache-2.0
// The handlers of random_bits, (2),(2)->(n), and random_keys, (2),(2)->(n,2).
#include <cstdint>
#include <limits>
#include <string>

#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/ops/random_bits/random_bits.h"

namespace xla_ffi_ops {
namespace {

using Buffer = ffi::AnyBuffer;
using Unsigned = DTypes<ffi::U8, ffi::U16, ffi::U32, ffi::U64>;
using Wide = DTypes<ffi::U32, ffi::U64>;

// A block takes as long as to move so many bytes.
constexpr int64_t kBytesPerBlock = 32;

template <BlockForm form, typename T>
HandlerResult Run(const CpuContext& device, Checks* checks, Buffer key,
                  Buffer start, const Buffer& numbers, int64_t n) {
  constexpr bool in_halves = form == BlockForm::kHalves && sizeof(T) < 8;
  const BitDraws<T> call{
      {Data<const uint32_t>(key), 2, checks->Map("key", key, 1)},
      {Data<const uint32_t>(start), 2, checks->Map("start", start, 1)},
      n,
      Data<T>(numbers),
      in_halves ? (n + 1) / 2 : n};
  if (!checks->ok()) return checks->error();
  const int64_t blocks = Product(checks->loops()) * call.blocks_of_row;
  return ParallelFor(
      device.pool, blocks, Grain(kBytesPerBlock),
      [=](int64_t begin, int64_t end) { RunBits<form>(call, begin, end); });
}

// What both handlers take: a key, the count of the first block, and how many
// results each row has.
void CheckOperands(Checks* checks, const Buffer& key, const Buffer& start,
                   int64_t n) {
  Dim two = 2;
  checks->AtLeast("n", n, 0);
  checks->Operand("key", key, ffi::U32, {&two});
  checks->Operand("start", start, ffi::U32, {&two});
}

HandlerResult BitsHandler(CpuContext device, Buffer key, Buffer start,
                          ffi::Result<Buffer> numbers, int64_t n, int32_t width,
                          bool in_halves) {
  Checks checks;
  CheckOperands(&checks, key, start, n);
  const DTypeSet dtypes = in_halves ? DTypeSet(Wide()) : DTypeSet(Unsigned());
  checks.Result("numbers", *numbers, dtypes, {&n});
  if (BitWidth(numbers->element_type()) != width) {
    checks.Fail("numbers", "have the bits of the attribute width",
                Name(numbers->element_type()));
  }
  // The counts of halves have 32 bits.
  if (in_halves && n > std::numeric_limits<int32_t>::max()) {
    checks.Fail("numbers", "have at most 2^31 - 1 columns", std::to_string(n));
  }
  if (!checks.ok()) return checks.error();
  return Dispatch(Unsigned(), numbers->element_type(), [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    if constexpr (sizeof(T) >= 4) {
      if (in_halves) {
        return Run<BlockForm::kHalves, T>(device, &checks, key, start, *numbers,
                                          n);
      }
    }
    return Run<BlockForm::kNumbers, T>(device, &checks, key, start, *numbers,
                                       n);
  });
}

HandlerResult KeysHandler(CpuContext device, Buffer key, Buffer start,
                          ffi::Result<Buffer> keys, int64_t n) {
  Checks checks;
  CheckOperands(&checks, key, start, n);
  Dim two = 2;
  checks.Result("keys", *keys, ffi::U32, {&n, &two});
  if (!checks.ok()) return checks.error();
  return Run<BlockForm::kKeys, uint32_t>(device, &checks, key, start, *keys, n);
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_random_bits_fwd, BitsHandler,
                           .Arg<Buffer>()      // key
                               .Arg<Buffer>()  // start
                               .Ret<Buffer>()  // numbers
                               .Attr<int64_t>("n")
                               .Attr<int32_t>("width")
                               .Attr<bool>("in_halves"));
XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_random_keys_fwd, KeysHandler,
                           .Arg<Buffer>()      // key
                               .Arg<Buffer>()  // start
                               .Ret<Buffer>()  // keys
                               .Attr<int64_t>("n"));

}  // namespace xla_ffi_ops
