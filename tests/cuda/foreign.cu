// SPDX-License-Identifier: Apache-2.0
// A handler and its kernel in one source, with XLA's own macro.
#include <cuda_runtime.h>

#include <cstdint>

#include "xla/ffi/api/ffi.h"

namespace {

namespace ffi = xla::ffi;

__global__ void TwiceKernel(int64_t n, const float* x, float* y) {
  int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (; i < n; i += int64_t{gridDim.x} * blockDim.x) y[i] = 2 * x[i];
}

ffi::Error Twice(cudaStream_t stream, ffi::Buffer<ffi::F32> x,
                 ffi::ResultBuffer<ffi::F32> y) {
  if (x.element_count() != y->element_count()) {
    return ffi::Error::InvalidArgument("y must have as many elements as x");
  }
  TwiceKernel<<<64, 256, 0, stream>>>(x.element_count(), x.typed_data(),
                                      y->typed_data());
  const cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) return ffi::Error::Success();
  return ffi::Error::Internal(cudaGetErrorString(error));
}

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(ForeignTwiceCuda, Twice,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::PlatformStream<cudaStream_t>>()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>());
