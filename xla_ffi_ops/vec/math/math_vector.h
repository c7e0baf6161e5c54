// SPDX-License-Identifier: Apache-2.0
// What the functions of this folder are written in: V is float, double, or a
// vector of them (vector_size of GCC and Clang) of 16, 32 or 64 bytes.
//
// Every function is inlined, has no branch that depends on a lane, and takes
// its steps in the same order for all V. So a lane's bits depend neither on the
// size of the vector nor on the other lanes. They do depend on the processor:
// only MulAdd() has FMA, from level 3 of cpu_level.h on, and on aarch64.
// Sources are compiled with -ffp-contract=off. Else g++ fuses more, and not the
// same in vectors as in scalars.
//
// Bounds are in units in the last place (ulp) of the exact result, with and
// without FMA: tests/kit/cpp/vec/math_test.cc. A result below the smallest
// normal number may be 0 of its sign, and a subnormal argument may count as 0:
// XLA's threads flush both. NaN for NaN.
//
// tools/polynomials.py makes the coefficients. Sources that use vectors need
// -Wno-psabi: these functions pass them by value, and are always inlined.
#ifndef XLA_FFI_OPS_VEC_MATH_MATH_VECTOR_H_
#define XLA_FFI_OPS_VEC_MATH_MATH_VECTOR_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "xla_ffi_ops/vec/cpu_level.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/float16.h"
#include "xla_ffi_ops/vec/vec.h"

namespace xla_ffi_ops::math {

using xla_ffi_ops::internal::BitCast;
using xla_ffi_ops::internal::Join;
using xla_ffi_ops::internal::kIsScalar;
using xla_ffi_ops::internal::kLanesOf;
using xla_ffi_ops::internal::Like;

template <typename V>
using Element = xla_ffi_ops::internal::VecElement<V>;
template <typename T, int bytes>
using VecOfBytes = xla_ffi_ops::internal::Vec<T, bytes / sizeof(T)>;
// Unsigned integers of the same size.
template <typename V>
using Bits =
    Like<std::conditional_t<sizeof(Element<V>) == 4, uint32_t, uint64_t>, V>;

// Facts of the element type.
template <typename V>
using Limits = std::numeric_limits<Element<V>>;
template <typename V>
inline constexpr int kMantissa = Limits<V>::digits - 1;
template <typename V>
inline constexpr int kBias = Limits<V>::max_exponent - 1;
template <typename V>
inline constexpr Element<Bits<V>> kSign =
    Element<Bits<V>>{1} << (sizeof(Element<V>) * 8 - 1);
template <typename V>
inline constexpr Element<V> kInfinity = Limits<V>::infinity();
// The sum of it and an integer has that integer in the lowest bits.
template <typename V>
inline constexpr Element<V> kRound = int64_t{3} << (kMantissa<V> - 1);

// x, of which the compiler knows nothing. g++ 12 would make one condition of
// two and, in 64 bytes, compute it for one lane after the other: a function
// that is inlined has the oldest processor's types of conditions.
template <typename V>
XLA_FFI_OPS_HD V Opaque(V x) {
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__CUDACC__)
  if constexpr (!kIsScalar<V> && sizeof(V) == 64) asm("" : "+v"(x));
#endif
  return x;
}

// The same number in all lanes; a bool becomes a mask.
template <typename V, typename T>
XLA_FFI_OPS_HD V Splat(T x) {
  if constexpr (kIsScalar<V>) {
    return static_cast<V>(x);
  } else if constexpr (std::is_same_v<T, bool>) {
    return V{} - static_cast<Element<V>>(x);
  } else if (std::is_integral_v<T> && !__builtin_constant_p(x)) {
    // Without Opaque, g++ 12 sets 16 lanes one after the other.
    return static_cast<Element<V>>(x) - Opaque(V{});
  } else {
    return static_cast<Element<V>>(x) - V{};  // With +, -0.0 would be 0.0.
  }
}

