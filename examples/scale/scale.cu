// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>

#include "examples/scale/scale.h"
#include "xla_ffi_ops/cuda/stream_device.cuh"

namespace scale {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kMaxBlocks = 4096;

__global__ void ScaleKernel(int64_t n, float factor, const float* x, float* y) {
  const int64_t step = int64_t{gridDim.x} * kThreads;
  int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  for (; i < n; i += step) y[i] = factor * x[i];
}

}  // namespace

// CUDA loads a kernel when it is first asked about.
void Load(xla_ffi_ops::Cuda device) {
  const xla_ffi_ops::StreamDevice current(device.stream);
  cudaFuncAttributes attributes;
  xla_ffi_ops::CheckCuda("ScaleKernel",
                         cudaFuncGetAttributes(&attributes, ScaleKernel));
}

void Scale(xla_ffi_ops::Cuda device, int64_t n, float factor, const float* x,
           float* y) {
  const xla_ffi_ops::StreamDevice current(device.stream);
  const int64_t blocks = (n + kThreads - 1) / kThreads;
  ScaleKernel<<<std::min(blocks, kMaxBlocks), kThreads, 0, device.stream>>>(
      n, factor, x, y);
  xla_ffi_ops::CheckCuda("ScaleKernel", cudaGetLastError());
}

}  // namespace scale
