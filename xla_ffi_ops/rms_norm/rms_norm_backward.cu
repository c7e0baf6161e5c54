// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>

#include "xla_ffi_ops/launch.cuh"
#include "xla_ffi_ops/rms_norm/rms_norm.cuh"
#include "xla_ffi_ops/row_shape.cuh"
#include "xla_ffi_ops/row_threads.cuh"

namespace xla_ffi_ops {

// dscale is summed in two stages: the rows of a group are dealt out to `parts`
// blocks or clusters, and SumPartsKernel adds up what each of them leaves in
// the workspace. With one part, there is no second stage.
template <typename T, typename Scale>
struct RmsNormBackwardArgs {
  using Sum = RmsNormSum<T, Scale>;
  using S = RmsNormScale<Scale>;

  int64_t groups;
  int64_t rows;  // of a group
  int64_t cols;
  Rows<const T> x;
  Scale scale;
  Rows<const Accumulator<T>> rstd;
  Rows<const T> dy;
  T* dx;
  S* dscale;       // [groups, cols]
  Sum* workspace;  // [groups, workspace_parts, cols]
  int64_t workspace_parts;

  // Where part `part` of the sums of `group` goes if there are several.
  __device__ Sum* PartAt(int64_t group, int64_t part) const {
    return workspace + (group * workspace_parts + part) * cols;
  }
};

// The threads of a multiprocessor: 64 registers for each as in the forward
// pass, or 128 where sums of dscale are among them.
template <typename Scale>
inline constexpr int kBackwardThreads = kHasScale<Scale> ? 512 : 1024;

// How many registers hold x, and as many dy, the next x and the next dy.
// 16-bit elements have twice as many sums; more accesses, or doubles, need more
// other registers.
template <typename T, typename Scale, int kSize>
inline constexpr int kBackwardRegisters =
    !kHasScale<Scale> ? (kSize == 1 || sizeof(T) > 4 ? 4 : 8)
    : kSize == 1      ? 8
    : sizeof(T) == 4  ? 16
                      : 12;

// One access of x, dy and scale, and what is computed from them.
template <typename T, typename Scale, int kSize>
struct BackwardTerms {
  using Acc = Accumulator<T>;
  using Sum = RmsNormSum<T, Scale>;

  template <typename ScaleRow>
  __device__ BackwardTerms(const Pack<T, kSize>& x, const Pack<T, kSize>& dy,
                           Acc rstd, ScaleRow scale, int64_t column)
      : rstd(rstd) {
    LoadScale(scale, column, g);
    for (int k = 0; k < kSize; ++k) {
      xhat[k] = x[k] * rstd;
      g[k] *= dy[k];
    }
  }

  __device__ Sum Dot() const {
    Sum sum = 0;
    for (int k = 0; k < kSize; ++k) sum += xhat[k] * g[k];
    return sum;
  }

  __device__ void StoreDx(Sum mean, T* dx) const {
    Sum values[kSize];
    for (int k = 0; k < kSize; ++k) values[k] = rstd * (g[k] - xhat[k] * mean);
    StoreValues(values, dx);
  }

