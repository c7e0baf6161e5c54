// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>

#include "xla_ffi_ops/cuda/launch.cuh"
#include "xla_ffi_ops/cuda/row_shape.cuh"
#include "xla_ffi_ops/cuda/row_threads.cuh"
#include "xla_ffi_ops/ops/rms_norm/rms_norm_forward_registers.cuh"
#include "xla_ffi_ops/ops/rms_norm/rms_norm_forward_wide.cuh"

namespace xla_ffi_ops {

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
