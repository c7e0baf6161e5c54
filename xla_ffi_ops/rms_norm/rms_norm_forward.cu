// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>

#include "xla_ffi_ops/launch.cuh"
#include "xla_ffi_ops/rms_norm/rms_norm.cuh"
#include "xla_ffi_ops/row_shape.cuh"
#include "xla_ffi_ops/row_threads.cuh"

namespace xla_ffi_ops {

template <typename T, typename Scale>
struct RmsNormForwardArgs {
  int64_t begin;
  int64_t end;
  int64_t cols;
  Accumulator<T> eps;
  Rows<const T> x;
  Scale scale;
  T* y;
  Accumulator<T>* rstd;
};

// 64 registers per thread, so that a multiprocessor runs 1024 threads.
inline constexpr int kForwardThreads = 1024;

// How many of them hold x, and as many the next x: with 16, 64 KiB of loads are
// in flight all the time. More accesses, or doubles, need more other registers.
template <typename T, int kSize>
inline constexpr int kForwardRegisters = kSize == 1      ? 6
                                         : sizeof(T) > 4 ? 12
                                                         : 16;

// Stores y in columns [column, column + kSize).
template <typename Sum, typename T, int kSize, typename ScaleRow>
__device__ inline void StoreY(const Pack<T, kSize>& x, Accumulator<T> rstd,
                              ScaleRow scale, int64_t column, T* y) {
  Sum values[kSize];
  LoadScale(scale, column, values);
  for (int i = 0; i < kSize; ++i) values[i] = x[i] * rstd * values[i];
  StoreValues(values, y + column);
}

// kLoads accesses of kSize elements in each of kRows rows. More than one row is
// for rows that are no wider than a warp.
template <typename T, typename Scale, int kSize, int kLoads, int kRows>
__global__ __launch_bounds__(kForwardThreads, 1) void RmsNormForwardKernel(
    const __grid_constant__ RmsNormForwardArgs<T, Scale> args) {
  using Acc = Accumulator<T>;
  Pack<T, kSize> x[kRows][kLoads];
  Pack<T, kSize> next[kRows][kLoads];
  const int cols = static_cast<int>(args.cols);
  const int first = ThreadInRow() * kSize;
  const int stride = ThreadsPerRow() * kSize;
  // The row of this thread among the block's from `base` on.
  const auto row_at = [&](int64_t base, int r) {
    return base + r * static_cast<int>(blockDim.y) + threadIdx.y;
  };
  const auto load_next = [&](int64_t base) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const int64_t row = row_at(base, r);
      const T* const from = RowAt(args.x, row < args.end ? row : args.begin);
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        const int column = first + i * stride;
        next[r][i].Clear();
        if (row < args.end && column < cols) {
          next[r][i].LoadOnce(from + column);
        }
      }
    }
  };

  const int64_t block_rows = int64_t{blockDim.y} * kRows;
  const int64_t step = gridDim.y * block_rows;
  int64_t base = args.begin + blockIdx.y * block_rows;
  load_next(base);
  RowSum<Acc> row_sum;
  for (; base < args.end; base += step) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
#pragma unroll
      for (int i = 0; i < kLoads; ++i) x[r][i] = next[r][i];
    }
    // Before more registers are in use: this may divide 64-bit integers.
    decltype(RowAt(args.scale, 0)) scale[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const int64_t row = row_at(base, r);
      scale[r] = RowAt(args.scale, row < args.end ? row : args.begin);
    }
    if (base + step < args.end) load_next(base + step);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      Acc sum = 0;
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
#pragma unroll
        for (int k = 0; k < kSize; ++k) sum += x[r][i][k] * x[r][i][k];
        x[r][i].Reconvert();
      }
      const Acc mean = row_sum(sum) / static_cast<Acc>(args.cols);
      const Acc rstd = ReciprocalSqrt(mean + args.eps);
      const int64_t row = row_at(base, r);
      if (row >= args.end) continue;
      if (first == 0) args.rstd[row] = rstd;
      T* const y = args.y + row * args.cols;
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        const int column = first + i * stride;
        if (column < cols) {
          StoreY<RmsNormSum<T, Scale>>(x[r][i], rstd, scale[r], column, y);
        }
      }
    }
  }
}

