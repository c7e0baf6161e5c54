// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>

#include "platforms.h"
#include "xla_ffi_ops/cuda/stream_device.cuh"

namespace platforms {
namespace {

constexpr int64_t kMaxBlocks = 4096;

__global__ void SquareKernel(int64_t begin, int64_t end, const float* x,
                             float* y) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  int64_t i = begin + int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (; i < end; i += step) y[i] = x[i] * x[i];
}

}  // namespace

void Square(xla_ffi_ops::Cuda device, int64_t threads, int64_t begin,
            int64_t end, const float* x, float* y) {
  const xla_ffi_ops::StreamDevice current(device.stream);
  const int64_t blocks = (end - begin + threads - 1) / threads;
  SquareKernel<<<std::min(blocks, kMaxBlocks), threads, 0, device.stream>>>(
      begin, end, x, y);
  xla_ffi_ops::CheckCuda("SquareKernel", cudaGetLastError());
}

}  // namespace platforms
