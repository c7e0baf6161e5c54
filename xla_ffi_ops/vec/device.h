// SPDX-License-Identifier: Apache-2.0
// Where a kernel runs. Kernels are overloaded on these types; neither needs a
// header of XLA or CUDA.
#ifndef XLA_FFI_OPS_VEC_DEVICE_H_
#define XLA_FFI_OPS_VEC_DEVICE_H_

struct CUstream_st;  // cudaStream_t is a pointer to it.

namespace xla_ffi_ops {

// The calling thread. A CPU kernel computes a range of rows and knows nothing
// of threads; the handler splits the rows (parallel.h).
struct Cpu {};

// A CUDA stream. A CUDA kernel only enqueues work on it.
struct Cuda {
  CUstream_st* stream;
};

}  // namespace xla_ffi_ops

// A function that kernels of all devices inline: on the CPU, one that is not
// inlined is compiled for the oldest machine (cpu_level.h).
#ifdef __CUDACC__
#define XLA_FFI_OPS_HD __host__ __device__ __forceinline__
#elif defined(__GNUC__)
#define XLA_FFI_OPS_HD [[gnu::always_inline]] inline
#else
#define XLA_FFI_OPS_HD inline
#endif

// The same for a lambda: [&](int i) XLA_FFI_OPS_INLINED { ... }.
#ifdef __GNUC__
#define XLA_FFI_OPS_INLINED __attribute__((always_inline))
#else
#define XLA_FFI_OPS_INLINED
#endif

// Before a loop in which no result depends on what another one overwrites.
// (What clang has for it warns of each loop that stays as it is.)
#ifdef __clang__
#define XLA_FFI_OPS_INDEPENDENT
#else
#define XLA_FFI_OPS_INDEPENDENT _Pragma("GCC ivdep")
#endif

#endif  // XLA_FFI_OPS_VEC_DEVICE_H_
