// SPDX-License-Identifier: Apache-2.0
// Erf, Erfc, ErfInv. Those of float are computed in double.
//
// Near 0, erf(x) is x (1 + Q(x^2)). Elsewhere erfc(x) is exp(-x^2) P(t) /
// (1 + 2 x), with t = (x - 3) / (x + 3).
#ifndef XLA_FFI_OPS_VEC_MATH_ERF_H_
#define XLA_FFI_OPS_VEC_MATH_ERF_H_

#include "xla_ffi_ops/vec/math/exp.h"
#include "xla_ffi_ops/vec/math/log.h"
#include "xla_ffi_ops/vec/math/math_vector.h"

namespace xla_ffi_ops::math {

namespace internal {

// Q, for x up to 0.875, and P, for x from 0.5 to 27. The short ones are right
// to float, up to 10.5.
inline constexpr double kShortErf[] = {
    0x1.06eba81a5c0e9p-3, -0x1.812744efcd7e9p-2, 0x1.ce2e8d536fb33p-4,
    -0x1.b81a71a6f6f2p-6, 0x1.5542a406d1a3bp-8,  -0x1.aec89d57a05cdp-11,
    0x1.6cdc67239b2bfp-14};
inline constexpr double kErf[] = {
    0x1.06eba8214db69p-3,   -0x1.812746b0379ffp-2, 0x1.ce2f21a0437cdp-4,
    -0x1.b82ce312b2c7p-6,   0x1.565bcd1356444p-8,  -0x1.c02db4a52f2d5p-11,
    0x1.f9a33228aba89p-14,  -0x1.f4d280ee616dp-17, 0x1.b9dd09c637c2fp-20,
    -0x1.5e9d2e25bb5b5p-23, 0x1.ebfd5d302aba4p-27, -0x1.f4ecf39110104p-31};
inline constexpr double kShortErfc[] = {
    0x1.40c522da56198p+0,   -0x1.15c0844839f48p-3, -0x1.85a18b8e70a5cp-5,
    0x1.09834d3de96cbp-3,   -0x1.e8893eec3433fp-4, 0x1.17cdad27e0d4ap-4,
    -0x1.85c1b77e4df7p-6,   0x1.481f21638ff79p-9,  0x1.ffd2182373b8fp-10,
    -0x1.68ae1ba13534ep-11, -0x1.7c74bbf27174p-13};
inline constexpr double kErfc[] = {
    0x1.40c522d7e4987p+0,   -0x1.15c084bb9e8f6p-3,  -0x1.85a15c58aa20ep-5,
    0x1.098366a5b488cp-3,   -0x1.e88b803a4e69cp-4,  0x1.17ca2877e7c27p-4,
    -0x1.8574c40a1ef86p-6,  0x1.4b884e59d8227p-9,   0x1.ef1bdc0e0f5b5p-10,
    -0x1.98db548bb31b1p-11, -0x1.b911e71c8bf46p-14, 0x1.065a8c025b53fp-13,
    0x1.4bfb22cb98947p-18,  -0x1.5145688fb1cecp-16, -0x1.843a2ea5d1f5p-21,
    0x1.d2c7fcf8d6515p-19,  0x1.6bb50bc03c2efp-22,  -0x1.4ee754bcfcb7fp-21,
    -0x1.f3f5d64bf0ac3p-24, 0x1.c904ae1bf3e65p-24,  0x1.681b0e7b56882p-26,
    -0x1.cbf234a810c6cp-27};
// erf_inv(x) / x, of w = -log(1 - x^2) up to 5, and of sqrt(w) from there on:
// for float, and for all of double as a first value.
inline constexpr double kErfInv[] = {
    0x1.c5bf88f0c3c5fp-1,  0x1.db2a0f7b39452p-3,   0x1.7a6d24b7d02d4p-7,
    -0x1.31f61b761055ap-9, -0x1.0b5697de9439p-13,  0x1.75cf9d5c0e0d5p-15,
    0x1.0b67bc618ef7cp-18, -0x1.0951c270a2ce5p-19, 0x1.dabe007c856b8p-23,
    -0x1.2e1f245be5138p-27};
inline constexpr double kShortErfInvTail[] = {
    -0x1.216762f5695ffp+0, 0x1.6c4d4aabd346bp+2,  -0x1.7c25d2eca3db3p+2,
    0x1.4353f9f8ea241p+1,  0x1.a4ac95e3b5af4p-1,  -0x1.7a4263954bf9fp+0,
    0x1.9c32bb38198c7p-1,  -0x1.0189f75f5f2b9p-2, 0x1.953bb46214a6dp-5,
    -0x1.8f05b387ed189p-8, 0x1.c3fa05093ee9dp-12, -0x1.c3879ec532cbfp-17};
inline constexpr double kErfInvTail[] = {
    0x1.6715e06419b31p+1,  -0x1.12e5bffc8ca2fp+2,  0x1.08c93a602a8b7p+2,
    -0x1.d9e4542ec452dp+0, 0x1.090594b153709p-1,   -0x1.7a5eac955ef11p-4,
    0x1.501f5afbb6cc3p-7,  -0x1.53649e4ad9c1cp-11, 0x1.2a0cfc3d98211p-16};

// With a = |x|: erf(a) for a < 0.875, erfc(a) for a >= 0.5, and exp(-a^2).
template <typename V>
struct ErfParts {
  V near, far, exp;
};

template <bool is_short, typename V>
XLA_FFI_OPS_HD ErfParts<V> SplitErf(V a) {
  const V most = Splat<V>(is_short ? 10.5 : 28);  // Its erfc is 0.
  const V b = Select(a > most, most, a);
  const V t = (b - 3) / (b + 3);
  if constexpr (is_short) {
    const V exp = ShortExp(-(b * b));
    return {MulAdd(b, Polynomial(b * b, kShortErf), b),
            exp * (Polynomial(t, kShortErfc) / (1 + 2 * b)), exp};
  } else {
    // The square, exactly.
    const V c = HighHalf(b);
    const V exp = ExpOf(-(c * c), -((b - c) * (b + c)));
    return {MulAdd(b, Polynomial(b * b, kErf), b),
            exp * (Polynomial(t, kErfc) / (1 + 2 * b)), exp};
  }
}

template <bool is_short, typename V>
XLA_FFI_OPS_HD V FirstErfInv(V x) {
  const V w = -ShortLog((1 - x) * (1 + x));
  const V root = Sqrt(w);
  const V near = Polynomial(w, kErfInv);
  if constexpr (is_short) {
    return x * Select(w < 5.0, near, Polynomial(root, kShortErfInvTail));
  } else {
    return x * Select(w < 5.0, near, Polynomial(root, kErfInvTail));
  }
}

template <bool is_short, typename V>
XLA_FFI_OPS_HD V ErfInvOf(V x) {
  const V a = Abs(x);
  V y = FirstErfInv<is_short>(a);
  if constexpr (!is_short) {
    // One step of Halley's method.
    const auto parts = SplitErf<false>(y);
    const V excess = Select(a < 0.75, parts.near - a, (1 - a) - parts.far);
    const V step = excess / (parts.exp * 1.1283791670955126);
    const V better = y - step / (1 + y * step);
    y = Select(a < 0x1p-30, a * 0.88622692545275801, better);
  }
  const V inside = Select(a == V{} + 1, Splat<V>(kInfinity<V>), y);
  return Select(a <= V{} + 1, WithSign(inside, x),
                Splat<V>(Limits<V>::quiet_NaN()));
}

}  // namespace internal

// At most 0.6 ulp for float and 1.5 for double.
template <typename V>
XLA_FFI_OPS_HD V Erf(V x) {
  return InDouble(
      [](auto d) XLA_FFI_OPS_INLINED {
        const auto a = Abs(d);
        const auto parts = internal::SplitErf<kIsFloat<V>>(a);
        return WithSign(Select(a < 0.875, parts.near, 1 - parts.far), d);
      },
      x);
}

// At most 0.6 ulp for float and 4 for double.
template <typename V>
XLA_FFI_OPS_HD V Erfc(V x) {
  return InDouble(
      [](auto d) XLA_FFI_OPS_INLINED {
        const auto a = Abs(d);
        const auto parts = internal::SplitErf<kIsFloat<V>>(a);
        const auto far = Select(d < 0.0, 2 - parts.far, parts.far);
        return Select(a < 0.5, 1 - WithSign(parts.near, d), far);
      },
      x);
}

// At most 0.6 ulp for float and 3 for double.
template <typename V>
XLA_FFI_OPS_HD V ErfInv(V x) {
  return InDouble(
      [](auto d)
          XLA_FFI_OPS_INLINED { return internal::ErfInvOf<kIsFloat<V>>(d); },
      x);
}

}  // namespace xla_ffi_ops::math

#endif  // XLA_FFI_OPS_VEC_MATH_ERF_H_
