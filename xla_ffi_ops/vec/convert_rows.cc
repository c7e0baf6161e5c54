// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/vec/convert_rows.h"

#include <cstdint>

#include "xla_ffi_ops/vec/cpu_level.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/row_elements.h"

namespace xla_ffi_ops::internal {
namespace {

template <typename T>
void Widen(const T* from, float* to, int64_t n) {
  AtCpuLevel([=](auto level) XLA_FFI_OPS_INLINED {
    ForBlocks<kRowBlock<float>>(n,
                                [=](int64_t j, auto count) XLA_FFI_OPS_INLINED {
                                  WidenBlock<level, count>(from + j, to + j);
                                });
  });
}

template <typename T>
void Narrow(const float* from, T* to, int64_t n) {
  AtCpuLevel([=](auto level) XLA_FFI_OPS_INLINED {
    ForBlocks<kRowBlock<float>>(n,
                                [=](int64_t j, auto count) XLA_FFI_OPS_INLINED {
                                  NarrowBlock<level, count>(from + j, to + j);
                                });
  });
}

}  // namespace

void WidenRow(const Float16* from, float* to, int64_t n) { Widen(from, to, n); }
void WidenRow(const BFloat16* from, float* to, int64_t n) {
  Widen(from, to, n);
}
void NarrowRow(const float* from, Float16* to, int64_t n) {
  Narrow(from, to, n);
}
void NarrowRow(const float* from, BFloat16* to, int64_t n) {
  Narrow(from, to, n);
}

}  // namespace xla_ffi_ops::internal
