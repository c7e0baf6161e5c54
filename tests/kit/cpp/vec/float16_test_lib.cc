// SPDX-License-Identifier: Apache-2.0
// float16.h and convert_rows.h for float16_test.py: conversions of whole
// arrays, in loops that are vectorized as those of a kernel.
#include <cstdint>

#include "xla_ffi_ops/vec/convert_rows.h"
#include "xla_ffi_ops/vec/cpu_level.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/float16.h"

#ifdef __SSE__
#include <xmmintrin.h>
#endif

namespace {

// Flushes subnormals, as XLA:CPU does.
class ScopedFlush {
 public:
#ifdef __SSE__
  ScopedFlush() { _mm_setcsr(old_ | 0x8040); }  // FTZ and DAZ
  ~ScopedFlush() { _mm_setcsr(old_); }

 private:
  const unsigned old_ = _mm_getcsr();
#endif
};

}  // namespace

// Calls convert(from, to, n).
#define DEFINE_CONVERSION(name, From, To, convert)                        \
  extern "C" void name(const From* from, To* to, int64_t n, bool flush) { \
    if (flush) {                                                          \
      const ScopedFlush scope;                                            \
      convert(from, to, n);                                               \
    } else {                                                              \
      convert(from, to, n);                                               \
    }                                                                     \
  }                                                                       \
  static_assert(true, "a semicolon follows")

namespace xla_ffi_ops {
namespace {

// noinline, so that no arithmetic moves out of the scope that flushes.
template <typename From, typename To>
[[gnu::noinline]] void Convert(const From* from, To* to, int64_t n) {
  AtCpuLevel([=]() XLA_FFI_OPS_INLINED {
    for (int64_t i = 0; i < n; ++i) to[i] = from[i];
  });
}

[[gnu::noinline]] void Round(const float* from, float* to, int64_t n) {
  AtCpuLevel([=]() XLA_FFI_OPS_INLINED {
    for (int64_t i = 0; i < n; ++i) to[i] = Float16::Rounded(from[i]);
  });
}

}  // namespace

DEFINE_CONVERSION(float16_to_float32, Float16, float, Convert);
DEFINE_CONVERSION(float32_to_float16, float, Float16, Convert);
DEFINE_CONVERSION(float64_to_float16, double, Float16, Convert);
DEFINE_CONVERSION(float64_to_bfloat16, double, BFloat16, Convert);
DEFINE_CONVERSION(bfloat16_to_float32, BFloat16, float, Convert);
DEFINE_CONVERSION(float32_to_bfloat16, float, BFloat16, Convert);
DEFINE_CONVERSION(row_of_float16_to_float32, Float16, float,
                  internal::WidenRow);
DEFINE_CONVERSION(row_of_float32_to_float16, float, Float16,
                  internal::NarrowRow);
DEFINE_CONVERSION(row_of_bfloat16_to_float32, BFloat16, float,
                  internal::WidenRow);
DEFINE_CONVERSION(row_of_float32_to_bfloat16, float, BFloat16,
                  internal::NarrowRow);
DEFINE_CONVERSION(float32_rounded_to_float16, float, float, Round);

extern "C" int cpu_level() { return CpuLevel(); }

}  // namespace xla_ffi_ops
