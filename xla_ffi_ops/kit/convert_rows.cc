// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/kit/convert_rows.h"

#include <cstdint>
#include <vector>

#include "xla_ffi_ops/kit/cpu_level.h"
#include "xla_ffi_ops/kit/device.h"
#include "xla_ffi_ops/kit/row_elements.h"

#ifdef XLA_FFI_OPS_CPU_LEVELS
#include <immintrin.h>
#endif

namespace xla_ffi_ops::internal {
namespace {

template <typename From, typename To>
XLA_FFI_OPS_HD void Convert(const From* from, To* to, int64_t n) {
  for (int64_t j = 0; j < n; ++j) to[j] = from[j];
}

template <typename Row>
void Split(Row from, float* to, int64_t n) {
  AtCpuLevel([=]() XLA_FFI_OPS_INLINED {
    float* const second = to + (n + 1) / 2;
    for (int64_t k = 0; k < n / 2; ++k) {
      to[k] = from.template At<0>(k);
      second[k] = from.template At<1>(k);
    }
    if (n % 2 != 0) to[n / 2] = from.One(n - 1);
  });
}

#ifdef XLA_FFI_OPS_CPU_LEVELS

// As Float16 does, these round to nearest even whatever MXCSR says, and keep
// subnormal numbers. (Of AVX-512, those with a mask: for the others, g++ 12
// warns of its own headers: https://gcc.gnu.org/PR105593.)
constexpr __mmask16 kAll = 0xffff;

// While a piece is converted, the next one is fetched to the second-level
// cache: loops over a piece leave the memory idle.
template <bool kStores>
XLA_FFI_OPS_HD void Fetch(const Float16* x) {
  __builtin_prefetch(x, kStores, 2);
}

XLA_FFI_OPS_V4 void WidenV4(const Float16* from, float* to, int64_t n) {
  int64_t j = 0;
  for (; j + 16 <= n; j += 16) {
    Fetch<false>(from + j + n);
    const auto half =
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + j));
    _mm512_storeu_ps(to + j, _mm512_maskz_cvtph_ps(kAll, half));
  }
  Convert(from + j, to + j, n - j);
}

XLA_FFI_OPS_V4 void NarrowV4(const float* from, Float16* to, int64_t n) {
  int64_t j = 0;
  for (; j + 16 <= n; j += 16) {
    Fetch<true>(to + j + n);
    const auto half = _mm512_maskz_cvtps_ph(kAll, _mm512_loadu_ps(from + j),
                                            _MM_FROUND_TO_NEAREST_INT);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + j), half);
  }
  Convert(from + j, to + j, n - j);
}

XLA_FFI_OPS_V3 void WidenV3(const Float16* from, float* to, int64_t n) {
  int64_t j = 0;
#pragma GCC unroll 4  // A tenth of the time.
  for (; j + 8 <= n; j += 8) {
    Fetch<false>(from + j + n);
    const auto half =
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + j));
    _mm256_storeu_ps(to + j, _mm256_cvtph_ps(half));
  }
  Convert(from + j, to + j, n - j);
}

XLA_FFI_OPS_V3 void NarrowV3(const float* from, Float16* to, int64_t n) {
  int64_t j = 0;
#pragma GCC unroll 4
  for (; j + 8 <= n; j += 8) {
    Fetch<true>(to + j + n);
    const auto half =
        _mm256_cvtps_ph(_mm256_loadu_ps(from + j), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + j), half);
  }
  Convert(from + j, to + j, n - j);
}

// Rounds the upper halves of floats that are not NaN.
XLA_FFI_OPS_V4 __m512i RoundUpperV4(__m512i bits) {
  const __m512i odd = _mm512_maskz_and_epi32(
      kAll, _mm512_maskz_srli_epi32(kAll, bits, 16), _mm512_set1_epi32(1));
  const __m512i half =
      _mm512_maskz_add_epi32(kAll, odd, _mm512_set1_epi32(0x7fff));
  return _mm512_maskz_srli_epi32(kAll, _mm512_maskz_add_epi32(kAll, bits, half),
                                 16);
}
XLA_FFI_OPS_V3 __m256i RoundUpperV3(__m256i bits) {
  const __m256i odd =
      _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i half = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff));
  return _mm256_srli_epi32(_mm256_add_epi32(bits, half), 16);
}

