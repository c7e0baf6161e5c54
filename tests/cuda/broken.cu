// SPDX-License-Identifier: Apache-2.0
// Kernels that do what sass.py has to find, and one that does none of it.
#include <cstdint>

namespace xla_ffi_ops {

__global__ void Sound(const float4* x, float4* y, int64_t size) {
  for (int64_t i = threadIdx.x; i < size; i += blockDim.x) {
    const float4 v = x[i];
    y[i] = {2 * v.x, 2 * v.y, 2 * v.z, 2 * v.w};
  }
}

// More live values than 1024 threads twice on a multiprocessor have registers.
__global__ void __launch_bounds__(1024, 2)
    Spills(const float4* x, float4* y, int64_t size) {
  for (int64_t i = threadIdx.x; i < size; i += blockDim.x) {
    float4 v[16];
#pragma unroll
    for (int k = 0; k < 16; ++k) v[k] = x[16 * i + k];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 16; ++k) y[16 * i + k] = v[15 - k];
  }
}

// An index that only the GPU knows: registers have none.
__global__ void IndexesLocally(const float4* x, float4* y, const int* order,
                               int64_t size) {
  for (int64_t i = threadIdx.x; i < size; i += blockDim.x) {
    float4 v[32];
#pragma unroll
    for (int k = 0; k < 32; ++k) v[k] = x[32 * i + k];
    y[i] = v[order[i] & 31];
  }
}

__global__ void LoadsScalars(const float* x, float4* y, int64_t size) {
  for (int64_t i = threadIdx.x; i < size; i += blockDim.x) {
    const float* v = x + 4 * i;
    y[i] = {v[0], v[1], v[2], v[3]};
  }
}

__global__ void StoresScalars(const float4* x, float* y, int64_t size) {
  for (int64_t i = threadIdx.x; i < size; i += blockDim.x) {
    const float4 v = x[i];
    y[4 * i] = v.x;
    y[4 * i + 1] = v.y;
    y[4 * i + 2] = v.z;
    y[4 * i + 3] = v.w;
  }
}

// A barrier for each row of threads, by a number that only the GPU knows.
__global__ void NumbersBarriers(const float4* x, float4* y, int64_t size) {
  __shared__ float4 shared[1024];
  for (int64_t i = threadIdx.x; i < size; i += blockDim.x) {
    shared[threadIdx.x] = x[i];
    __barrier_sync_count(threadIdx.y + 1, blockDim.x);
    y[i] = shared[blockDim.x - 1 - threadIdx.x];
  }
}

// 16-byte accesses, but not where the time goes.
__global__ void LoopsOverScalars(const float4* x, float4* y, int64_t size) {
  float4 sum = x[0];
  const float* rest = reinterpret_cast<const float*>(x + 1);
  float* copy = reinterpret_cast<float*>(y + 1);
  for (int64_t i = threadIdx.x; i < size; i += blockDim.x) {
    sum.x += rest[i];
    copy[i] = rest[i];
  }
  y[0] = sum;
}

}  // namespace xla_ffi_ops
