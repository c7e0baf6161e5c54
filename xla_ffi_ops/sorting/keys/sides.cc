// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/sorting/keys/sides.h"

#include <algorithm>
#include <cstdint>

#include "xla_ffi_ops/vec/cpu_level.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/places.h"

#ifdef XLA_FFI_OPS_CPU_LEVELS
#include <immintrin.h>
#endif

namespace xla_ffi_ops::internal {
namespace {

template <typename Key, typename Out>
void SplitEach(const Key* keys, const Out* values, int64_t n, Key least,
               Key most, Sides<Out>* sides) {
  for (int64_t i = 0; i < n; ++i) {
    *sides->next[(keys[i] >= least) + (keys[i] > most)]++ = values[i];
  }
}

template <typename Key, typename Out>
int64_t KeepEach(const Key* keys, const Out* values, int64_t n, Key least,
                 Key most, Out* kept) {
  // Has no branch: all values are stored; the next one overwrites those that
  // are not wanted.
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) {
    kept[count] = values[i];
    count += (keys[i] >= least) & (keys[i] <= most);
  }
  return count;
}

#ifdef XLA_FFI_OPS_CPU_LEVELS

template <typename T>
XLA_FFI_OPS_V3 inline __m256i Load(const T* x) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x));
}

// A bit for each of eight keys: whether it is below a limit, or above it.
XLA_FFI_OPS_V3 inline unsigned Bits(__m256i words) {
  return _mm256_movemask_ps(_mm256_castsi256_ps(words));
}
XLA_FFI_OPS_V3 inline unsigned Bits(__m256i low, __m256i high) {
  return _mm256_movemask_pd(_mm256_castsi256_pd(low)) |
         _mm256_movemask_pd(_mm256_castsi256_pd(high)) << 4;
}
XLA_FFI_OPS_V3 inline unsigned Below(const int32_t* keys, int32_t limit) {
  return Bits(_mm256_cmpgt_epi32(_mm256_set1_epi32(limit), Load(keys)));
}
XLA_FFI_OPS_V3 inline unsigned Above(const int32_t* keys, int32_t limit) {
  return Bits(_mm256_cmpgt_epi32(Load(keys), _mm256_set1_epi32(limit)));
}
XLA_FFI_OPS_V3 inline unsigned Below(const int64_t* keys, int64_t limit) {
  const __m256i all = _mm256_set1_epi64x(limit);
  return Bits(_mm256_cmpgt_epi64(all, Load(keys)),
              _mm256_cmpgt_epi64(all, Load(keys + 4)));
}
XLA_FFI_OPS_V3 inline unsigned Above(const int64_t* keys, int64_t limit) {
  const __m256i all = _mm256_set1_epi64x(limit);
  return Bits(_mm256_cmpgt_epi64(Load(keys), all),
              _mm256_cmpgt_epi64(Load(keys + 4), all));
}

// Moves the 32-bit words whose bits are 1 to the front.
XLA_FFI_OPS_V3 inline __m256i Pack(__m256i words, unsigned bits) {
  return _mm256_permutevar8x32_epi32(words, Load(kPlaces<int32_t>.of[bits]));
}

// Copies those of eight values whose bits are 1, and writes all eight of y.
XLA_FFI_OPS_V3 inline void Copy(const uint32_t* x, unsigned bits, uint32_t* y) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), Pack(Load(x), bits));
}
XLA_FFI_OPS_V3 inline void Copy(const uint16_t* x, unsigned bits, uint16_t* y) {
  const __m128i own = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x));
  const __m256i words = Pack(_mm256_cvtepu16_epi32(own), bits);
  const __m128i packed = _mm_packus_epi32(_mm256_castsi256_si128(words),
                                          _mm256_extracti128_si256(words, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(y), packed);
}
XLA_FFI_OPS_V3 inline void Copy(const uint8_t* x, unsigned bits, uint8_t* y) {
  uint16_t wide[8];
  for (int i = 0; i < 8; ++i) wide[i] = x[i];
  Copy(wide, bits, wide);
  for (int i = 0; i < 8; ++i) y[i] = static_cast<uint8_t>(wide[i]);
}
XLA_FFI_OPS_V3 inline void Copy(const uint64_t* x, unsigned bits, uint64_t* y) {
  // Each bit of a half byte, twice.
  static constexpr uint8_t kTwice[] = {0x00, 0x03, 0x0c, 0x0f, 0x30, 0x33,
                                       0x3c, 0x3f, 0xc0, 0xc3, 0xcc, 0xcf,
                                       0xf0, 0xf3, 0xfc, 0xff};
  const __m256i low = Pack(Load(x), kTwice[bits & 15]);
  const __m256i high = Pack(Load(x + 4), kTwice[bits >> 4]);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), low);
  y += __builtin_popcount(bits & 15);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), high);
}
XLA_FFI_OPS_V3 inline void Copy(const int32_t* x, unsigned bits, int32_t* y) {
  Copy(reinterpret_cast<const uint32_t*>(x), bits,
       reinterpret_cast<uint32_t*>(y));
}
XLA_FFI_OPS_V3 inline void Copy(const int64_t* x, unsigned bits, int64_t* y) {
  Copy(reinterpret_cast<const uint64_t*>(x), bits,
       reinterpret_cast<uint64_t*>(y));
}