#ifdef XLA_FFI_OPS_CPU_LEVELS
// Whether processors have FMA at the level that this process uses. The compiler
// may call it once, and finds what AssumeLevel() says.
[[gnu::const, gnu::noinline]] inline bool HasFma() noexcept {
  return CpuLevel() >= 3;
}
template <int level>
XLA_FFI_OPS_HD void AssumeLevel() {
  if (HasFma() != (level >= 3)) __builtin_unreachable();
}
#else
constexpr bool HasFma() {
#ifdef __FP_FAST_FMAF
  return true;
#else
  return false;
#endif
}
template <int level>
XLA_FFI_OPS_HD void AssumeLevel() {}
#endif

namespace internal {

template <typename V>
XLA_FFI_OPS_HD V Fma(V a, V b, V c) {
  if constexpr (kIsScalar<V>) {
    return std::fma(a, b, c);
  } else {
    V found = a;
    for (int i = 0; i < kLanesOf<V>; ++i) found[i] = Fma(a[i], b[i], c[i]);
    return found;
  }
}
#ifdef XLA_FFI_OPS_CPU_LEVELS
// g++ makes one instruction of the lanes, too, but takes minutes. Its functions
// are no longer in clang 22, which has one for all vectors.
#if __has_builtin(__builtin_elementwise_fma)
#define XLA_FFI_OPS_FMA_OF(function, a, b, c, ...) \
  __builtin_elementwise_fma(a, b, c)
#else
#define XLA_FFI_OPS_FMA_OF(function, ...) __builtin_ia32_##function(__VA_ARGS__)
#endif
#define XLA_FFI_OPS_FMA(level, T, bytes, function, ...)          \
  XLA_FFI_OPS_V##level inline VecOfBytes<T, bytes> Fma(          \
      VecOfBytes<T, bytes> a, VecOfBytes<T, bytes> b,            \
      VecOfBytes<T, bytes> c) {                                  \
    return XLA_FFI_OPS_FMA_OF(function, a, b, c, ##__VA_ARGS__); \
  }
XLA_FFI_OPS_FMA(3, float, 16, vfmaddps)
XLA_FFI_OPS_FMA(3, float, 32, vfmaddps256)
XLA_FFI_OPS_FMA(3, double, 16, vfmaddpd)
XLA_FFI_OPS_FMA(3, double, 32, vfmaddpd256)
// All lanes, rounded as usual.
XLA_FFI_OPS_FMA(4, float, 64, vfmaddps512_mask, -1, 4)
XLA_FFI_OPS_FMA(4, double, 64, vfmaddpd512_mask, -1, 4)
#undef XLA_FFI_OPS_FMA
#undef XLA_FFI_OPS_FMA_OF
#endif

}  // namespace internal

// a * b + c, rounded once where HasFma(), of vectors and scalars.
template <typename A, typename B, typename C>
XLA_FFI_OPS_HD auto MulAdd(A a, B b, C c) {
  using V = decltype(a * b + c);
  static_assert(std::is_floating_point_v<Element<V>>);
  if (!HasFma()) return V(a * b + c);
  // The differences are vectors. With +, -0.0 would be 0.0.
  return internal::Fma(V(a - V{}), V(b - V{}), V(c - V{}));
}

// Of each lane, a's or b's. The lanes of a mask may be of another width.
template <typename Mask, typename V>
XLA_FFI_OPS_HD V Select(Mask mask, V a, V b) {
  if constexpr (kIsScalar<Mask>) {
    return mask ? a : b;
  } else {
    using Wide = Like<xla_ffi_ops::internal::IntOf<sizeof(Element<V>)>, V>;
    return Opaque(__builtin_convertvector(mask, Wide) ? a : b);
  }
}

template <typename V>
XLA_FFI_OPS_HD Bits<V> BitsOf(V x) {
  return BitCast<Bits<V>>(x);
}

template <typename V>
XLA_FFI_OPS_HD V Abs(V x) {
  using E = Element<V>;
  if constexpr (std::is_floating_point_v<E>) {
    return BitCast<V>(BitsOf(x) & ~kSign<V>);
  } else if constexpr (std::is_signed_v<E>) {
    return Select(x < E(0), V(-x), x);
  } else {
    return x;
  }
}

