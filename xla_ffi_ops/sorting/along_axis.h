// SPDX-License-Identifier: Apache-2.0
// What all handlers that sort along an axis have in common.
#ifndef XLA_FFI_OPS_SORTING_ALONG_AXIS_H_
#define XLA_FFI_OPS_SORTING_ALONG_AXIS_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include "xla_ffi_ops/handler/checks.h"
#include "xla_ffi_ops/handler/dtype.h"
#include "xla_ffi_ops/handler/handler.h"
#include "xla_ffi_ops/sorting/kernels/sort_kernels.h"
#include "xla_ffi_ops/sorting/sort_rows.h"
#include "xla_ffi_ops/threads/handler_result.h"
#include "xla_ffi_ops/threads/parallel.h"
#include "xla_ffi_ops/vec/float16.h"
#include "xla_ffi_ops/vec/key_format.h"

namespace xla_ffi_ops {

// The order of one of the OrderedDTypes. If `one_nan`, NaNs of bfloat16 keep
// only their sign.
inline AnyFormat FormatOf(ffi::DataType dtype, bool one_nan) {
  switch (dtype) {
    case ffi::S8:
      return FormatOf<int8_t>();
    case ffi::S16:
      return FormatOf<int16_t>();
    case ffi::S32:
      return FormatOf<int32_t>();
    case ffi::S64:
      return FormatOf<int64_t>();
    case ffi::U16:
      return FormatOf<uint16_t>();
    case ffi::U32:
      return FormatOf<uint32_t>();
    case ffi::U64:
      return FormatOf<uint64_t>();
    case ffi::F16:
      return FormatOf<Float16>();
    case ffi::BF16: {
      auto format = FormatOf<BFloat16>();
      if (one_nan) {
        format.kept_of_nan = format.sign;
        format.set_in_nan = 0x7fc0;
      }
      return format;
    }
    case ffi::F32:
      return FormatOf<float>();
    case ffi::F64:
      return FormatOf<double>();
    default:  // PRED and U8
      return FormatOf<uint8_t>();
  }
}

// Sorts x, [leading..., n, trailing...], to y, or finds indices if
// `gives_indices`: with the kernel that make(format, n) returns.
template <typename Make>
HandlerResult SortAlongAxis(const CpuContext& device, int64_t trailing_rank,
                            const ffi::AnyBuffer& x, const ffi::AnyBuffer& y,
                            bool gives_indices, bool one_nan, Make make) {
  Dim n = kUnknownDim;
  Checks checks;
  checks.TrailingRank(trailing_rank);
  checks.Operand("x", x, OrderedDTypes(), {&n});
  if (gives_indices) checks.IndicesFit("x", n);
  const DTypeSet y_dtype = gives_indices ? ffi::S32 : x.element_type();
  checks.Result("y", y, y_dtype, {&n});
  if (!checks.ok()) return checks.error();
  return SortRows(device, make(FormatOf(x.element_type(), one_nan), n),
                  x.untyped_data(), y.untyped_data(), Product(checks.loops()),
                  Product(checks.trailing()));
}

// The handler of partition and argpartition: partitions x around the element
// that is at `kth` when it is sorted.
template <bool kGivesIndices>
HandlerResult PartitionAlongAxis(CpuContext device, int64_t kth,
                                 int64_t trailing_rank, ffi::AnyBuffer x,
                                 ffi::Result<ffi::AnyBuffer> y) {
  if (kth < 0) {
    Checks checks;
    checks.Fail("kth", "be at least 0", std::to_string(kth));
    return checks.error();
  }
  return SortAlongAxis(
      device, trailing_rank, x, *y, kGivesIndices, /*one_nan=*/false,
      [=](const AnyFormat& format, int64_t n) {
        return PartitionKernel(format, n, std::min(kth, n - 1), kGivesIndices);
      });
}

// Exports it.
#define XLA_FFI_OPS_DEFINE_PARTITION(handler, gives_indices)             \
  XLA_FFI_OPS_DEFINE_HANDLER(handler, PartitionAlongAxis<gives_indices>, \
                             .Attr<int64_t>("kth")                       \
                                 .Attr<int64_t>("trailing_rank")         \
                                 .Arg<ffi::AnyBuffer>()                  \
                                 .Ret<ffi::AnyBuffer>())

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_SORTING_ALONG_AXIS_H_