// Copies those of eight values whose bits are 1, and returns where to go on.
template <typename Out>
XLA_FFI_OPS_V3 inline Out* Put(const Out* values, unsigned bits, Out* next,
                               Out* end) {
  if (end - next >= 8) {
    Copy(values, bits, next);
    return next + __builtin_popcount(bits);
  }
  for (; bits != 0; bits &= bits - 1) *next++ = values[__builtin_ctz(bits)];
  return next;
}

template <typename Key, typename Out>
XLA_FFI_OPS_V3 void SplitV3(const Key* keys, const Out* values, int64_t n,
                            Key least, Key most, Sides<Out>* sides) {
  // In registers.
  auto [below, inside, above] = sides->next;
  const auto [below_end, inside_end, above_end] = sides->end;
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const unsigned is_below = Below(keys + i, least);
    const unsigned is_above = Above(keys + i, most);
    below = Put(values + i, is_below, below, below_end);
    const unsigned is_inside = 0xff ^ is_below ^ is_above;
    // Often none are equal to a pivot.
    if (is_inside) inside = Put(values + i, is_inside, inside, inside_end);
    above = Put(values + i, is_above, above, above_end);
  }
  *sides = {{below, inside, above}, {below_end, inside_end, above_end}};
  SplitEach(keys + i, values + i, n - i, least, most, sides);
}

template <typename Key, typename Out>
XLA_FFI_OPS_V3 int64_t KeepV3(const Key* keys, const Out* values, int64_t n,
                              Key least, Key most, Out* kept) {
  int64_t i = 0, count = 0;
  for (; i + 8 <= n; i += 8) {  // So eight fit behind those that are kept.
    const unsigned is_outside = Below(keys + i, least) | Above(keys + i, most);
    Copy(values + i, 0xff ^ is_outside, kept + count);
    count += 8 - __builtin_popcount(is_outside);
  }
  return count +
         KeepEach(keys + i, values + i, n - i, least, most, kept + count);
}

#endif

}  // namespace

template <typename Key>
Counts CountSides(const Key* keys, int64_t n, Key pivot) {
  Counts counts;
  AtCpuLevel([=, &counts]() XLA_FFI_OPS_INLINED {
    Key below = 0, up_to = 0;  // n is less than kLongestChunk.
    for (int64_t i = 0; i < n; ++i) {
      below += keys[i] < pivot;
      up_to += keys[i] <= pivot;
    }
    counts = {below, up_to};
  });
  return counts;
}

template <typename Key, typename Out>
void CopyToSides(const Key* keys, const Out* values, int64_t n, Key least,
                 Key most, Sides<Out>* sides) {
#ifdef XLA_FFI_OPS_CPU_LEVELS
  if (CpuLevel() >= 3) return SplitV3(keys, values, n, least, most, sides);
#endif
  SplitEach(keys, values, n, least, most, sides);
}

template <typename Key, typename Out>
int64_t Keep(const Key* keys, const Out* values, int64_t n, Key least, Key most,
             Out* kept) {
#ifdef XLA_FFI_OPS_CPU_LEVELS
  if (CpuLevel() >= 3) return KeepV3(keys, values, n, least, most, kept);
#endif
  return KeepEach(keys, values, n, least, most, kept);
}

template Counts CountSides(const int32_t*, int64_t, int32_t);
template Counts CountSides(const int64_t*, int64_t, int64_t);
#define XLA_FFI_OPS_SIDES(Key, Out)                                    \
  template void CopyToSides(const Key*, const Out*, int64_t, Key, Key, \
                            Sides<Out>*);                              \
  template int64_t Keep(const Key*, const Out*, int64_t, Key, Key, Out*)
XLA_FFI_OPS_SIDES(int32_t, uint8_t);
XLA_FFI_OPS_SIDES(int32_t, uint16_t);
XLA_FFI_OPS_SIDES(int32_t, uint32_t);
XLA_FFI_OPS_SIDES(int32_t, int32_t);
XLA_FFI_OPS_SIDES(int64_t, uint64_t);
XLA_FFI_OPS_SIDES(int64_t, int32_t);
XLA_FFI_OPS_SIDES(int64_t, int64_t);

}  // namespace xla_ffi_ops::internal
