// SPDX-License-Identifier: Apache-2.0
// Ops whose handlers have one fault each that only direct calls, or many rows,
// can show: (n),(n)?->(n),(), y = factor x w and total = sum(x); and one with
// trailing loops, (n,*)->(n,*), y[i] = i x[i].
#include <cstdint>
#include <cstdlib>
#include <string>

#include "xla_ffi_ops/ffi.h"

namespace xla_ffi_ops {
namespace {

using Buffer = ffi::AnyBuffer;
using Result = ffi::Result<ffi::AnyBuffer>;

enum Fault {
  kNone,
  kSkipsRangeStart,
  kDividesByColumns,
  kIgnoresAttribute,
  kWrongResidual,
  kIgnoresPresent,
  kUncheckedDimension,
  kAborts,
};

template <Fault fault>
HandlerResult Forward(CpuContext device, ffi::Dictionary attributes,
                      ffi::RemainingArgs operands, Result y, Result total) {
  // As XLA's own `typed_data<float>` does.
  if (fault == kAborts && y->element_type() != ffi::F32) std::abort();
  const auto present = attributes.get<int64_t>("present");
  const auto factor = attributes.get<float>("factor");
  Call call;
  if (!present.has_value()) call.Fail("present", "be an int64", "none");
  if (attributes.size() != 2) {
    call.Fail("attributes", "be 2", std::to_string(attributes.size()));
  }
  if (fault != kIgnoresAttribute && !factor.has_value()) {
    call.Fail("factor", "be a float32", "none");
  }
  if (!call.ok()) return call.error();
  const bool has_w =
      fault == kIgnoresPresent ? operands.size() == 2 : (*present & 2) != 0;
  Argument x("x");
  Weight w("w", has_w);
  if (fault != kIgnoresPresent) call.Present(*present, 1, 2);
  call.Operands(operands, {&x, &w});
  Dim n = kUnknownDim;
  Dim own = kUnknownDim;
  call.Operand(x, ffi::F32, {&n});
  call.Weights(x, {&w}, {fault == kUncheckedDimension ? &own : &n});
  call.Result("y", *y, ffi::F32, {&n});
  call.Result("total", *total, ffi::F32, {});
  if (!call.Done()) return call.error();

  volatile int64_t columns = 64;
  if (fault == kDividesByColumns) columns = columns / n;
  const float scale = fault == kIgnoresAttribute ? 2.0f : *factor;
  return ForRows(
      device, Product(call.loops()), 2 * n * sizeof(float),
      [=, x = x.rows<float>(), w = w.rows<float>(), y = Data<float>(*y),
       total = Data<float>(*total)](Cpu, int64_t begin, int64_t end) {
        const bool skips = fault == kSkipsRangeStart && begin > 0;
        for (int64_t row = begin + skips; row < end; ++row) {
          float sum = 0;
          for (int64_t j = 0; j < n; ++j) {
            const float factor = w.data ? scale * w[row][j] : scale;
            y[row * n + j] = x[row][j] * factor;
            sum += x[row][j];
          }
          total[row] = fault == kWrongResidual ? sum * 1.0001f : sum;
        }
      });
}

enum TrailingFault {
  kSound,
  kMixesUp,
  kManyColumns,
  kEightColumns,
  kColumnsOfVectors
};

// Whether a fault is one of element j of the core, in this column.
bool IsWrong(TrailingFault fault, int64_t n, int64_t j, int64_t columns,
             int64_t column) {
  switch (fault) {
    case kManyColumns:
      return column >= 64;
    case kEightColumns:
      return columns % 8 == 0 && column + 1 == columns;
    case kColumnsOfVectors:
      return columns > 1 && n % 32 == 0 && j + 1 == n;
    default:
      return false;
  }
}

template <TrailingFault fault>
HandlerResult Trailing(CpuContext, int64_t trailing_rank, Buffer x, Result y) {
  Dim n = kUnknownDim;
  Checks checks;
  checks.TrailingRank(trailing_rank);
  checks.Operand("x", x, ffi::F32, {&n});
  checks.Result("y", *y, ffi::F32, {&n});
  if (!checks.ok()) return checks.error();
  const int64_t columns = fault == kMixesUp ? 1 : Product(checks.trailing());
  for (int64_t i = 0; i < static_cast<int64_t>(x.element_count()); ++i) {
    const int64_t j = i / columns % n;
    const bool wrong = IsWrong(fault, n, j, columns, i % columns);
    Data<float>(*y)[i] = wrong ? -1 : Data<float>(x)[i] * j;
  }
  return ffi::Error::Success();
}

}  // namespace

#define DEFINE_OP(name, fault)                               \
  XLA_FFI_OPS_DEFINE_HANDLER(name##_fwd, Forward<fault>,     \
                             .Attrs()                        \
                                 .RemainingArgs() /* x, w */ \
                                 .Ret<Buffer>()   /* y */    \
                                 .Ret<Buffer>())  /* total */
DEFINE_OP(test_rows_sound, kNone);
DEFINE_OP(test_skips_range_start, kSkipsRangeStart);
DEFINE_OP(test_divides_by_columns, kDividesByColumns);
DEFINE_OP(test_ignores_attribute, kIgnoresAttribute);
DEFINE_OP(test_wrong_residual, kWrongResidual);
DEFINE_OP(test_ignores_present, kIgnoresPresent);
DEFINE_OP(test_unchecked_dimension, kUncheckedDimension);
DEFINE_OP(test_aborts, kAborts);

#define DEFINE_TRAILING_OP(name, fault)                      \
  XLA_FFI_OPS_DEFINE_HANDLER(name##_fwd, Trailing<fault>,    \
                             .Attr<int64_t>("trailing_rank") \
                                 .Arg<Buffer>()  /* x */     \
                                 .Ret<Buffer>()) /* y */
DEFINE_TRAILING_OP(test_trailing_sound, kSound);
DEFINE_TRAILING_OP(test_mixes_up_trailing, kMixesUp);
DEFINE_TRAILING_OP(test_many_columns, kManyColumns);
DEFINE_TRAILING_OP(test_eight_columns, kEightColumns);
DEFINE_TRAILING_OP(test_columns_of_vectors, kColumnsOfVectors);

}  // namespace xla_ffi_ops
