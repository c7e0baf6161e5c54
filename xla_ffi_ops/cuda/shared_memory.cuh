// SPDX-License-Identifier: Apache-2.0
// The shared memory of a block.
#ifndef XLA_FFI_OPS_CUDA_SHARED_MEMORY_CUH_
#define XLA_FFI_OPS_CUDA_SHARED_MEMORY_CUH_

#include <cuda_runtime.h>

namespace xla_ffi_ops {

// All of it: what LaunchShape::shared_bytes asks for.
template <typename T>
__device__ inline T* SharedMemory() {
  extern __shared__ __align__(16) unsigned char memory[];
  return reinterpret_cast<T*>(memory);
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_CUDA_SHARED_MEMORY_CUH_
