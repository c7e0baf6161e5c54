// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/sorting/keys/sides.h"

#include <algorithm>
#include <cstdint>

#include "xla_ffi_ops/vec/cpu_level.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/eights.h"

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

#ifdef XLA_FFI_OPS_EIGHTS

// Copies those of eight values whose bits are 1, and returns where to go on.
template <typename Out>
XLA_FFI_OPS_EIGHTS inline Out* Put(const Out* values, unsigned bits, Out* next,
                                   Out* end) {
  if (end - next >= 8) {
    eights::Copy(values, bits, next);
    return next + __builtin_popcount(bits);
  }
  for (; bits != 0; bits &= bits - 1) *next++ = values[__builtin_ctz(bits)];
  return next;
}

template <typename Key, typename Out>
XLA_FFI_OPS_EIGHTS void SplitEights(const Key* keys, const Out* values,
                                    int64_t n, Key least, Key most,
                                    Sides<Out>* sides) {
  // In registers.
  auto [below, inside, above] = sides->next;
  const auto [below_end, inside_end, above_end] = sides->end;
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const unsigned is_below = eights::Below(keys + i, least);
    const unsigned is_above = eights::Above(keys + i, most);
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
XLA_FFI_OPS_EIGHTS int64_t KeepEights(const Key* keys, const Out* values,
                                      int64_t n, Key least, Key most,
                                      Out* kept) {
  int64_t i = 0, count = 0;
  for (; i + 8 <= n; i += 8) {  // So eight fit behind those that are kept.
    const unsigned is_outside =
        eights::Below(keys + i, least) | eights::Above(keys + i, most);
    eights::Copy(values + i, 0xff ^ is_outside, kept + count);
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
#ifdef XLA_FFI_OPS_EIGHTS
  if (CpuLevel() >= kWideLevel)
    return SplitEights(keys, values, n, least, most, sides);
#endif
  SplitEach(keys, values, n, least, most, sides);
}

template <typename Key, typename Out>
int64_t Keep(const Key* keys, const Out* values, int64_t n, Key least, Key most,
             Out* kept) {
#ifdef XLA_FFI_OPS_EIGHTS
  if (CpuLevel() >= kWideLevel)
    return KeepEights(keys, values, n, least, most, kept);
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
