// SPDX-License-Identifier: Apache-2.0
// A kernel with internal linkage: nvcc gives it a name that a careless build
// does not reproduce.
#include <algorithm>
#include <cstdint>

#include "tests/cuda/twice.h"
#include "tests/cuda/vector.cuh"

namespace xla_ffi_ops {
namespace {

constexpr int kThreads = 256;

bool IsAligned(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer) % sizeof(float4) == 0;
}

template <typename T>
__global__ void TwiceKernel(const T* x, T* y, int64_t size) {
  const int64_t step = int64_t{gridDim.x} * kThreads;
  int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  for (; i < size; i += step) y[i] = 2.0f * x[i];
}

template <typename T>
const char* Launch(Cuda device, const float* x, float* y, int64_t size) {
  size = size * sizeof(float) / sizeof(T);
  const int blocks = std::min<int64_t>((size + kThreads - 1) / kThreads, 1024);
  TwiceKernel<<<blocks, kThreads, 0, device.stream>>>(
      reinterpret_cast<const T*>(x), reinterpret_cast<T*>(y), size);
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

}  // namespace

const char* Twice(Cuda device, int64_t begin, int64_t end, const float* x,
                  float* y) {
  x += begin;
  y += begin;
  return (end - begin) % 4 == 0 && IsAligned(x) && IsAligned(y)
             ? Launch<float4>(device, x, y, end - begin)
             : Launch<float>(device, x, y, end - begin);
}

}  // namespace xla_ffi_ops
