// SPDX-License-Identifier: Apache-2.0
// The CUDA kernel: a warp for each row.
#include <algorithm>

#include "l1_distance.h"
#include "xla_ffi_ops/cuda/launch.cuh"

namespace my_project {
namespace {

constexpr int kWarp = 32;
constexpr int kRowsPerBlock = 8;
constexpr int64_t kMaxBlocks = 4096;

struct Args {
  int64_t begin, end;
  Rows a, b;
  float* y;
};

__global__ void L1DistanceKernel(Args args) {
  const int64_t step = int64_t{gridDim.x} * kRowsPerBlock;
  int64_t row = args.begin + int64_t{blockIdx.x} * kRowsPerBlock + threadIdx.y;
  for (; row < args.end; row += step) {
    const float *a = args.a[row], *b = args.b[row];
    float sum = 0;
    for (int64_t i = threadIdx.x; i < args.a.cols; i += kWarp) {
      sum += fabsf(a[i] - b[i]);
    }
    for (int lane = kWarp / 2; lane > 0; lane /= 2) {
      sum += __shfl_xor_sync(0xffffffff, sum, lane);
    }
    if (threadIdx.x == 0) args.y[row] = sum;
  }
}

}  // namespace

void L1Distance(xla_ffi_ops::Cuda device, int64_t begin, int64_t end, Rows a,
                Rows b, float* y) {
  const xla_ffi_ops::StreamDevice current(device.stream);
  const int64_t blocks = (end - begin + kRowsPerBlock - 1) / kRowsPerBlock;
  const unsigned grid = std::min(blocks, kMaxBlocks);
  xla_ffi_ops::Launch("L1DistanceKernel", L1DistanceKernel,
                      {grid, {kWarp, kRowsPerBlock}}, device.stream,
                      Args{begin, end, a, b, y});
}

}  // namespace my_project