// |x| with the sign bit of `sign`.
template <typename V>
XLA_FFI_OPS_HD V WithSign(V x, V sign) {
  return BitCast<V>((BitsOf(x) & ~kSign<V>) | (BitsOf(sign) & kSign<V>));
}

// Of x, the first half of the bits: products of two such numbers are exact.
template <typename V>
XLA_FFI_OPS_HD V HighHalf(V x) {
  constexpr int kCut = (kMantissa<V> + 2) / 2;
  return BitCast<V>(BitsOf(x) >> kCut << kCut);
}

template <typename V>
XLA_FFI_OPS_HD V Sqrt(V x) {
  if constexpr (std::is_same_v<V, float>) {
    return __builtin_sqrtf(x);
  } else if constexpr (std::is_same_v<V, double>) {
    return __builtin_sqrt(x);
  } else {
    V root = x;  // One instruction, from -O2 and -fno-math-errno on.
    for (int i = 0; i < kLanesOf<V>; ++i) root[i] = Sqrt<Element<V>>(x[i]);
    return root;
  }
}

// Whether a comparison of x's lanes holds for any of them.
template <typename Mask>
XLA_FFI_OPS_HD bool Any(Mask mask) {
  if constexpr (kIsScalar<Mask>) {
    return mask;
  } else {
    uint64_t parts[sizeof(Mask) / 8], any = 0;
    std::memcpy(parts, &mask, sizeof(mask));
    for (const uint64_t part : parts) any |= part;
    return any != 0;
  }
}

// c[0] + c[1] x + c[2] x^2 + ..., by Horner's rule.
template <int from = 0, typename V, typename C, size_t n>
XLA_FFI_OPS_HD V Polynomial(V x, const C (&c)[n]) {
  if constexpr (from + 1 == n) {
    return Splat<V>(c[from]);
  } else if constexpr (from + 2 == n) {
    return MulAdd(x, Element<V>{c[n - 1]}, Element<V>{c[from]});
  } else {
    return MulAdd(Polynomial<from + 1>(x, c), x, Element<V>{c[from]});
  }
}

template <typename V>
struct HalvesOf {
  using Float = VecOfBytes<float, sizeof(V) / 2>;
  using Double = VecOfBytes<double, sizeof(V)>;
  Float low, high;
};

// Whether the elements are float.
template <typename V>
inline constexpr bool kIsFloat = sizeof(Element<V>) == 4;

// The two halves of a vector of float in double, and back.
template <typename V>
XLA_FFI_OPS_HD auto LowInDouble(V x) {
  using Halves = HalvesOf<V>;
  return __builtin_convertvector(BitCast<Halves>(x).low,
                                 typename Halves::Double);
}
template <typename V>
XLA_FFI_OPS_HD auto HighInDouble(V x) {
  using Halves = HalvesOf<V>;
  return __builtin_convertvector(BitCast<Halves>(x).high,
                                 typename Halves::Double);
}
template <typename V, typename Double>
XLA_FFI_OPS_HD V Rounded(Double low, Double high) {
  using Float = typename HalvesOf<V>::Float;
  constexpr int kLanes = kLanesOf<V>;
  V rounded;
  Join<float, kLanes>(__builtin_convertvector(low, Float),
                      __builtin_convertvector(high, Float), &rounded,
                      xla_ffi_ops::internal::kEach<kLanes>);
  return rounded;
}

// fn(x), computed in double, and rounded if x is of float; also of more
// operands.
template <typename Fn, typename V, typename... More>
XLA_FFI_OPS_HD V InDouble(Fn fn, V x, More... more) {
  if constexpr (!kIsFloat<V>) {
    return fn(x, more...);
  } else if constexpr (kIsScalar<V>) {
    return static_cast<float>(
        fn(static_cast<double>(x), static_cast<double>(more)...));
  } else {
    const auto low = fn(LowInDouble(x), LowInDouble(more)...);
    const auto high = fn(HighInDouble(x), HighInDouble(more)...);
    return Rounded<V>(low, high);
  }
}

}  // namespace xla_ffi_ops::math

#endif  // XLA_FFI_OPS_VEC_MATH_MATH_VECTOR_H_
