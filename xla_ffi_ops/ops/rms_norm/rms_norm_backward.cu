// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>

#include "xla_ffi_ops/cuda/add_rows.cuh"
#include "xla_ffi_ops/cuda/launch.cuh"
#include "xla_ffi_ops/cuda/row_shape.cuh"
#include "xla_ffi_ops/cuda/row_threads.cuh"
#include "xla_ffi_ops/cuda/sum_parts.cuh"
#include "xla_ffi_ops/ops/rms_norm/rms_norm_backward_registers.cuh"
#include "xla_ffi_ops/ops/rms_norm/rms_norm_backward_wide.cuh"

namespace xla_ffi_ops {

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