  Acc rstd;
  Acc xhat[kSize];
  Sum g[kSize];
};

// Adds up the sums of the threads of a block that work on the same columns of
// different rows; they end in the threads for which it returns true. A warp has
// several rows if they are narrower than it. Uses AddRowsBytes of shared
// memory.
template <int kSums, typename Sum>
__device__ inline bool AddRowsOfBlock(Sum (&sums)[kSums]) {
  const int lanes = min(blockDim.x, kWarp);
  for (int mask = lanes; mask < kWarp; mask *= 2) {
#pragma unroll
    for (int i = 0; i < kSums; ++i) {
      sums[i] += __shfl_xor_sync(kAllLanes, sums[i], mask);
    }
  }
  const int warp_rows = kWarp / lanes;
  const int row = threadIdx.y / warp_rows;
  const bool adds = threadIdx.y % warp_rows == 0;
  // [half of the rows, kSums, blockDim.x]
  Sum* const shared = SharedMemory<Sum>() + threadIdx.x;
  const int row_size = kSums * blockDim.x;
  __syncthreads();  // RowSum has used the memory.
  for (int rows = blockDim.y / warp_rows; rows > 1;) {
    const int half = (rows + 1) / 2;
    if (adds && row >= half && row < rows) {
#pragma unroll
      for (int i = 0; i < kSums; ++i) {
        shared[(row - half) * row_size + i * blockDim.x] = sums[i];
      }
    }
    __syncthreads();
    if (adds && row < rows - half) {
#pragma unroll
      for (int i = 0; i < kSums; ++i) {
        sums[i] += shared[row * row_size + i * blockDim.x];
      }
    }
    __syncthreads();
    rows = half;
  }
  return adds && row == 0;
}

template <int kSums, typename Sum>
size_t AddRowsBytes(dim3 block) {
  const int rows = block.x < kWarp ? block.x * block.y / kWarp : block.y;
  return rows / 2 * kSums * block.x * sizeof(Sum);
}

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

// Rows of any width, one per block or cluster, read twice. The sums of a part
// are kept in the workspace, where only the thread that owns a column adds to
// it.
template <typename T, typename Scale, int kSize, int kLoads>
__global__
__launch_bounds__(kBackwardThreads<Scale>, 1) void RmsNormBackwardWideKernel(
    const __grid_constant__ RmsNormBackwardArgs<T, Scale> args) {
  using Acc = Accumulator<T>;
  using Sum = RmsNormSum<T, Scale>;
  using Terms = BackwardTerms<T, Scale, kSize>;
  Pack<T, kSize> x[kLoads], dy[kLoads];
  const int64_t first = int64_t{ThreadInRow()} * kSize;
  const int64_t stride = int64_t{ThreadsPerRow()} * kSize;
  RowSum<Sum> row_sum;
  for (int64_t group = blockIdx.z; group < args.groups; group += gridDim.z) {
    for (int64_t r = blockIdx.y; r < args.rows; r += gridDim.y) {
      const int64_t row = group * args.rows + r;
      const T* const x_row = RowAt(args.x, row);
      const T* const dy_row = RowAt(args.dy, row);
      const auto scale = RowAt(args.scale, row);
      const Acc rstd = *RowAt(args.rstd, row);
      T* const dx = args.dx + row * args.cols;
      // Calls fn(column, terms, dy) for each access.
      const auto for_each = [&](auto fn) {
        for (int64_t begin = first; begin < args.cols;
             begin += kLoads * stride) {
#pragma unroll
          for (int i = 0; i < kLoads; ++i) {
            const int64_t column = begin + i * stride;
            if (column < args.cols) {
              x[i].Load(x_row + column);
              dy[i].Load(dy_row + column);
            }
          }
#pragma unroll
          for (int i = 0; i < kLoads; ++i) {
            const int64_t column = begin + i * stride;
            if (column < args.cols) {
              fn(column, Terms(x[i], dy[i], rstd, scale, column), dy[i]);
            }
          }
        }
      };
      Sum dot = 0;
      for_each([&](int64_t, const Terms& terms, const Pack<T, kSize>&) {
        dot += terms.Dot();
      });
      const Sum mean = row_sum(dot) / static_cast<Sum>(args.cols);
      for_each([&](int64_t column, const Terms& terms,
                   const Pack<T, kSize>& dy_pack) {
        terms.StoreDx(mean, dx + column);
        if constexpr (kHasScale<Scale>) {
          Sum* const part = args.PartAt(group, blockIdx.y) + column;
          Sum sums[kSize] = {};
          if (r != blockIdx.y) LoadValues(part, sums);
          for (int k = 0; k < kSize; ++k) sums[k] += dy_pack[k] * terms.xhat[k];
          StoreValues(sums, part);
        }
      });
    }
  }
}

template <typename Sum, typename S>
struct SumPartsArgs {
  int64_t groups;
  int64_t parts;
  int64_t workspace_parts;
  int64_t cols;
  const Sum* workspace;
  S* dscale;
};

// dscale from the first `parts` parts. A block has a warp of columns.
template <typename Sum, typename S>
__global__ __launch_bounds__(1024) void SumPartsKernel(
    const __grid_constant__ SumPartsArgs<Sum, S> args) {
  Sum* const sums = SharedMemory<Sum>();  // [blockDim.y, kWarp]
  const int64_t column = int64_t{blockIdx.x} * kWarp + threadIdx.x;
  for (int64_t group = blockIdx.y; group < args.groups; group += gridDim.y) {
    Sum sum = 0;
    if (column < args.cols) {
      const Sum* const from =
          args.workspace + group * args.workspace_parts * args.cols + column;
#pragma unroll 4
      for (int64_t part = threadIdx.y; part < args.parts; part += blockDim.y) {
        sum += from[part * args.cols];
      }
    }
    sums[threadIdx.y * kWarp + threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && column < args.cols) {
      for (int i = 1; i < blockDim.y; ++i) sum += sums[i * kWarp + threadIdx.x];
      args.dscale[group * args.cols + column] = RoundTo<S>(sum);
    }
    __syncthreads();
  }
}

template <typename T, typename Scale>
void LaunchSumParts(cudaStream_t stream,
                    const RmsNormBackwardArgs<T, Scale>& args, int64_t parts) {
  using Sum = RmsNormSum<T, Scale>;
  using S = RmsNormScale<Scale>;
  LaunchShape shape;
  shape.block = dim3(kWarp, RoundThreads(std::clamp<int64_t>(parts, 1, 32)));
  shape.grid = dim3(CeilDiv(args.cols, kWarp),
                    std::min<int64_t>(args.groups, kMaxGridY));
  shape.shared_bytes = shape.block.x * shape.block.y * sizeof(Sum);
  Launch("SumPartsKernel", SumPartsKernel<Sum, S>, shape, stream,
         SumPartsArgs<Sum, S>{args.groups, parts, args.workspace_parts,
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
      if (sums_in_workspace || parts > 1) LaunchSumParts(stream, args, parts);
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
    if constexpr (kHasScale<Scale>) LaunchSumParts(device.stream, args, 0);
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
