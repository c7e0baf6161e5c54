// SPDX-License-Identifier: Apache-2.0
// C++ that calls CUDA: headers and runtime library are of one version.
#include <cuda_runtime_api.h>

#include <cstdio>

int main() {
  int version = 0;
  const cudaError_t error = cudaRuntimeGetVersion(&version);
  std::printf("%s: CUDA %d\n", cudaGetErrorString(error), version);
  return error != cudaSuccess || version != CUDART_VERSION;
}
