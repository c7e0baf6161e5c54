// SPDX-License-Identifier: Apache-2.0
// Zeros, which are equal to each other but may differ in their bits, and NaNs,
// for which the same holds. They are sorted like all elements; then their bits
// are written in the order in which they were.
#ifndef XLA_FFI_OPS_SORTING_KEYS_SPECIAL_H_
#define XLA_FFI_OPS_SORTING_KEYS_SPECIAL_H_

#include <algorithm>
#include <cstdint>

#include "xla_ffi_ops/sorting/keys/row_keys.h"
#include "xla_ffi_ops/sorting/keys/sides.h"
#include "xla_ffi_ops/vec/cpu_level.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/key_format.h"

namespace xla_ffi_ops::internal {

struct Special {
  int64_t zeros = 0;
  int64_t nans = 0;
};

template <typename U>
Special CountSpecial(const KeyFormat<U>& format, const U* x, int64_t n) {
  // As wide as most keys, which vectorizes. A chunk is not too long for it.
  uint32_t zeros = 0, nans = 0;
  AtCpuLevel([&, f = format]() XLA_FFI_OPS_INLINED {
    uint32_t some_zeros = 0, some_nans = 0;
    for (int64_t i = 0; i < n; ++i) {
      some_zeros += f.IsZero(x[i]);
      some_nans += f.IsNan(x[i]);
    }
    zeros = some_zeros;
    nans = some_nans;
  });
  return {zeros, nans};
}

// Where the first zero and the first NaN of a row go, and the step to the next
// one.
template <typename U>
struct SpecialPlaces {
  bool zeros_differ;
  bool has_nan;
  int64_t step;
  U* zeros = nullptr;
  U* nans = nullptr;

  // y must be sorted.
  SpecialPlaces(const RowKeys<U>& keys, const Stats<U>& stats, U* y, int64_t n)
      : zeros_differ(stats.zeros_differ),
        has_nan(stats.has_nan),
        step(keys.descending == 0 ? 1 : -1) {
    const auto first = [&](U bits) {
      const auto less = [&](U a, U b) { return keys.Rank(a) < keys.Rank(b); };
      return step > 0 ? std::lower_bound(y, y + n, bits, less)
                      : std::upper_bound(y, y + n, bits, less) - 1;
    };
    if (zeros_differ) zeros = first(0);
    if (has_nan) nans = first(keys.format.magnitude);
  }

  void Skip(const Special& special) {
    if (zeros_differ) zeros += step * special.zeros;
    if (has_nan) nans += step * special.nans;
  }

  // Writes the zeros and NaNs of a part of the row, and goes on behind them.
  void Write(const RowKeys<U>& keys, const U* x, int64_t n) {
    const auto zero = keys.Encode(keys.Rank(0));
    const auto nan = keys.Encode(keys.Rank(keys.format.magnitude));
    typename RowKeys<U>::Key own[kSideBlock];
    U found[kSideBlock];
    for (int64_t begin = 0; begin < n; begin += kSideBlock) {
      const int64_t size = std::min(n - begin, kSideBlock);
      keys.Encode(x + begin, size, own);
      if (zeros_differ) {
        const int64_t count = Keep(own, x + begin, size, zero, zero, found);
        zeros = Put(found, count, zeros);
      }
      if (has_nan) {
        const int64_t count = Keep(own, x + begin, size, nan, nan, found);
        for (int64_t i = 0; i < count; ++i) {
          found[i] = keys.format.Nan(found[i]);
        }
        nans = Put(found, count, nans);
      }
    }
  }

 private:
  U* Put(const U* found, int64_t count, U* to) const {
    if (step > 0) return std::copy_n(found, count, to);
    for (int64_t i = 0; i < count; ++i) to[-i] = found[i];
    return to - count;
  }
};

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_SORTING_KEYS_SPECIAL_H_
