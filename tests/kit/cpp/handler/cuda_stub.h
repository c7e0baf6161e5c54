// SPDX-License-Identifier: Apache-2.0
// How the kernels of cuda_stub_ffi.cc were called.
#ifndef XLA_FFI_OPS_TESTS_KIT_CUDA_STUB_H_
#define XLA_FFI_OPS_TESTS_KIT_CUDA_STUB_H_

#include <cstdint>

#include "xla/ffi/api/ffi.h"
#include "xla_ffi_ops/vec/device.h"

namespace xla_ffi_ops {

struct StubCall {
  const char* device = nullptr;
  CUstream_st* stream = nullptr;
  int64_t begin = 0;
  int64_t end = 0;
  bool throws = false;
};

extern StubCall stub_call;

}  // namespace xla_ffi_ops

XLA_FFI_DECLARE_HANDLER_SYMBOL(kit_test_stub_cpu);
XLA_FFI_DECLARE_HANDLER_SYMBOL(kit_test_stub_cuda);

#endif  // XLA_FFI_OPS_TESTS_KIT_CUDA_STUB_H_
