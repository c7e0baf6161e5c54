// SPDX-License-Identifier: Apache-2.0
// Numbers of 16 bits in lanes of float: what their authors round stays rounded.
#ifndef XLA_FFI_OPS_VEC_LANES_LANE_HALVES_H_
#define XLA_FFI_OPS_VEC_LANES_LANE_HALVES_H_

#include <cstdint>
#include <limits>
#include <type_traits>

#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/float16.h"
#include "xla_ffi_ops/vec/lanes/lanes.h"

namespace xla_ffi_ops::lanes {
namespace internal {

// What float cannot hold becomes a last bit of 1: rounded again, to fewer bits,
// the number is what it would be if it were rounded once.
template <typename V>
XLA_FFI_OPS_HD V RoundedToOdd(V x) {
  using U = Like<uint64_t, V>;
  constexpr uint64_t kLast = uint64_t{1} << 29;  // the last bit of a float
  const U bits = Bits<U>(x);
  const U lost = bits & (kLast - 1);
  const U kept = bits - lost;
  return Bits<V>(Select(lost != 0, U(kept | kLast), kept));
}

}  // namespace internal

// The nearest Half, as float; of two, the one whose last bit is 0.
template <typename Half, typename V>
XLA_FFI_OPS_HD V Rounded(V x) {
  using U = Like<uint32_t, V>;
  constexpr bool kIsFloat16 = std::is_same_v<Half, Float16>;
  constexpr uint32_t kLast = 1u << (kIsFloat16 ? 13 : 16);  // Half's last bit
  const U bits = Bits<U>(x);
  const U up =
      Select((bits & kLast) != 0, Splat<U>(kLast / 2), Splat<U>(kLast / 2 - 1));
  V nearest = Bits<V>(U((bits + up) & ~(kLast - 1)));
  if constexpr (kIsFloat16) {
    const V size = Abs(x);
    const U sign = bits & 0x80000000u;
    // Below 2^-14, numbers of Float16 are 2^-24 apart. So are those of float
    // between 0.5 and 1.
    const V few = size + 0.5f - 0.5f;
    nearest = Select(size < 0x1p-14f, Bits<V>(U(Bits<U>(few) | sign)), nearest);
    // Half a step beyond the largest number, 65504.
    const V infinity = Splat<V>(std::numeric_limits<float>::infinity());
    nearest =
        Select(size >= 65520.0f, Bits<V>(U(Bits<U>(infinity) | sign)), nearest);
  }
  return Select(x != x, x, nearest);
}

// A number of any type as the nearest Half, in To, a vector of float. As XLA
// does it, double becomes float on its way to BFloat16.
template <typename Half, typename To, typename V>
XLA_FFI_OPS_HD To RoundedTo(V x) {
  if constexpr (std::is_same_v<Element<V>, double> &&
                std::is_same_v<Half, Float16>) {
    return Rounded<Half>(Convert<To>(internal::RoundedToOdd(x)));
  } else {
    return Rounded<Half>(Convert<To>(x));
  }
}

// The bits of Halves as integers, or Halves of such bits as float.
template <typename Half, typename To, typename V>
XLA_FFI_OPS_HD To HalfBits(V x) {
  using xla_ffi_ops::internal::BitCast;
  const auto one = [](Element<V> e) XLA_FFI_OPS_INLINED {
    if constexpr (std::is_integral_v<Element<V>>) {
      return static_cast<float>(BitCast<Half>(e));
    } else {
      return BitCast<Element<To>>(Half(e));
    }
  };
  if constexpr (kIsScalar<V>) {
    return one(x);
  } else {
    To found;
    for (int l = 0; l < kLanesOf<V>; ++l) found[l] = one(x[l]);
    return found;
  }
}

}  // namespace xla_ffi_ops::lanes

#endif  // XLA_FFI_OPS_VEC_LANES_LANE_HALVES_H_
