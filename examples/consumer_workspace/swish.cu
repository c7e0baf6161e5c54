// SPDX-License-Identifier: Apache-2.0
// The CUDA kernel: each thread takes every so many-th element.
#include <algorithm>

#include "swish.h"
#include "xla_ffi_ops/cuda/launch.cuh"

namespace my_project {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kMaxBlocks = 4096;

struct Args {
  int64_t begin, end;
  const float* x;
  float* y;
};

__global__ void SwishKernel(Args args) {
  const int64_t step = int64_t{gridDim.x} * kThreads;
  int64_t i = args.begin + int64_t{blockIdx.x} * kThreads + threadIdx.x;
  for (; i < args.end; i += step) args.y[i] = Swish(args.x[i]);
}

}  // namespace

void Swish(xla_ffi_ops::Cuda device, int64_t begin, int64_t end, const float* x,
           float* y) {
  const xla_ffi_ops::StreamDevice current(device.stream);
  const int64_t blocks = (end - begin + kThreads - 1) / kThreads;
  const unsigned grid = std::min(blocks, kMaxBlocks);
  xla_ffi_ops::Launch("SwishKernel", SwishKernel, {grid, kThreads},
                      device.stream, Args{begin, end, x, y});
}

}  // namespace my_project
