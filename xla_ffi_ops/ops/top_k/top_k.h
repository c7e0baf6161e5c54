// SPDX-License-Identifier: Apache-2.0
// The largest elements of a row, in the order that lax.top_k has on the CPU:
// that of their bits, with -0 below +0 and each NaN beyond the infinity of its
// sign. Equal elements are ordered by index.
#ifndef XLA_FFI_OPS_OPS_TOP_K_TOP_K_H_
#define XLA_FFI_OPS_OPS_TOP_K_TOP_K_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/key_format.h"

namespace xla_ffi_ops::top_k {

// How the bits of a dtype become integers of the same order, and back: as a
// KeyFormat, but signed.
template <typename Key>
class SignedKeys {
  using U = std::make_unsigned_t<Key>;
  static constexpr Key kSign = std::numeric_limits<Key>::min();
  static constexpr U kMost = std::numeric_limits<Key>::max();

 public:
  // NaNs become those that the format has, in what is written. If `equal_nans`,
  // they are also equal.
  SignedKeys(const KeyFormat<U>& format, bool equal_nans)
      : magnitude_(static_cast<Key>(format.magnitude)),
        all_(static_cast<Key>(format.sign) ^ kSign),
        infinity_(static_cast<Key>(std::min(format.infinity, kMost))),
        equal_above_(equal_nans ? infinity_ : static_cast<Key>(kMost)),
        kept_of_nan_(static_cast<Key>(format.kept_of_nan)),
        set_in_nan_(static_cast<Key>(format.set_in_nan)) {}

  XLA_FFI_OPS_HD Key Encode(Key bits) const {
    bits = Nan(bits, equal_above_);
    return bits ^ (bits < 0 ? magnitude_ : Key{0}) ^ all_;
  }
  XLA_FFI_OPS_HD Key Decode(Key key) const {
    const Key bits = key ^ all_;
    return Nan(bits ^ (bits < 0 ? magnitude_ : Key{0}), infinity_);
  }

 private:
  // NaNs, of any sign, are above infinity. Only those of 16 bits change.
  XLA_FFI_OPS_HD Key Nan(Key bits, Key above) const {
    if constexpr (sizeof(Key) == 2) {
      const bool is_nan = static_cast<Key>(bits & ~kSign) > above;
      bits =
          is_nan ? static_cast<Key>((bits & kept_of_nan_) | set_in_nan_) : bits;
    }
    return bits;
  }

  Key magnitude_;  // the bits that change where the sign bit is set
  Key all_;        // those that change everywhere, if `magnitude_` is 0
  Key infinity_, equal_above_, kept_of_nan_, set_in_nan_;
};

// A key and, below it, an index: the larger, the sooner. No two are equal.
template <typename Key>
using Packed =
    std::conditional_t<sizeof(Key) == 8, unsigned __int128, uint64_t>;

// The least key, as a number to add to others without overflow.
template <typename Key>
inline constexpr auto kLeast = static_cast<uint64_t>(
    static_cast<int64_t>(std::numeric_limits<Key>::min()));

template <typename Key>
XLA_FFI_OPS_HD Packed<Key> Pack(Key key, int32_t index) {
  const uint64_t high =
      static_cast<uint64_t>(static_cast<int64_t>(key)) - kLeast<Key>;
  return Packed<Key>{high} << 32 | ~static_cast<uint32_t>(index);
}
template <typename Key>
Key KeyOf(Packed<Key> packed) {
  return static_cast<Key>(static_cast<uint64_t>(packed >> 32) + kLeast<Key>);
}
inline int32_t IndexOf(unsigned __int128 packed) {
  return static_cast<int32_t>(~static_cast<uint32_t>(packed));
}

// The elements [begin, end) of a row, of which the `k` largest are wanted, one
// at least. `keys` and `indices` have room for all of them.
template <typename Key>
struct Part {
  const Key* row;
  int64_t begin, end, k;
  SignedKeys<Key> format;
  Key* keys;
  int32_t* indices;
};

// Writes the k largest, or all if there are fewer, in any order. Returns their
// number.
template <typename Key>
int64_t Select(const Part<Key>& part, Packed<Key>* largest);

extern template int64_t Select(const Part<int8_t>&, uint64_t*);
extern template int64_t Select(const Part<int16_t>&, uint64_t*);
extern template int64_t Select(const Part<int32_t>&, uint64_t*);
extern template int64_t Select(const Part<int64_t>&, unsigned __int128*);

}  // namespace xla_ffi_ops::top_k

#endif  // XLA_FFI_OPS_OPS_TOP_K_TOP_K_H_
