// SPDX-License-Identifier: Apache-2.0
// Compares eight keys at a time, and copies those among eight values that are
// wanted. Functions of XLA_FFI_OPS_EIGHTS may, if it is defined, and if the
// level is kWideLevel.
#ifndef XLA_FFI_OPS_VEC_EIGHTS_H_
#define XLA_FFI_OPS_VEC_EIGHTS_H_

#include "xla_ffi_ops/vec/cpu_level.h"

#ifdef XLA_FFI_OPS_CPU_LEVELS
#define XLA_FFI_OPS_EIGHTS XLA_FFI_OPS_V3

#include <immintrin.h>

#include <cstdint>

#include "xla_ffi_ops/vec/places.h"

namespace xla_ffi_ops::internal::eights {

template <typename T>
XLA_FFI_OPS_EIGHTS inline __m256i Load(const T* x) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x));
}

// A bit for each of eight keys: whether it is below a limit, or above it.
XLA_FFI_OPS_EIGHTS inline unsigned Bits(__m256i words) {
  return _mm256_movemask_ps(_mm256_castsi256_ps(words));
}
XLA_FFI_OPS_EIGHTS inline unsigned Bits(__m256i low, __m256i high) {
  return _mm256_movemask_pd(_mm256_castsi256_pd(low)) |
         _mm256_movemask_pd(_mm256_castsi256_pd(high)) << 4;
}
XLA_FFI_OPS_EIGHTS inline unsigned Below(const int32_t* keys, int32_t limit) {
  return Bits(_mm256_cmpgt_epi32(_mm256_set1_epi32(limit), Load(keys)));
}
XLA_FFI_OPS_EIGHTS inline unsigned Above(const int32_t* keys, int32_t limit) {
  return Bits(_mm256_cmpgt_epi32(Load(keys), _mm256_set1_epi32(limit)));
}
XLA_FFI_OPS_EIGHTS inline unsigned Below(const int64_t* keys, int64_t limit) {
  const __m256i all = _mm256_set1_epi64x(limit);
  return Bits(_mm256_cmpgt_epi64(all, Load(keys)),
              _mm256_cmpgt_epi64(all, Load(keys + 4)));
}
XLA_FFI_OPS_EIGHTS inline unsigned Above(const int64_t* keys, int64_t limit) {
  const __m256i all = _mm256_set1_epi64x(limit);
  return Bits(_mm256_cmpgt_epi64(Load(keys), all),
              _mm256_cmpgt_epi64(Load(keys + 4), all));
}

// Moves the 32-bit words whose bits are 1 to the front.
XLA_FFI_OPS_EIGHTS inline __m256i Pack(__m256i words, unsigned bits) {
  return _mm256_permutevar8x32_epi32(words, Load(kPlaces<int32_t>.of[bits]));
}

// Copies those of eight values whose bits are 1, and writes all eight of y.
XLA_FFI_OPS_EIGHTS inline void Copy(const uint32_t* x, unsigned bits,
                                    uint32_t* y) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), Pack(Load(x), bits));
}
XLA_FFI_OPS_EIGHTS inline void Copy(const uint16_t* x, unsigned bits,
                                    uint16_t* y) {
  const __m128i own = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x));
  const __m256i words = Pack(_mm256_cvtepu16_epi32(own), bits);
  const __m128i packed = _mm_packus_epi32(_mm256_castsi256_si128(words),
                                          _mm256_extracti128_si256(words, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(y), packed);
}
XLA_FFI_OPS_EIGHTS inline void Copy(const uint8_t* x, unsigned bits,
                                    uint8_t* y) {
  uint16_t wide[8];
  for (int i = 0; i < 8; ++i) wide[i] = x[i];
  Copy(wide, bits, wide);
  for (int i = 0; i < 8; ++i) y[i] = static_cast<uint8_t>(wide[i]);
}
// Each bit of a half byte, twice.
constexpr uint8_t kTwice[] = {0x00, 0x03, 0x0c, 0x0f, 0x30, 0x33, 0x3c, 0x3f,
                              0xc0, 0xc3, 0xcc, 0xcf, 0xf0, 0xf3, 0xfc, 0xff};
XLA_FFI_OPS_EIGHTS inline void Copy(const uint64_t* x, unsigned bits,
                                    uint64_t* y) {
  const __m256i low = Pack(Load(x), kTwice[bits & 15]);
  const __m256i high = Pack(Load(x + 4), kTwice[bits >> 4]);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), low);
  y += __builtin_popcount(bits & 15);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), high);
}
XLA_FFI_OPS_EIGHTS inline void Copy(const int32_t* x, unsigned bits,
                                    int32_t* y) {
  Copy(reinterpret_cast<const uint32_t*>(x), bits,
       reinterpret_cast<uint32_t*>(y));
}
XLA_FFI_OPS_EIGHTS inline void Copy(const int64_t* x, unsigned bits,
                                    int64_t* y) {
  Copy(reinterpret_cast<const uint64_t*>(x), bits,
       reinterpret_cast<uint64_t*>(y));
}

}  // namespace xla_ffi_ops::internal::eights

#endif

#endif  // XLA_FFI_OPS_VEC_EIGHTS_H_
