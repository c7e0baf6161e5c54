// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/kit/float16_rows.h"

#include <cstdint>

#include "xla_ffi_ops/kit/cpu_level.h"

#ifdef XLA_FFI_OPS_CPU_LEVELS
#include <immintrin.h>
#endif

namespace xla_ffi_ops::internal {
namespace {

template <typename T>
void Widen(const T* from, float* to, int64_t n) {
  for (int64_t j = 0; j < n; ++j) to[j] = from[j];
}

template <typename T>
void Narrow(const float* from, T* to, int64_t n) {
  for (int64_t j = 0; j < n; ++j) to[j] = from[j];
}

#ifdef XLA_FFI_OPS_CPU_LEVELS

// As Float16 does, these round to nearest even whatever MXCSR says, and keep
// subnormal numbers. (Of AVX-512, those with a mask: for the others, g++ 12
// warns of its own headers: https://gcc.gnu.org/PR105593.)
constexpr __mmask16 kAll = 0xffff;

XLA_FFI_OPS_V4 void WidenV4(const Float16* from, float* to, int64_t n) {
  int64_t j = 0;
  for (; j + 16 <= n; j += 16) {
    const auto half =
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + j));
    _mm512_storeu_ps(to + j, _mm512_maskz_cvtph_ps(kAll, half));
  }
  Widen(from + j, to + j, n - j);
}

XLA_FFI_OPS_V4 void NarrowV4(const float* from, Float16* to, int64_t n) {
  int64_t j = 0;
  for (; j + 16 <= n; j += 16) {
    const auto half = _mm512_maskz_cvtps_ph(kAll, _mm512_loadu_ps(from + j),
                                            _MM_FROUND_TO_NEAREST_INT);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + j), half);
  }
  Narrow(from + j, to + j, n - j);
}

XLA_FFI_OPS_V3 void WidenV3(const Float16* from, float* to, int64_t n) {
  int64_t j = 0;
  for (; j + 8 <= n; j += 8) {
    const auto half =
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + j));
    _mm256_storeu_ps(to + j, _mm256_cvtph_ps(half));
  }
  Widen(from + j, to + j, n - j);
}

XLA_FFI_OPS_V3 void NarrowV3(const float* from, Float16* to, int64_t n) {
  int64_t j = 0;
  for (; j + 8 <= n; j += 8) {
    const auto half =
        _mm256_cvtps_ph(_mm256_loadu_ps(from + j), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + j), half);
  }
  Narrow(from + j, to + j, n - j);
}

#endif

}  // namespace

void WidenRow(const Float16* from, float* to, int64_t n) {
#ifdef XLA_FFI_OPS_CPU_LEVELS
  if (CpuLevel() == 4) return WidenV4(from, to, n);
  if (CpuLevel() == 3) return WidenV3(from, to, n);
#endif
  Widen(from, to, n);
}

void NarrowRow(const float* from, Float16* to, int64_t n) {
#ifdef XLA_FFI_OPS_CPU_LEVELS
  if (CpuLevel() == 4) return NarrowV4(from, to, n);
  if (CpuLevel() == 3) return NarrowV3(from, to, n);
#endif
  Narrow(from, to, n);
}

// Kernels for newer machines convert bfloat16 themselves.
void WidenRow(const BFloat16* from, float* to, int64_t n) {
  Widen(from, to, n);
}

void NarrowRow(const float* from, BFloat16* to, int64_t n) {
  Narrow(from, to, n);
}

}  // namespace xla_ffi_ops::internal
