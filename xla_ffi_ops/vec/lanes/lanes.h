// SPDX-License-Identifier: Apache-2.0
// Vectors with a lane per row, and functions of them, for C++ that the build
// writes (python/jax_ffi_ops/loops). With one lane they are plain scalars.
//
// All functions are inlined: one that is not is compiled for the oldest
// processor, and vectors are passed in another way there.
#ifndef XLA_FFI_OPS_VEC_LANES_LANES_H_
#define XLA_FFI_OPS_VEC_LANES_LANES_H_

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/math/math_vector.h"
#include "xla_ffi_ops/vec/vec.h"

namespace xla_ffi_ops::lanes {

namespace internal {

using xla_ffi_ops::internal::IntOf;

}  // namespace internal

using math::Abs;
using math::Any;
using math::Element;
using math::kIsScalar;
using math::kLanesOf;
using math::Like;
using math::Select;
using math::Splat;

template <typename T, int lanes>
using Vector = xla_ffi_ops::internal::VecOrNumber<T, lanes>;

// What a comparison gives: all bits of a lane, or none. The lanes are as wide
// as most numbers of a kernel, so that selections convert nothing.
template <int bytes, int lanes>
using Mask =
    std::conditional_t<lanes == 1, bool, Vector<internal::IntOf<bytes>, lanes>>;

// The vectors of a kernel whose masks are of that many bytes.
#define XLA_FFI_OPS_LANE_TYPES(bytes, lanes)                 \
  using mask_v [[maybe_unused]] = Mask<bytes, lanes>;        \
  using int8_v [[maybe_unused]] = Vector<int8_t, lanes>;     \
  using int16_v [[maybe_unused]] = Vector<int16_t, lanes>;   \
  using int32_v [[maybe_unused]] = Vector<int32_t, lanes>;   \
  using int64_v [[maybe_unused]] = Vector<int64_t, lanes>;   \
  using uint8_v [[maybe_unused]] = Vector<uint8_t, lanes>;   \
  using uint16_v [[maybe_unused]] = Vector<uint16_t, lanes>; \
  using uint32_v [[maybe_unused]] = Vector<uint32_t, lanes>; \
  using uint64_v [[maybe_unused]] = Vector<uint64_t, lanes>; \
  using float_v [[maybe_unused]] = Vector<float, lanes>;     \
  using double_v [[maybe_unused]] = Vector<double, lanes>

// f of each lane.
template <typename V, typename F, typename... More>
XLA_FFI_OPS_HD V PerLane(F f, V x, More... more) {
  if constexpr (kIsScalar<V>) {
    return f(x, more...);
  } else {
    V found;
    for (int l = 0; l < kLanesOf<V>; ++l) found[l] = f(x[l], more[l]...);
    return found;
  }
}

// A mask of lanes of another width.
template <typename M, typename From>
XLA_FFI_OPS_HD M As(From m) {
  if constexpr (std::is_same_v<M, From>) {
    return math::Opaque(m);
  } else if constexpr (kIsScalar<M>) {
    return static_cast<M>(m);
  } else {
    return __builtin_convertvector(m, M);
  }
}

template <typename V>
XLA_FFI_OPS_HD V Not(V x) {
  if constexpr (std::is_same_v<V, bool>)
    return !x;
  else
    return ~x;
}

template <typename To, typename V>
XLA_FFI_OPS_HD To Bits(V x) {
  return math::BitCast<To>(x);
}

namespace internal {

// A number of floating point as the nearest integer towards 0, or the end of
// the range; 0 for NaN.
template <typename To, typename From>
XLA_FFI_OPS_HD To Truncated(From x) {
  using Limits = std::numeric_limits<To>;
  // 2^n, which From holds.
  const From end = static_cast<From>(Limits::max() / 2 + 1) * 2;
  if (x != x) return 0;
  if (x >= end) return Limits::max();
  if (x <= static_cast<From>(Limits::min())) return Limits::min();
  return static_cast<To>(x);
}

}  // namespace internal

template <typename To, typename V>
XLA_FFI_OPS_HD To Convert(V x) {
  using From = Element<V>;
  using E = Element<To>;
  constexpr bool truncates =
      std::is_floating_point_v<From> && std::is_integral_v<E>;
  if constexpr (std::is_same_v<To, bool>) {
    return x != 0;
  } else if constexpr (kIsScalar<To>) {
    if constexpr (truncates) return internal::Truncated<To>(x);
    return static_cast<To>(x);
  } else if constexpr (truncates) {
    To found;
    for (int l = 0; l < kLanesOf<To>; ++l) {
      found[l] = internal::Truncated<E>(x[l]);
    }
    return found;
  } else {
    return __builtin_convertvector(x, To);
  }
}

// Numbers that are not 0, as a mask; and a mask as 0 and 1.
template <typename M, typename V>
XLA_FFI_OPS_HD M ToMask(V x) {
  return As<M>(x != Element<V>(0));
}
template <typename To, typename M>
XLA_FFI_OPS_HD To FromMask(M mask) {
  if constexpr (kIsScalar<M>) {
    return static_cast<To>(mask);
  } else {
    return __builtin_convertvector(-mask, To);
  }
}

// NaN if either is. Two selections are two instructions each of a scalar, too:
// g++ would compute the two conditions as integers, and branch.
template <typename V>
XLA_FFI_OPS_HD V Max(V a, V b) {
  return Select(a != a, a, Select(a > b, a, b));
}
template <typename V>
XLA_FFI_OPS_HD V Min(V a, V b) {
  return Select(a != a, a, Select(a < b, a, b));
}

template <typename V>
XLA_FFI_OPS_HD V Sign(V x) {
  using E = Element<V>;
  const V one = Splat<V>(E(1));
  // 0, -0 and NaN are their own signs.
  const V positive = Select(x > E(0), one, x);
  if constexpr (std::is_unsigned_v<E>)
    return positive;
  else
    return Select(x < E(0), V(-one), positive);
}

template <typename M, typename V>
XLA_FFI_OPS_HD M IsFinite(V x) {
  return As<M>(x - x == Element<V>(0));
}

template <typename V>
XLA_FFI_OPS_HD V Square(V x) {
  return x * x;
}

template <int64_t y, typename V>
XLA_FFI_OPS_HD V Power(V x) {
  static_assert(y != 0);
  if constexpr (y < 0) {
    return Splat<V>(Element<V>(1)) / Power<-y>(x);
  } else if constexpr (y == 1) {
    return x;
  } else if constexpr (y % 2 == 0) {
    return Power<y / 2>(x * x);
  } else {
    return Power<y / 2>(x * x) * x;
  }
}

// As XLA has them for a divisor of 0, and for the least number by -1.
template <typename V>
XLA_FFI_OPS_HD V Quotient(V a, V b) {
  using E = Element<V>;
  return PerLane<V>(
      [](E x, E y) XLA_FFI_OPS_INLINED -> E {
        if (y == 0) return static_cast<E>(-1);
        if constexpr (std::is_signed_v<E>) {
          if (y == -1) return static_cast<E>(-x);
        }
        return x / y;
      },
      a, b);
}
template <typename V>
XLA_FFI_OPS_HD V Remainder(V a, V b) {
  using E = Element<V>;
  return PerLane<V>(
      [](E x, E y) XLA_FFI_OPS_INLINED -> E {
        if constexpr (std::is_floating_point_v<E>) {
          return std::fmod(x, y);
        } else {
          if (y == 0) return x;
          if constexpr (std::is_signed_v<E>) {
            if (y == -1) return 0;
          }
          return x % y;
        }
      },
      a, b);
}

namespace internal {

template <typename V>
using UnsignedOf = Like<std::make_unsigned_t<Element<V>>, V>;

// How far a shift may go; all else is further than any number has bits.
template <typename V>
inline constexpr std::make_unsigned_t<Element<V>> kBitsOf =
    8 * sizeof(Element<V>);

}  // namespace internal

template <typename V>
XLA_FFI_OPS_HD V ShiftLeft(V a, V by) {
  using U = internal::UnsignedOf<V>;
  const U shift = Bits<U>(by);
  const U in = Select(shift < internal::kBitsOf<V>, shift, U{});
  const U moved = Bits<U>(a) << in;
  return Bits<V>(Select(shift < internal::kBitsOf<V>, moved, U{}));
}
template <typename V>
XLA_FFI_OPS_HD V ShiftRightLogical(V a, V by) {
  using U = internal::UnsignedOf<V>;
  const U shift = Bits<U>(by);
  const U in = Select(shift < internal::kBitsOf<V>, shift, U{});
  const U moved = Bits<U>(a) >> in;
  return Bits<V>(Select(shift < internal::kBitsOf<V>, moved, U{}));
}
// XLA copies the highest bit of unsigned numbers, too.
template <typename V>
XLA_FFI_OPS_HD V ShiftRightArithmetic(V a, V by) {
  using U = internal::UnsignedOf<V>;
  using S = Like<std::make_signed_t<Element<V>>, V>;
  const U most = Splat<U>(internal::kBitsOf<V> - 1);
  const U shift = Min(Bits<U>(by), most);
  const S moved = Bits<S>(a) >> Bits<S>(shift);
  return Bits<V>(moved);
}

template <typename V>
XLA_FFI_OPS_HD V CountBits(V x) {
  using U = std::make_unsigned_t<Element<V>>;
  return PerLane<V>(
      [](auto e) XLA_FFI_OPS_INLINED {
        return static_cast<Element<V>>(__builtin_popcountll(U(e)));
      },
      x);
}
template <typename V>
XLA_FFI_OPS_HD V LeadingZeros(V x) {
  using U = std::make_unsigned_t<Element<V>>;
  return PerLane<V>(
      [](auto e) XLA_FFI_OPS_INLINED {
        const int unused = 64 - 8 * sizeof(U);
        return static_cast<Element<V>>(
            U(e) == 0 ? 8 * sizeof(U) : __builtin_clzll(U(e)) - unused);
      },
      x);
}

// An index that is at most `most` and at least 0, also if `most` is not.
template <typename V>
XLA_FFI_OPS_HD auto ClampIndex(V x, int64_t most) {
  if (most < 0) most = 0;
  if constexpr (kIsScalar<V>) {
    if constexpr (std::is_signed_v<V>) {
      if (x < 0) return int64_t{0};
    }
    const auto end = static_cast<std::make_unsigned_t<V>>(x);
    return end > static_cast<uint64_t>(most) ? most : static_cast<int64_t>(x);
  } else {
    using E = Element<V>;
    constexpr E largest = std::numeric_limits<E>::max();
    const bool fits = static_cast<uint64_t>(most) < uint64_t{largest};
    return Max(Min(x, Splat<V>(fits ? static_cast<E>(most) : largest)), V{});
  }
}
template <typename M, typename V>
XLA_FFI_OPS_HD M IsInside(V x, int64_t most) {
  if constexpr (kIsScalar<V>) {
    return ClampIndex(x, most) == static_cast<int64_t>(x) && most >= 0;
  } else {
    return most < 0 ? M{} : As<M>(ClampIndex(x, most) == x);
  }
}

// The element at `i + by`, where each lane has its own `by`.
template <typename V, typename T, typename I>
XLA_FFI_OPS_HD V At(const T* from, int64_t i, I by) {
  if constexpr (kIsScalar<I>) {
    return from[i + by];
  } else {
    V found;
    for (int l = 0; l < kLanesOf<V>; ++l) {
      if constexpr (kIsScalar<T>) {
        if constexpr (std::is_same_v<T, bool>) {
          found[l] = -Element<V>(from[i + by[l]]);
        } else {
          found[l] = from[i + by[l]];
        }
      } else {
        found[l] = from[i + by[l]][l];
      }
    }
    return found;
  }
}
template <typename V, typename T, typename I>
XLA_FFI_OPS_HD void Put(T* to, int64_t i, I by, V x) {
  if constexpr (kIsScalar<I>) {
    to[i + by] = x;
  } else {
    for (int l = 0; l < kLanesOf<V>; ++l) to[i + by[l]][l] = x[l];
  }
}

}  // namespace xla_ffi_ops::lanes

#endif  // XLA_FFI_OPS_VEC_LANES_LANES_H_
