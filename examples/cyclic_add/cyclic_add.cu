// SPDX-License-Identifier: Apache-2.0
// The CUDA kernel. It sees none of XLA's headers, either.
#include <algorithm>
#include <cstdint>

#include "cyclic_add.h"
#include "xla_ffi_ops/cuda/stream_device.cuh"

namespace cyclic_add {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kMaxBlocks = 4096;

__global__ void AddKernel(int64_t begin, int64_t end, int64_t n, const float* a,
                          const float* b, float* out) {
  const int64_t step = int64_t{gridDim.x} * kThreads;
  int64_t i = begin + int64_t{blockIdx.x} * kThreads + threadIdx.x;
  for (; i < end; i += step) out[i] = a[i % n] + b[i];
}

}  // namespace

void Add(xla_ffi_ops::Cuda device, int64_t begin, int64_t end, int64_t n,
         const float* a, const float* b, float* out) {
  const xla_ffi_ops::StreamDevice current(device.stream);
  const int64_t blocks = (end - begin + kThreads - 1) / kThreads;
  AddKernel<<<std::min(blocks, kMaxBlocks), kThreads, 0, device.stream>>>(
      begin, end, n, a, b, out);
  xla_ffi_ops::CheckCuda("AddKernel", cudaGetLastError());
}

}  // namespace cyclic_add
