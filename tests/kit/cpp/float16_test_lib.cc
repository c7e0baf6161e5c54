// SPDX-License-Identifier: Apache-2.0
// float16.h for float16_test.py: conversions of whole arrays, in loops that are
// vectorized as those of a kernel.
#include <cstdint>

#include "xla_ffi_ops/kit/cpu_level.h"
#include "xla_ffi_ops/kit/device.h"
#include "xla_ffi_ops/kit/float16.h"

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

// noinline, so that no arithmetic moves out of the scope that flushes.
#define DEFINE_CONVERSION(name, From, To)                                     \
  [[gnu::noinline]] void Convert##name(const From* from, To* to, int64_t n) { \
    AtCpuLevel([=]() XLA_FFI_OPS_INLINED {                                    \
      for (int64_t i = 0; i < n; ++i) to[i] = from[i];                        \
    });                                                                       \
  }                                                                           \
  extern "C" void name(const From* from, To* to, int64_t n, bool flush) {     \
    if (flush) {                                                              \
      const ScopedFlush scope;                                                \
      Convert##name(from, to, n);                                             \
    } else {                                                                  \
      Convert##name(from, to, n);                                             \
    }                                                                         \
  }                                                                           \
  static_assert(true, "a semicolon follows")

namespace xla_ffi_ops {

DEFINE_CONVERSION(float16_to_float32, Float16, float);
DEFINE_CONVERSION(float32_to_float16, float, Float16);
DEFINE_CONVERSION(float64_to_float16, double, Float16);
DEFINE_CONVERSION(float64_to_bfloat16, double, BFloat16);
DEFINE_CONVERSION(bfloat16_to_float32, BFloat16, float);
DEFINE_CONVERSION(float32_to_bfloat16, float, BFloat16);

extern "C" int cpu_level() { return CpuLevel(); }

}  // namespace xla_ffi_ops
