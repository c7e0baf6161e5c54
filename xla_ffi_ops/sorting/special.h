// SPDX-License-Identifier: Apache-2.0
// Zeros, which are equal to each other but may differ in their bits, and NaNs,
// for which the same holds. They are sorted like all elements; then their bits
// are written in the order in which they were.
#ifndef XLA_FFI_OPS_SORTING_SPECIAL_H_
#define XLA_FFI_OPS_SORTING_SPECIAL_H_

#include <algorithm>
#include <cstdint>

#include "xla_ffi_ops/kit/cpu_level.h"
#include "xla_ffi_ops/kit/device.h"
#include "xla_ffi_ops/sorting/keys.h"
#include "xla_ffi_ops/sorting/row_keys.h"

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
  U* zeros;
  U* nans;
  int64_t step;

  // y must be sorted.
  SpecialPlaces(const RowKeys<U>& keys, U* y, int64_t n)
      : step(keys.flip == 0 ? 1 : -1) {
    const auto first = [&](U bits) {
      const auto less = [&](U a, U b) { return keys.Rank(a) < keys.Rank(b); };
      return step > 0 ? std::lower_bound(y, y + n, bits, less)
                      : std::upper_bound(y, y + n, bits, less) - 1;
    };
    zeros = first(0);
    nans = first(keys.format.magnitude);
  }

  void Skip(const Special& special) {
    zeros += step * special.zeros;
    nans += step * special.nans;
  }

  // Writes the zeros and NaNs of a part of the row, and goes on behind them.
  void Write(const KeyFormat<U>& format, bool zeros_differ, const U* x,
             int64_t n) {
    AtCpuLevel([=, f = format, self = this]() XLA_FFI_OPS_INLINED {
      constexpr int64_t kBlock = 512;
      // Has no branch: all elements are stored; the next one overwrites those
      // that are not wanted.
      U found[kBlock];
      for (int64_t begin = 0; begin < n; begin += kBlock) {
        const int64_t end = n - begin < kBlock ? n : begin + kBlock;
        int64_t count = 0;
        for (int64_t i = begin; zeros_differ && i < end; ++i) {
          found[count] = x[i];
          count += f.IsZero(x[i]);
        }
        for (int64_t i = 0; i < count; ++i)
          self->zeros[i * self->step] = found[i];
        self->zeros += count * self->step;
        count = 0;
        for (int64_t i = begin; i < end; ++i) {
          found[count] = x[i];
          count += f.IsNan(x[i]);
        }
        for (int64_t i = 0; i < count; ++i) {
          self->nans[i * self->step] = f.Nan(found[i]);
        }
        self->nans += count * self->step;
      }
    });
  }
};

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_SORTING_SPECIAL_H_
