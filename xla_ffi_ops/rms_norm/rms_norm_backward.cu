// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>

#include "xla_ffi_ops/add_rows.cuh"
#include "xla_ffi_ops/launch.cuh"
#include "xla_ffi_ops/rms_norm/rms_norm_backward.cuh"
#include "xla_ffi_ops/rms_norm/rms_norm_backward_wide.cuh"
#include "xla_ffi_ops/row_shape.cuh"
#include "xla_ffi_ops/row_threads.cuh"
#include "xla_ffi_ops/sum_parts.cuh"

namespace xla_ffi_ops {

// kLoads accesses of kSize elements of x and of dy.
template <typename T, typename Scale, int kSize, int kLoads>
__global__
__launch_bounds__(kBackwardThreads<Scale>, 1) void RmsNormBackwardKernel(
    const __grid_constant__ RmsNormBackwardArgs<T, Scale> args) {
  using Acc = Accumulator<T>;
  using Sum = RmsNormSum<T, Scale>;
  using Terms = BackwardTerms<T, Scale, kSize>;
  Pack<T, kSize> x[kLoads], dy[kLoads], next_x[kLoads], next_dy[kLoads];
  Acc next_rstd = 0;
  const int cols = static_cast<int>(args.cols);
  const int first = ThreadInRow() * kSize;
  const int stride = ThreadsPerRow() * kSize;
  const auto load_next = [&](int64_t group, int64_t group_row) {
    const bool valid = group_row < args.rows;
    const int64_t row = group * args.rows + (valid ? group_row : 0);
    const T* const x_row = RowAt(args.x, row);
    const T* const dy_row = RowAt(args.dy, row);
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int column = first + i * stride;
      next_x[i].Clear();
      next_dy[i].Clear();
      if (valid && column < cols) {
        next_x[i].LoadOnce(x_row + column);
        next_dy[i].LoadOnce(dy_row + column);
      }
    }
    if (valid) next_rstd = *RowAt(args.rstd, row);
  };

  RowSum<Sum> row_sum;
  const int64_t step = int64_t{gridDim.y} * blockDim.y;
  for (int64_t group = blockIdx.z; group < args.groups; group += gridDim.z) {
    Sum dscale[kLoads * kSize] = {};
    int64_t base = int64_t{blockIdx.y} * blockDim.y;
    if (base < args.rows) load_next(group, base + threadIdx.y);
    for (; base < args.rows; base += step) {
      const Acc rstd = next_rstd;
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        x[i] = next_x[i];
        dy[i] = next_dy[i];
      }
      const int64_t group_row = base + threadIdx.y;
      const bool valid = group_row < args.rows;
      const int64_t row = group * args.rows + (valid ? group_row : 0);
      const auto scale = RowAt(args.scale, row);
      if (base + step < args.rows) load_next(group, base + step + threadIdx.y);
      Sum dot = 0;
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        const int column = first + i * stride;
        if (valid && column < cols) {
          dot += Terms(x[i], dy[i], rstd, scale, column).Dot();
        }
        x[i].Reconvert();
        dy[i].Reconvert();
      }
      const Sum mean = row_sum(dot) / static_cast<Sum>(args.cols);
      if (!valid) continue;
      T* const dx = args.dx + row * args.cols;
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        const int column = first + i * stride;
        if (column >= cols) continue;
        const Terms terms(x[i], dy[i], rstd, scale, column);
        terms.StoreDx(mean, dx + column);
        if constexpr (kHasScale<Scale>) {
          for (int k = 0; k < kSize; ++k) {
            dscale[i * kSize + k] += dy[i][k] * terms.xhat[k];
          }
        }
      }
    }
    if constexpr (kHasScale<Scale>) {
      if (!AddRowsOfBlock(dscale)) continue;
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        const int column = first + i * stride;
        if (column >= cols) continue;
        Sum sums[kSize];
        for (int k = 0; k < kSize; ++k) sums[k] = dscale[i * kSize + k];
        if (gridDim.y == 1) {
          StoreValues(sums, args.dscale + group * args.cols + column);
        } else {
          StoreValues(sums, args.PartAt(group, blockIdx.y) + column);
        }
      }
    }
  }
}

template <typename T, typename Scale>
void SumParts(cudaStream_t stream, const RmsNormBackwardArgs<T, Scale>& args,
              int64_t parts) {
  using Args = SumPartsArgs<RmsNormSum<T, Scale>, RmsNormScale<Scale>>;
  LaunchSumParts(stream, Args{args.groups, parts, args.workspace_parts,
                              args.cols, args.workspace, args.dscale});
}

