// SPDX-License-Identifier: Apache-2.0
// Runs a formula of rows (rows/formula.h) on a CUDA device:
//
//   LaunchRows(device, formula, {begin, groups, rows, cols}, Operands{x, dy},
//              Operands{scale}, Operands{dx}, Operands{dscale});
//
// An op's .cu has, for each of its formulas,
//
//   namespace xla_ffi_ops {
//   template struct Kernels<Cuda, my_op::ForwardFormula, my_op::RowTypes>;
//   }  // namespace xla_ffi_ops
//
// Narrow and middle rows are kept in registers (row_kernel.cuh), by the threads
// of a warp, of a block, or of a cluster of blocks; long rows are read again in
// each pass (long_row_kernel.cuh). Rows are accessed 16 bytes at a time if they
// are aligned, and else one element at a time.
#ifndef XLA_FFI_OPS_ROWS_CUDA_LAUNCH_ROWS_CUH_
#define XLA_FFI_OPS_ROWS_CUDA_LAUNCH_ROWS_CUH_

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "xla_ffi_ops/cuda/launch.cuh"
#include "xla_ffi_ops/cuda/stream_device.cuh"
#include "xla_ffi_ops/rows/cuda/add_rows.cuh"
#include "xla_ffi_ops/rows/cuda/long_row_kernel.cuh"
#include "xla_ffi_ops/rows/cuda/row_access.cuh"
#include "xla_ffi_ops/rows/cuda/row_args.cuh"
#include "xla_ffi_ops/rows/cuda/row_kernel.cuh"
#include "xla_ffi_ops/rows/cuda/row_shape.cuh"
#include "xla_ffi_ops/rows/cuda/sum_parts.cuh"
#include "xla_ffi_ops/rows/run_formula.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/row_map.h"

namespace xla_ffi_ops {

namespace internal {

// Adds up the first `parts` parts of the sums.
template <typename Args>
void SumParts(cudaStream_t stream, const Args& args, int64_t parts) {
  LaunchSumParts(
      stream, SumPartsArgs<typename Args::W, typename Args::Acc, Args::kSums>{
                  args.groups, parts, args.cols, args.sums});
}

// A part has as many steps at least, where the workspace has room for no more
// parts: the sum of 32 equal terms is off by 4 units in the last place at most.
inline constexpr int64_t kPartSteps = 32;

// How clusters, of which `active` run at once, share groups of rows.
struct RowGrid {
  int64_t blocks = 0;  // for the rows of a group: block_rows each in a step
  int64_t groups = 1;  // at once
  int64_t part_steps = 1;
  int64_t parts = 0;  // of sums that are written

