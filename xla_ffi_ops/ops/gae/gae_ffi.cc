// SPDX-License-Identifier: Apache-2.0
// The handler of gae, (n,*),(n,*),(n+1,*),(*)->(n,*).
#include <cstdint>

#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/scans/recurrences/recurrence_threads.h"

namespace xla_ffi_ops {
namespace {

using Buffer = ffi::AnyBuffer;
using GaeDTypes = DTypes<ffi::F32, ffi::F64>;

template <typename Device>
HandlerResult GaeHandler(Device device, int64_t trailing_rank, Buffer rewards,
                         Buffer discounts, Buffer values, Buffer lambda,
                         ffi::Result<Buffer> advantages) {
  Dim n = kUnknownDim;
  const auto dtype = rewards.element_type();
  Checks checks;
  checks.TrailingRank(trailing_rank);
  checks.Operand("rewards", rewards, GaeDTypes(), {&n});
  checks.Operand("discounts", discounts, dtype, {&n});
  Dim steps = n + 1;
  checks.Operand("values", values, dtype, {&steps});
  checks.Operand("lambda_", lambda, dtype, {});
  checks.Result("advantages", *advantages, dtype, {&n});
  if (!checks.ok()) return checks.error();

  return Dispatch(GaeDTypes(), dtype, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    const auto operand = [&](const char* name, const Buffer& buffer, Dim size,
                             int64_t core_rank) -> RecurrenceOperand<T> {
      return {Data<const T>(buffer), size,
              checks.TrailingSize(buffer, core_rank),
              checks.Map(name, buffer, core_rank),
              checks.TrailingMap(name, buffer, core_rank)};
    };
    const Advantages<T> call{
        {n, Product(checks.trailing()), /*reverse=*/true, /*shifted=*/false,
         operand("discounts", discounts, n, 1),
         operand("rewards", rewards, n, 1),
         /*h0=*/{}, Data<T>(*advantages)},
        operand("values", values, steps, 1),
        operand("lambda_", lambda, 1, 0)};
    if (!checks.ok()) return HandlerResult(checks.error());
    return SplitRecurrence(device, call, Product(checks.loops()));
  });
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_gae_fwd, GaeHandler,
                           .Attr<int64_t>("trailing_rank")
                               .Arg<Buffer>()    // rewards
                               .Arg<Buffer>()    // discounts
                               .Arg<Buffer>()    // values
                               .Arg<Buffer>()    // lambda_
                               .Ret<Buffer>());  // advantages

}  // namespace xla_ffi_ops
