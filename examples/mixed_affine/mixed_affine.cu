// SPDX-License-Identifier: Apache-2.0
// One block for a row, or for a part of the rows: simple before fast. Threads
// own columns, so that nothing is added atomically and results do not vary.
#include <cuda_bf16.h>

#include <algorithm>
#include <cstdint>

#include "mixed_affine.h"
#include "xla_ffi_ops/cuda/stream_device.cuh"

namespace mixed_affine {
namespace {

using xla_ffi_ops::BFloat16;

constexpr int kThreads = 256;
constexpr int64_t kMaxBlocks = 65535;

__device__ float Load(float value) { return value; }
__device__ float Load(BFloat16 value) {
  return __bfloat162float(reinterpret_cast<const __nv_bfloat16&>(value));
}
__device__ void Store(float value, float* to) { *to = value; }
__device__ void Store(float value, BFloat16* to) {
  *reinterpret_cast<__nv_bfloat16*>(to) = __float2bfloat16_rn(value);
}

// All threads of the block get the sum of their values.
__device__ float BlockSum(float value) {
  __shared__ float values[kThreads];
  values[threadIdx.x] = value;
  __syncthreads();
  for (int step = kThreads / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) values[threadIdx.x] += values[threadIdx.x + step];
    __syncthreads();
  }
  const float sum = values[0];
  __syncthreads();  // The next call writes to `values`.
  return sum;
}

template <typename X, typename W>
__global__ void ForwardKernel(int64_t begin, int64_t end, ForwardArgs<X, W> a) {
  for (int64_t row = begin + blockIdx.x; row < end; row += gridDim.x) {
    const X* const x = a.x + row * a.d;
    float sum = 0;
    for (int64_t j = threadIdx.x; j < a.d; j += kThreads) {
      sum += Load(x[j]) * Load(x[j]);
    }
    const float rstd = 1 / sqrtf(BlockSum(sum) / a.d + a.eps);
    for (int64_t j = threadIdx.x; j < a.d; j += kThreads) {
      Store(Load(x[j]) * rstd * Load(a.weight[j]), a.y + row * a.d + j);
    }
    if (threadIdx.x == 0) a.rstd[row] = rstd;
  }
}

template <typename X, typename W>
__global__ void BackwardKernel(int64_t begin, int64_t end,
                               BackwardArgs<X, W> a) {
  for (int64_t p = begin + blockIdx.x; p < end; p += gridDim.x) {
    float* const partial = a.partial + p * a.d;
    for (int64_t j = threadIdx.x; j < a.d; j += kThreads) partial[j] = 0;
    for (int64_t row = p; row < a.rows; row += a.parts) {
      const X* const x = a.x + row * a.d;
      const W* const dy = a.dy + row * a.d;
      const float rstd = a.rstd[row];
      float sum = 0;
      for (int64_t j = threadIdx.x; j < a.d; j += kThreads) {
        sum += Load(dy[j]) * Load(a.weight[j]) * Load(x[j]);
        partial[j] += Load(dy[j]) * Load(x[j]) * rstd;
      }
      const float scale = BlockSum(sum) / a.d * rstd * rstd;
      for (int64_t j = threadIdx.x; j < a.d; j += kThreads) {
        Store(rstd * (Load(dy[j]) * Load(a.weight[j]) - Load(x[j]) * scale),
              a.dx + row * a.d + j);
      }
    }
  }
}

template <typename X, typename W>
__global__ void SumPartsKernel(BackwardArgs<X, W> a) {
  int64_t j = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  for (; j < a.d; j += int64_t{gridDim.x} * kThreads) {
    float sum = 0;
    for (int64_t p = 0; p < a.parts; ++p) sum += a.partial[p * a.d + j];
    Store(sum, a.dweight + j);
  }
}

template <typename... Args>
void Launch(const char* name, void (*kernel)(Args...), Cuda device,
            int64_t blocks, Args... args) {
  if (blocks <= 0) return;
  const xla_ffi_ops::StreamDevice current(device.stream);
  kernel<<<std::min(blocks, kMaxBlocks), kThreads, 0, device.stream>>>(args...);
  xla_ffi_ops::CheckCuda(name, cudaGetLastError());
}

}  // namespace

template <typename X, typename W>
void Forward(Cuda device, int64_t begin, int64_t end, ForwardArgs<X, W> a) {
  Launch("ForwardKernel", ForwardKernel<X, W>, device, end - begin, begin, end,
         a);
}

template <typename X, typename W>
void Backward(Cuda device, int64_t begin, int64_t end, BackwardArgs<X, W> a) {
  Launch("BackwardKernel", BackwardKernel<X, W>, device, end - begin, begin,
         end, a);
}

template <typename X, typename W>
void SumParts(Cuda device, BackwardArgs<X, W> a) {
  Launch("SumPartsKernel", SumPartsKernel<X, W>, device,
         (a.d + kThreads - 1) / kThreads, a);
}

#define MIXED_AFFINE_INSTANTIATE(X, W)                                \
  template void Forward(Cuda, int64_t, int64_t, ForwardArgs<X, W>);   \
  template void Backward(Cuda, int64_t, int64_t, BackwardArgs<X, W>); \
  template void SumParts(Cuda, BackwardArgs<X, W>);
MIXED_AFFINE_INSTANTIATE(float, float)
MIXED_AFFINE_INSTANTIATE(float, BFloat16)
MIXED_AFFINE_INSTANTIATE(BFloat16, float)
MIXED_AFFINE_INSTANTIATE(BFloat16, BFloat16)

}  // namespace mixed_affine
