// SPDX-License-Identifier: Apache-2.0
// The largest elements of a row, in the order that lax.top_k has on the CPU:
// that of their bits, with -0 below +0 and each NaN beyond the infinity of its
// sign; and what is equal by its index.
#ifndef XLA_FFI_OPS_OPS_TOP_K_TOP_K_H_
#define XLA_FFI_OPS_OPS_TOP_K_TOP_K_H_

#include <cstdint>
#include <limits>
#include <type_traits>

#include "xla_ffi_ops/vec/device.h"

namespace xla_ffi_ops::top_k {

// How the bits of a dtype become integers of the same order, and back.
template <typename Key>
struct Order {
  Key negative = 0;  // the bits to flip where the sign bit is set
  Key all = 0;       // those to flip everywhere, if `negative` is 0
  // NaNs, of any sign, are above infinity. They become one in what is written,
  // and those above `equal_above` are equal.
  Key infinity = std::numeric_limits<Key>::max();
  Key equal_above = std::numeric_limits<Key>::max();
  Key nan = 0;

  XLA_FFI_OPS_HD Key Encode(Key bits) const {
    bits = OneNan(bits, equal_above);
    return bits ^ (bits < 0 ? negative : Key{0}) ^ all;
  }
  XLA_FFI_OPS_HD Key Decode(Key key) const {
    const Key bits = key ^ all;
    return OneNan(bits ^ (bits < 0 ? negative : Key{0}), infinity);
  }

 private:
  XLA_FFI_OPS_HD Key OneNan(Key bits, Key above) const {
    if constexpr (sizeof(Key) == 2) {
      constexpr Key kSign = std::numeric_limits<Key>::min();
      const bool is_nan = static_cast<Key>(bits & ~kSign) > above;
      bits = is_nan ? static_cast<Key>((bits & kSign) | nan) : bits;
    }
    return bits;
  }
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
  Order<Key> order;
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