// Rows of any width, one per block or cluster, read twice.
template <typename T, typename Scale, int kSize, int kLoads>
__global__ __launch_bounds__(kForwardThreads, 1) void RmsNormForwardWideKernel(
    const __grid_constant__ RmsNormForwardArgs<T, Scale> args) {
  using Acc = Accumulator<T>;
  Pack<T, kSize> x[kLoads];
  const int64_t first = int64_t{ThreadInRow()} * kSize;
  const int64_t stride = int64_t{ThreadsPerRow()} * kSize;
  RowSum<Acc> row_sum;
  for (int64_t row = args.begin + blockIdx.y; row < args.end;
       row += gridDim.y) {
    const T* const from = RowAt(args.x, row);
    Acc sum = 0;
    for (int64_t begin = first; begin < args.cols; begin += kLoads * stride) {
      Acc part = 0;
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        const int64_t column = begin + i * stride;
        x[i].Clear();
        if (column < args.cols) x[i].Load(from + column);
      }
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
#pragma unroll
        for (int k = 0; k < kSize; ++k) part += x[i][k] * x[i][k];
      }
      sum += part;
    }
    const Acc mean = row_sum(sum) / static_cast<Acc>(args.cols);
    const Acc rstd = ReciprocalSqrt(mean + args.eps);
    if (first == 0) args.rstd[row] = rstd;
    const auto scale = RowAt(args.scale, row);
    T* const y = args.y + row * args.cols;
    for (int64_t begin = first; begin < args.cols; begin += kLoads * stride) {
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        const int64_t column = begin + i * stride;
        if (column < args.cols) x[i].LoadOnce(from + column);
      }
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        const int64_t column = begin + i * stride;
        if (column < args.cols) {
          StoreY<RmsNormSum<T, Scale>>(x[i], rstd, scale, column, y);
        }
      }
    }
  }
}

// Launches the kernel for accesses of kSize elements.
template <int kSize, typename T, typename Scale>
void LaunchForward(cudaStream_t stream,
                   const RmsNormForwardArgs<T, Scale>& args) {
  using Acc = Accumulator<T>;
  constexpr int kLoads = LoadsIn<T, kSize>(kForwardRegisters<T, kSize>);
  constexpr int kRows = 2;
  constexpr int kNarrowLoads = std::max(1, kLoads / kRows);
  constexpr int kBlockThreads = 128;  // more only for a row that needs them
  const StreamDevice device(stream);
  const int multiprocessors = Multiprocessors(device);
  const int64_t rows = args.end - args.begin;
  const int64_t accesses = CeilDiv(args.cols, kSize);

  // Launches the kernel if its clusters can run.
  const auto launch = [&](const char* name, auto kernel, LaunchShape shape,
                          int thread_rows) {
    shape.shared_bytes = RowSumBytes<Acc>(shape.block, shape.cluster);
    const int threads = shape.block.x * shape.block.y;
    shape.grid = dim3(shape.cluster, 1);
    const int64_t active =
        shape.cluster > 1
            ? ActiveClusters(device, reinterpret_cast<const void*>(kernel),
                             shape)
            : multiprocessors * (kForwardThreads / threads);
    if (active == 0) return false;
    shape.grid.y = std::min(active, CeilDiv(rows, shape.block.y * thread_rows));
    Launch(name, kernel, shape, stream, args);
    return true;
  };

  const RowShape narrow{accesses, kNarrowLoads, kWarp};
  if (narrow.fits()) {
    LaunchShape shape;
    shape.block = narrow.Block(CeilDiv(rows, kRows), kBlockThreads);
    launch("RmsNormForwardKernel",
           RmsNormForwardKernel<T, Scale, kSize, kNarrowLoads, kRows>, shape,
           kRows);
    return;
  }
  RowShape row{accesses, kLoads, kForwardThreads};
  row.Fit(kMaxCluster);
  row.Spread(rows, multiprocessors);
  for (; row.fits(); row.cluster /= 2) {
    LaunchShape shape;
    shape.cluster = row.cluster;
    shape.block = row.Block(rows, kBlockThreads);
    if (launch("RmsNormForwardKernel",
               RmsNormForwardKernel<T, Scale, kSize, kLoads, 1>, shape, 1)) {
      return;
    }
  }
  LaunchShape shape;
  shape.block = dim3(kForwardThreads);
  for (shape.cluster = kPortableCluster;; shape.cluster = 1) {
    if (launch("RmsNormForwardWideKernel",
               RmsNormForwardWideKernel<T, Scale, kSize, kLoads>, shape, 1)) {
      return;
    }
  }
}

template <typename T, typename Scale>
void RmsNormForward(Cuda device, int64_t begin, int64_t end, int64_t cols,
                    Accumulator<T> eps, Rows<const T> x, Scale scale, T* y,
                    Accumulator<T>* rstd) {
  if (begin >= end) return;
  const RmsNormForwardArgs<T, Scale> args{begin, end,   cols, eps,
                                          x,     scale, y,    rstd};
  if constexpr (kHasWide<T, Scale>) {
    if (CanBeWide<T>(cols, {x.data, DataOf(scale), y})) {
      return LaunchForward<kWide<T>>(device.stream, args);
    }
  }
  LaunchForward<1>(device.stream, args);
}

#define INSTANTIATE(T, ...)                                           \
  template void RmsNormForward<T, __VA_ARGS__>(                       \
      Cuda, int64_t, int64_t, int64_t, Accumulator<T>, Rows<const T>, \
      __VA_ARGS__, T*, Accumulator<T>*);
XLA_FFI_OPS_RMS_NORM_TYPES(INSTANTIATE)

}  // namespace xla_ffi_ops
