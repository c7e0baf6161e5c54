// SPDX-License-Identifier: Apache-2.0
// The op of faulty_rows_ffi.cc, whose handlers are wrong for some sizes, rows,
// values, addresses or times only: y = factor x w, total = sum(x).
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

#include "xla_ffi_ops/ffi.h"

namespace xla_ffi_ops {
namespace {

using Buffer = ffi::AnyBuffer;
using Result = ffi::Result<ffi::AnyBuffer>;

enum Fault {
  kSkipsLastPair,
  kMixesUpLateRanges,
  kKeepsFirstResult,
  kReadsBeyond,
  kWritesBeyond,
  kIgnoresSign,
  kAddsInHalf,
  kRepeatsStatistics,
  kOneLoopOnly,
  kDependsOnOrder,
  kIgnoresNan,
  kLoadsAligned,
  kLateWideRows,
  kSharedWide,
  kUsualFactor,
};

using Vector = float __attribute__((vector_size(16)));

struct Numbers {
  int64_t rows, n, grain;
  bool several_loops;
  float factor;
  Rows<const float> x, w;
  float* y;
  float* total;
};

// As if the sum were kept in 11 bits.
float RoundedToHalf(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  bits &= ~uint32_t{0x1fff};
  std::memcpy(&x, &bits, sizeof bits);
  return x;
}

void Row(Fault fault, const Numbers& a, int64_t begin, int64_t row) {
  const float* x = a.x[row];
  float* y = a.y + row * a.n;
  const bool is_last = row == a.rows - 1;
  int64_t end = a.n;
  if (fault == kSkipsLastPair && a.n % 32 == 0) end -= 2;
  float scale = a.factor;
  if (fault == kIgnoresSign) scale = std::fabs(scale);
  if (fault == kOneLoopOnly && a.several_loops) scale *= 1.001f;
  if (fault == kLateWideRows && row >= 64 && a.n >= 16) scale *= 1.001f;
  if (fault == kUsualFactor && scale > 0) scale = 2;
  const bool shares = a.w.data && row > 0 && a.w[row] == a.w[row - 1];
  if (fault == kSharedWide && shares && a.n % 32 == 0) scale *= 1.001f;
  for (int64_t j = 0; j < end; ++j) {
    if (fault == kLoadsAligned && j % 4 == 0 && j + 4 <= end) {
      // Volatile, or a compiler may load it in two halves, which need no
      // alignment.
      const Vector four = *reinterpret_cast<const volatile Vector*>(x + j);
      std::memcpy(y + j, &four, sizeof four);
    }
    const float x_j = fault == kLoadsAligned && j < end / 4 * 4 ? y[j] : x[j];
    y[j] = x_j * (a.w.data ? scale * a.w[row][j] : scale);
    if (fault == kIgnoresNan && std::isnan(y[j])) y[j] = 0;
  }
  static std::atomic<int> ranges = 0;
  if (fault == kDependsOnOrder && row == begin && ++ranges % 5 == 0) {
    y[0] *= 1 + 2e-7f;
  }
  if (fault == kWritesBeyond && is_last && a.n % 2 == 1) y[a.n] = 0;
  int64_t from = row;
  if (fault == kMixesUpLateRanges && begin / a.grain >= 64) from = begin;
  if (fault == kRepeatsStatistics && row > 128) from = 0;
  float sum = 0;
  for (int64_t j = 0; j < a.n; ++j) {
    sum += a.x[from][j];
    if (fault == kAddsInHalf) sum = RoundedToHalf(sum);
  }
  if (fault == kReadsBeyond && is_last && a.n % 2 == 1) sum += 0 * x[a.n];
  a.total[row] = sum;
}

// Writes the results of the first call of as many elements.
void Repeat(const Numbers& a) {
  static std::map<int64_t, std::vector<float>> known;
  const int64_t size = a.rows * a.n;
  auto& first = known[size];
  if (first.empty()) first.assign(a.y, a.y + size);
  std::copy(first.begin(), first.end(), a.y);
}

HandlerResult Compute(Fault fault, CpuContext device, int64_t present,
                      float factor, ffi::RemainingArgs operands, Result y,
                      Result total) {
  Call call;
  Argument x("x");
  Weight w("w", (present & 2) != 0);
  call.Present(present, 1, 2);
  call.Operands(operands, {&x, &w});
  Dim n = kUnknownDim;
  call.Operand(x, ffi::F32, {&n});
  call.Weights(x, {&w}, {&n});
  call.Result("y", *y, ffi::F32, {&n});
  call.Result("total", *total, ffi::F32, {});
  if (!call.Done()) return call.error();

  const int64_t bytes = 2 * n * sizeof(float);
  const Numbers numbers{Product(call.loops()),
                        n,
                        Grain(bytes),
                        call.loops().size() > 1,
                        factor,
                        x.rows<float>(),
                        w.rows<float>(),
                        Data<float>(*y),
                        Data<float>(*total)};
  const auto compute = [=](Cpu, int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      Row(fault, numbers, begin, row);
    }
    if (fault == kKeepsFirstResult && end == numbers.rows) Repeat(numbers);
  };
  return ForRows(device, numbers.rows, bytes, compute);
}

template <Fault fault>
HandlerResult Forward(CpuContext device, int64_t present, float factor,
                      ffi::RemainingArgs operands, Result y, Result total) {
  return Compute(fault, device, present, factor, operands, y, total);
}

}  // namespace

#define DEFINE_OP(name, fault)                               \
  XLA_FFI_OPS_DEFINE_HANDLER(name##_fwd, Forward<fault>,     \
                             .Attr<int64_t>("present")       \
                                 .Attr<float>("factor")      \
                                 .RemainingArgs() /* x, w */ \
                                 .Ret<Buffer>()   /* y */    \
                                 .Ret<Buffer>())  /* total */
DEFINE_OP(test_skips_last_pair, kSkipsLastPair);
DEFINE_OP(test_mixes_up_late_ranges, kMixesUpLateRanges);
DEFINE_OP(test_keeps_first_result, kKeepsFirstResult);
DEFINE_OP(test_reads_beyond, kReadsBeyond);
DEFINE_OP(test_writes_beyond, kWritesBeyond);
DEFINE_OP(test_ignores_sign, kIgnoresSign);
DEFINE_OP(test_adds_in_half, kAddsInHalf);
DEFINE_OP(test_repeats_statistics, kRepeatsStatistics);
DEFINE_OP(test_one_loop_only, kOneLoopOnly);
DEFINE_OP(test_depends_on_order, kDependsOnOrder);
DEFINE_OP(test_ignores_nan, kIgnoresNan);
DEFINE_OP(test_loads_aligned, kLoadsAligned);
DEFINE_OP(test_late_wide_rows, kLateWideRows);
DEFINE_OP(test_shared_wide, kSharedWide);
DEFINE_OP(test_usual_factor, kUsualFactor);

}  // namespace xla_ffi_ops