// Compiled from BFloat16::operator=, these would take twice as long: vectors
// with a NaN are rare, and a test of two of them is one instruction.
XLA_FFI_OPS_V4 void NarrowV4(const float* from, BFloat16* to, int64_t n) {
  int64_t j = 0;
  for (; j + 32 <= n; j += 32) {
    const __m512 low = _mm512_loadu_ps(from + j);
    const __m512 high = _mm512_loadu_ps(from + j + 16);
    if (_mm512_cmp_ps_mask(low, high, _CMP_UNORD_Q) != 0) {
      Convert(from + j, to + j, 32);
      continue;
    }
    for (int k = 0; k < 2; ++k) {
      const __m512i rounded =
          RoundUpperV4(_mm512_castps_si512(k == 0 ? low : high));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + j + 16 * k),
                          _mm512_maskz_cvtepi32_epi16(kAll, rounded));
    }
  }
  Convert(from + j, to + j, n - j);
}
XLA_FFI_OPS_V3 void NarrowV3(const float* from, BFloat16* to, int64_t n) {
  int64_t j = 0;
  for (; j + 16 <= n; j += 16) {
    const __m256 low = _mm256_loadu_ps(from + j);
    const __m256 high = _mm256_loadu_ps(from + j + 8);
    if (_mm256_movemask_ps(_mm256_cmp_ps(low, high, _CMP_UNORD_Q)) != 0) {
      Convert(from + j, to + j, 16);
      continue;
    }
    const __m256i words =
        _mm256_packus_epi32(RoundUpperV3(_mm256_castps_si256(low)),
                            RoundUpperV3(_mm256_castps_si256(high)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + j),
                        _mm256_permute4x64_epi64(words, 0xd8));
  }
  Convert(from + j, to + j, n - j);
}

#endif

}  // namespace

void WidenRow(const Float16* from, float* to, int64_t n) {
#ifdef XLA_FFI_OPS_CPU_LEVELS
  if (CpuLevel() == 4) return WidenV4(from, to, n);
  if (CpuLevel() == 3) return WidenV3(from, to, n);
#endif
  Convert(from, to, n);
}

void NarrowRow(const float* from, Float16* to, int64_t n) {
#ifdef XLA_FFI_OPS_CPU_LEVELS
  if (CpuLevel() == 4) return NarrowV4(from, to, n);
  if (CpuLevel() == 3) return NarrowV3(from, to, n);
#endif
  Convert(from, to, n);
}

void WidenRow(const BFloat16* from, float* to, int64_t n) {
  AtCpuLevel([=]() XLA_FFI_OPS_INLINED { Convert(from, to, n); });
}

void SplitRow(const BFloat16* from, float* to, int64_t n) {
  Split(Pairs{from}, to, n);
}

void SplitRow(const float* from, float* to, int64_t n) {
  Split(Elements<float, 2>{from}, to, n);
}

void JoinRow(float* row, int64_t n) {
  const std::vector<float> split(row, row + n);
  const SplitPairs<float> from{split.data(), n};
  AtCpuLevel([=]() XLA_FFI_OPS_INLINED {
    for (int64_t k = 0; k < n / 2; ++k) {
      row[2 * k] = from.At<0>(k);
      row[2 * k + 1] = from.At<1>(k);
    }
    if (n % 2 != 0) row[n - 1] = from.One(n - 1);
  });
}

void NarrowRow(const float* from, BFloat16* to, int64_t n) {
#ifdef XLA_FFI_OPS_CPU_LEVELS
  if (CpuLevel() == 4) return NarrowV4(from, to, n);
  if (CpuLevel() == 3) return NarrowV3(from, to, n);
#endif
  Convert(from, to, n);
}

}  // namespace xla_ffi_ops::internal
