// SPDX-License-Identifier: Apache-2.0
// What is to be known of the elements of a row before they are sorted.
#ifndef XLA_FFI_OPS_SORTING_ROW_STATS_H_
#define XLA_FFI_OPS_SORTING_ROW_STATS_H_

#include <algorithm>
#include <cstdint>

#include "xla_ffi_ops/kit/cpu_level.h"
#include "xla_ffi_ops/sorting/keys.h"

namespace xla_ffi_ops::internal {

template <typename U>
struct Stats {
  U least = KeyFormat<U>::kMost;  // key, but of NaNs
  U most = 0;
  bool zeros_differ = false;
  int64_t nans = 0;
  int64_t zeros = 0;      // if they differ, else they are ordinary
  int64_t negatives = 0;  // less than zeros

  void Add(const Stats& other) {
    least = std::min(least, other.least);
    most = std::max(most, other.most);
    zeros_differ |= other.zeros_differ;
    nans += other.nans;
    zeros += other.zeros;
    negatives += other.negatives;
  }
  bool has_special() const { return zeros_differ || nans > 0; }
};

template <typename U>
Stats<U> Scan(const KeyFormat<U>& format, const U* x, int64_t n) {
  Stats<U> stats;
  AtCpuLevel([&, f = format]() XLA_FFI_OPS_INLINED {
    U least = KeyFormat<U>::kMost, most = 0, nans = 0, odd_zeros = 0;
    for (int64_t i = 0; i < n; ++i) {
      const U bits = x[i], key = f.Key(bits), nan = f.NanMask(bits);
      const U low = key | nan, high = key & ~nan;
      least = low < least ? low : least;
      most = high > most ? high : most;
      nans |= nan;
      odd_zeros |= f.ZeroMask(bits) & bits;
    }
    stats.least = least;
    stats.most = most;
    stats.zeros_differ = odd_zeros != 0;
    if (nans == 0 && odd_zeros == 0) return;
    // As wide as most keys, so that vectors are: a chunk is not longer.
    uint32_t nan_count = 0, zero_count = 0, negative_count = 0;
    for (int64_t i = 0; i < n; ++i) {
      const U bits = x[i];
      const bool nan = f.IsNan(bits), zero = f.IsZero(bits);
      nan_count += nan;
      zero_count += zero;
      negative_count += f.IsNegative(bits) & !nan & !zero;
    }
    stats.nans = nan_count;
    stats.zeros = zero_count;
    stats.negatives = negative_count;
  });
  return stats;
}

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_SORTING_ROW_STATS_H_