// Launches the kernels for accesses of kSize elements.
template <int kSize, typename T, typename Scale>
void LaunchBackward(cudaStream_t stream,
                    const RmsNormBackwardArgs<T, Scale>& args) {
  using Sum = RmsNormSum<T, Scale>;
  constexpr int kThreads = kBackwardThreads<Scale>;
  constexpr bool kScaled = kHasScale<Scale>;
  constexpr int kLoads = LoadsIn<T, kSize>(kBackwardRegisters<T, Scale, kSize>);
  // Without scale, small blocks: nothing has to be summed over a block's rows.
  constexpr int kBlockThreads = kScaled ? kThreads : 128;
  // A part of fewer rows costs more traffic than it saves time.
  constexpr int kPartRows = 4;
  const StreamDevice device(stream);
  const int multiprocessors = Multiprocessors(device);
  const int64_t max_parts =
      kScaled ? std::min(args.workspace_parts, CeilDiv(args.rows, kPartRows))
              : args.rows;

  // Launches the kernel if its clusters can run, with one part or several.
  const auto launch = [&](const char* name, auto kernel, LaunchShape shape,
                          bool sums_in_workspace) {
    const int64_t block_rows = shape.block.y;
    shape.grid = dim3(shape.cluster);
    const int threads = shape.block.x * shape.block.y;
    const int64_t active =
        shape.cluster > 1
            ? ActiveClusters(device, reinterpret_cast<const void*>(kernel),
                             shape)
            : multiprocessors * (kThreads / threads);
    if (active == 0) return false;
    int64_t parts = std::min({max_parts, CeilDiv(args.rows, block_rows),
                              std::max<int64_t>(1, active / args.groups)});
    if (kScaled && args.rows <= 2 * block_rows) parts = 1;
    shape.grid.y = parts;
    shape.grid.z = std::min(args.groups, std::max<int64_t>(1, active / parts));
    Launch(name, kernel, shape, stream, args);
    if constexpr (kScaled) {
      if (sums_in_workspace || parts > 1) SumParts(stream, args, parts);
    }
    return true;
  };

  RowShape row{CeilDiv(args.cols, kSize), kLoads, kThreads};
  row.Fit(kMaxCluster);
  row.Spread(args.groups * max_parts, multiprocessors);
  for (; row.fits(); row.cluster /= 2) {
    LaunchShape shape;
    shape.cluster = row.cluster;
    shape.block = row.Block(args.rows, kBlockThreads);
    shape.shared_bytes = RowSumBytes<Sum>(shape.block, shape.cluster);
    if (kScaled) {
      shape.shared_bytes = std::max(
          shape.shared_bytes, AddRowsBytes<kLoads * kSize, Sum>(shape.block));
    }
    if (launch("RmsNormBackwardKernel",
               RmsNormBackwardKernel<T, Scale, kSize, kLoads>, shape, false)) {
      return;
    }
  }
  LaunchShape shape;
  shape.block = dim3(kThreads);
  for (shape.cluster = kPortableCluster;; shape.cluster = 1) {
    shape.shared_bytes = RowSumBytes<Sum>(shape.block, shape.cluster);
    if (launch("RmsNormBackwardWideKernel",
               RmsNormBackwardWideKernel<T, Scale, kSize, kLoads>, shape,
               true)) {
      return;
    }
  }
}

template <typename T, typename Scale>
void RmsNormBackward(Cuda device, int64_t groups, int64_t rows, int64_t cols,
                     Rows<const T> x, Scale scale,
                     Rows<const Accumulator<T>> rstd, Rows<const T> dy, T* dx,
                     RmsNormScale<Scale>* dscale,
                     RmsNormSum<T, Scale>* workspace, int64_t parts) {
  if (groups <= 0 || cols <= 0) return;
  const RmsNormBackwardArgs<T, Scale> args{
      groups, rows, cols, x, scale, rstd, dy, dx, dscale, workspace, parts};
  if (rows <= 0) {
    if constexpr (kHasScale<Scale>) SumParts(device.stream, args, 0);
    return;
  }
  if constexpr (kHasWide<T, Scale>) {
    if (CanBeWide<T>(cols,
                     {x.data, DataOf(scale), dy.data, dx, dscale, workspace})) {
      return LaunchBackward<kWide<T>>(device.stream, args);
    }
  }
  LaunchBackward<1>(device.stream, args);
}

#define INSTANTIATE(T, ...)                                        \
  template void RmsNormBackward<T, __VA_ARGS__>(                   \
      Cuda, int64_t, int64_t, int64_t, Rows<const T>, __VA_ARGS__, \
      Rows<const Accumulator<T>>, Rows<const T>, T*,               \
      RmsNormScale<__VA_ARGS__>*, RmsNormSum<T, __VA_ARGS__>*, int64_t);
XLA_FFI_OPS_RMS_NORM_TYPES(INSTANTIATE)

}  // namespace xla_ffi_ops