  template <typename Args>
  RowGrid(const Args& args, int64_t block_rows, int64_t active) {
    blocks = std::min({CeilDiv(args.rows, block_rows), active, kMaxGridY});
    if (args.parts == 0) return;
    const int64_t most = std::max<int64_t>(1, active / args.groups);
    blocks = std::min({blocks, args.parts, most});
    groups = std::min({args.groups, active / blocks, kMaxGridY});
    const int64_t steps = CeilDiv(args.rows, blocks * block_rows);
    part_steps = std::max(kPartSteps, CeilDiv(steps, args.parts / blocks));
    // The blocks' first parts, then their second ones, and so on.
    const int64_t rows = blocks * block_rows * part_steps;
    parts = args.rows / rows * blocks +
            std::min(blocks, CeilDiv(args.rows % rows, block_rows));
  }
};

// Launches a kernel, for `thread_rows` rows of each thread. Returns false if
// the device cannot run its clusters.
template <int kSize, typename Args>
bool LaunchRowKernel(const StreamDevice& device, cudaStream_t stream, Args args,
                     const char* name, void (*kernel)(Args), LaunchShape shape,
                     int thread_rows) {
  constexpr int kLoads = RowLoads<Args, kSize>();
  shape.grid = dim3(shape.cluster);
  shape.shared_bytes =
      std::max(RowReduceBytes(kStatBytes<Args>, shape.block, shape.cluster),
               AddRowsBytes<Args::kSums * kLoads * kSize, typename Args::Acc>(
                   shape.block));
  const int64_t active = ActiveClusters(device, kernel, shape);
  if (active == 0) return false;
  const RowGrid grid(args, int64_t{shape.block.y} * thread_rows, active);
  shape.grid.y = grid.blocks;
  shape.grid.z = grid.groups;
  args.part_steps = grid.part_steps;
  Launch(name, kernel, shape, stream, args);
  if constexpr (Args::kSums > 0) {
    if (args.HasParts()) SumParts(stream, args, grid.parts);
  }
  return true;
}

// Launches the kernels for accesses of kSize elements, on the current device.
template <int kSize, typename Args>
void LaunchRowKernels(const StreamDevice& device, cudaStream_t stream,
                      const Args& args) {
  constexpr int kLoads = RowLoads<Args, kSize>();
  const bool has_sums = args.parts > 0;
  const auto launch = [&](const char* name, void (*kernel)(Args),
                          const LaunchShape& shape, int thread_rows) {
    return LaunchRowKernel<kSize>(device, stream, args, name, kernel, shape,
                                  thread_rows);
  };

  LaunchShape shape;
  // Small blocks, if nothing has to be summed over the rows of one.
  const int block_threads = has_sums ? Args::kThreads : 128;
  const int64_t accesses = CeilDiv(args.cols, kSize);
  if constexpr (Args::kSums == 0 && kLoads > 1) {
    constexpr int kRows = 2;
    const RowShape row{accesses, kLoads / kRows, kWarp};
    if (row.fits()) {
      shape.block = row.Block(CeilDiv(args.rows, kRows), block_threads);
      if (launch("RowKernel",
                 RowKernel<Args, kSize, kLoads / kRows, kRows, true>, shape,
                 kRows)) {
        return;
      }
    }
  }
  RowShape row{accesses, kLoads, Args::kThreads};
  void (*kernel)(Args) = RowKernel<Args, kSize, kLoads, 1, true>;
  if constexpr (kMoreLoads<Args, kSize> > 0) {
    if (row.threads() > kWarp) {
      row.loads = kMoreLoads<Args, kSize>;
      kernel = RowKernel<Args, kSize, kMoreLoads<Args, kSize>, 1, false>;
    }
  }
  // Two blocks share a multiprocessor if clusters allow it: while the threads
  // of one wait for each other, the other one works. (What loads ahead works
  // meanwhile, too, and does without clusters if it can.)
  const bool is_ahead = row.loads == kLoads;
  if (!has_sums && !(is_ahead && row.fits())) {
    RowShape half = row;
    half.max_threads /= 2;
    half.Fit(kPortableCluster);
    if (half.fits()) row = half;
  }
  row.Fit(kMaxCluster);
  row.Spread(
      args.groups * (has_sums ? std::min(args.parts, args.rows) : args.rows),
      Multiprocessors(device));
  for (; row.fits(); row.cluster /= 2) {
    shape.cluster = row.cluster;
    shape.block = row.Block(args.rows, block_threads);
    // One row alone may need all of its passes, with their barriers.
    if (kAccepts<typename Args::Formula> && shape.block.x > kWarp) {
      shape.block.y = 1;
    }
    if (launch("RowKernel", kernel, shape, 1)) return;
  }
  shape.block = dim3(Args::kThreads);
  for (int cluster : {kPortableCluster, 1}) {
    shape.cluster = cluster;
    if (launch("LongRowKernel", LongRowKernel<Args, kSize, kLoads>, shape, 1)) {
      return;
    }
  }
  throw std::runtime_error("LongRowKernel: the device cannot run one block");
}

}  // namespace internal

template <typename Formula, typename T, typename W>
void LaunchRows(Cuda device, const Formula& formula, const RowRange& range,
                const Operands<Rows<const T>, Formula::kInputs>& inputs,
                const Operands<Rows<const W>, Formula::Weights::kSize>& weights,
                const Operands<T*, Formula::kOutputs>& outputs,
                const Operands<SumOf<Cuda, T, W>, Formula::kSums>& sums) {
  constexpr int kSums = Formula::kSums;
  using Args = RowArgs<Formula, T, W>;
  Args args{range, formula, inputs, weights, outputs, sums, 0, 1};
  for (int i = 0; i < kSums; ++i) {
    if (sums[i].out == nullptr) continue;
    const int64_t parts = std::max<int64_t>(1, sums[i].parts);
    args.parts = args.parts > 0 ? std::min(args.parts, parts) : parts;
  }
  if (args.parts == 0) {
    args.rows *= args.groups;
    args.groups = 1;
  }
  if (args.groups <= 0) return;
  const StreamDevice current(device.stream);
  if (args.rows <= 0) {
    if constexpr (kSums > 0) {
      if (args.parts > 0 && args.cols > 0) {
        internal::SumParts(device.stream, args, 0);
      }
    }
  } else if (CanUseVectors(args)) {
    internal::LaunchRowKernels<kVector<T>>(current, device.stream, args);
  } else {
    internal::LaunchRowKernels<1>(current, device.stream, args);
  }
}

template <typename Formula, typename T, typename W>
void RunFormula(Cuda device, const Formula& formula, const RowRange& range,
                const RowArrays<Formula, T, W>& arrays,
                const Operands<SumOf<Cuda, T, W>, Formula::kSums>& sums) {
  LaunchRows(device, formula, range, arrays.inputs, arrays.weights,
             arrays.outputs, sums);
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_ROWS_CUDA_LAUNCH_ROWS_CUH_
