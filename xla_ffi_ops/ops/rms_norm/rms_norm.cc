// SPDX-License-Identifier: Apache-2.0
// The CPU kernels of rms_norm. `omp simd reduction` allows the compiler to
// reorder the one sum it stands before, and nothing else: unlike with
// -ffast-math, overflow, infinities and NaN stay those of the formula.
#include "xla_ffi_ops/ops/rms_norm/rms_norm.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace xla_ffi_ops {
namespace {

// Sums in blocks: the rounding error grows with the length of a block plus
// their number, not with the length of the row.
template <typename Sum, typename Term>
[[gnu::always_inline]] inline Sum BlockedSum(int64_t n, Term term) {
  constexpr int64_t kBlock = 1024;
  Sum total = 0;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = std::min(n, begin + kBlock);
    Sum sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = begin; j < end; ++j) sum += term(j);
    total += sum;
  }
  return total;
}

// kRows rows at once, so that dscale is read and written once for all of them
// and not once per row: it would be the widest stream of the backward pass.
template <int kRows, typename T, typename Scale>
[[gnu::always_inline]] inline void BackwardBlock(
    int64_t row, int64_t cols, const Rows<const T>& x, const Scale& scale,
    const Rows<const Accumulator<T>>& rstd, const Rows<const T>& dy, T* dx,
    RmsNormSum<T, Scale>* dscale) {
  using Acc = Accumulator<T>;
  using Sum = RmsNormSum<T, Scale>;
  const T* x_row[kRows];
  const T* dy_row[kRows];
  decltype(scale[0]) scale_row[kRows];
  Acc r[kRows];
  Sum mean[kRows];
  for (int i = 0; i < kRows; ++i) {
    const T* xi = x_row[i] = x[row + i];
    const T* dyi = dy_row[i] = dy[row + i];
    const auto si = scale_row[i] = scale[row + i];
    const Acc ri = r[i] = *rstd[row + i];
    mean[i] = BlockedSum<Sum>(cols, [=](int64_t j) {
      return Acc{xi[j]} * ri * (Acc{dyi[j]} * Sum{si[j]});
    });
    mean[i] /= static_cast<Sum>(cols);
  }
  T* dx_row = dx + row * cols;
#pragma omp simd
  for (int64_t j = 0; j < cols; ++j) {
    Sum sum = 0;
    for (int i = 0; i < kRows; ++i) {
      const Acc xhat = Acc{x_row[i][j]} * r[i];
      const Acc dyi = Acc{dy_row[i][j]};
      dx_row[i * cols + j] =
          r[i] * (dyi * Sum{scale_row[i][j]} - xhat * mean[i]);
      sum += dyi * xhat;
    }
    if constexpr (!std::is_same_v<Scale, Ones>) dscale[j] += sum;
  }
}

}  // namespace

template <typename T, typename Scale>
XLA_FFI_OPS_CPU_KERNEL void RmsNormForward(Cpu, int64_t begin, int64_t end,
                                           int64_t cols, Accumulator<T> eps,
                                           Rows<const T> x, Scale scale, T* y,
                                           Accumulator<T>* rstd) {
  using Acc = Accumulator<T>;
  for (int64_t row = begin; row < end; ++row) {
    const T* x_row = x[row];
    const auto scale_row = scale[row];
    T* y_row = y + row * cols;
    const Acc sum = BlockedSum<Acc>(
        cols, [=](int64_t j) { return Acc{x_row[j]} * Acc{x_row[j]}; });
    const Acc r = 1 / std::sqrt(sum / static_cast<Acc>(cols) + eps);
    rstd[row] = r;
#pragma omp simd
    for (int64_t j = 0; j < cols; ++j) {
      y_row[j] = Acc{x_row[j]} * r * RmsNormSum<T, Scale>{scale_row[j]};
    }
  }
}

template <typename T, typename Scale>
XLA_FFI_OPS_CPU_KERNEL void RmsNormBackward(Cpu, int64_t begin, int64_t end,
                                            int64_t cols, Rows<const T> x,
                                            Scale scale,
                                            Rows<const Accumulator<T>> rstd,
                                            Rows<const T> dy, T* dx,
                                            RmsNormSum<T, Scale>* dscale) {
  if (dscale != nullptr) std::fill_n(dscale, cols, 0);
  constexpr int kRows = 4;
  int64_t row = begin;
  for (; row + kRows <= end; row += kRows) {
    BackwardBlock<kRows>(row, cols, x, scale, rstd, dy, dx, dscale);
  }
  for (; row < end; ++row) {
    BackwardBlock<1>(row, cols, x, scale, rstd, dy, dx, dscale);
  }
}

#define INSTANTIATE(T, ...)                                          \
  template void RmsNormForward<T, __VA_ARGS__>(                      \
      Cpu, int64_t, int64_t, int64_t, Accumulator<T>, Rows<const T>, \
      __VA_ARGS__, T*, Accumulator<T>*);                             \
  template void RmsNormBackward<T, __VA_ARGS__>(                     \
      Cpu, int64_t, int64_t, int64_t, Rows<const T>, __VA_ARGS__,    \
      Rows<const Accumulator<T>>, Rows<const T>, T*,                 \
      RmsNormSum<T, __VA_ARGS__>*)
#define INSTANTIATE_SCALES(T)           \
  INSTANTIATE(T, Ones);                 \
  INSTANTIATE(T, Rows<const Float16>);  \
  INSTANTIATE(T, Rows<const BFloat16>); \
  INSTANTIATE(T, Rows<const float>);    \
  INSTANTIATE(T, Rows<const double>)

INSTANTIATE_SCALES(Float16);
INSTANTIATE_SCALES(BFloat16);
INSTANTIATE_SCALES(float);
INSTANTIATE_SCALES(double);

}  // namespace xla_ffi_ops
