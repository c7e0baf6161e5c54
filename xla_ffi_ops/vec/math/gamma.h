// SPDX-License-Identifier: Apache-2.0
// Lgamma, Digamma, Zeta, and the regularized incomplete gamma functions Igamma,
// Igammac, IgammaGradA, GammaSampleGrad. Those of float are computed in double.
//
// Stirling's series and its like need large numbers: smaller ones go up to 7
// first, step by step. Negative numbers are reflected.
#ifndef XLA_FFI_OPS_VEC_MATH_GAMMA_H_
#define XLA_FFI_OPS_VEC_MATH_GAMMA_H_

#include "xla_ffi_ops/vec/math/exp.h"
#include "xla_ffi_ops/vec/math/log.h"
#include "xla_ffi_ops/vec/math/math_vector.h"
#include "xla_ffi_ops/vec/math/pow.h"
#include "xla_ffi_ops/vec/math/trigonometric.h"

namespace xla_ffi_ops::math {

namespace internal {

// Bernoulli's numbers B_2, B_4, ..., as in each series: over 2n (2n - 1), over
// 2n, and over (2n)!.
inline constexpr double kStirling[] = {
    1.0 / 12,         -1.0 / 360,        1.0 / 1260, -1.0 / 1680,
    1.0 / 1188,       -691.0 / 360360,   1.0 / 156,  -3617.0 / 122400,
    43867.0 / 244188, -174611.0 / 125400};
inline constexpr double kDigamma[] = {
    1.0 / 12,        -1.0 / 120,      1.0 / 252, -1.0 / 240,
    1.0 / 132,       -691.0 / 32760,  1.0 / 12,  -3617.0 / 8160,
    43867.0 / 14364, -174611.0 / 6600};
inline constexpr double kZeta[] = {1.0 / 12,           -1.0 / 720,
                                   1.0 / 30240,        -1.0 / 1209600,
                                   1.0 / 47900160,     -691.0 / 1307674368000.0,
                                   1.0 / 74724249600.0};
inline constexpr double kPi = 3.14159265358979324;

// A scalar in a vector: it would have other bits.
template <typename Fn, typename V, typename... More>
XLA_FFI_OPS_HD V InVectorOfDouble(Fn fn, V x, More... more) {
  if constexpr (kIsScalar<V>) {
    return static_cast<V>(
        fn(Splat<VectorOfScalar>(x), Splat<VectorOfScalar>(more)...)[0]);
  } else {
    return InDouble(fn, x, more...);
  }
}

// x less the nearest integer; 0 from 2^51 on.
template <typename V>
XLA_FFI_OPS_HD V Fraction(V x) {
  const V small = Select(Abs(x) < 0x1p51, x, V{});
  return small - ((small + kRound<V>)-kRound<V>);
}

template <typename V>
XLA_FFI_OPS_HD V PositiveLgamma(V x) {
  V product = Splat<V>(1), z = x;
  for (int i = 0; i < 7; ++i) {
    const auto is_small = z < 7.0;
    product = Select(is_small, product * z, product);
    z = Select(is_small, z + 1, z);
  }
  const V inverse = 1 / z;
  const V rest = Polynomial(inverse * inverse, kStirling) * inverse;
  // log(2 pi) / 2 - 1 / 2
  const V sum = MulAdd(z - 0.5, Log(z) - 1, 0.41893853320467274 + rest);
  return Select(x < Splat<V>(kInfinity<V>), sum - Log(product), x);
}

template <typename V>
XLA_FFI_OPS_HD V LgammaOf(V x) {
  const auto is_negative = x < 0.5;
  const V positive = PositiveLgamma(Select(is_negative, 1 - x, x));
  const V sine = SinCos(Fraction(x) * kPi).sin;
  const V reflected = Log(kPi / Abs(sine)) - positive;
  const V infinite = Splat<V>(kInfinity<V>);
  const V found = Select(is_negative, reflected, positive);
  return Select(Abs(x) == infinite, infinite, found);
}

template <typename V>
XLA_FFI_OPS_HD V DigammaOf(V x) {
  const auto is_negative = x < 0.5;
  V z = Select(is_negative, 1 - x, x), sum{};
  for (int i = 0; i < 7; ++i) {
    const auto is_small = z < 7.0;
    sum = Select(is_small, sum + 1 / z, sum);
    z = Select(is_small, z + 1, z);
  }
  const V square = 1 / (z * z);
  const V rest = MulAdd(Polynomial(square, kDigamma), square, 0.5 / z);
  const V positive = Log(z) - rest - sum;
  const V fraction = Fraction(x);
  const auto both = SinCos(fraction * kPi);
  const V reflected = positive - kPi * both.cos / both.sin;
  const V nan = Splat<V>(Limits<V>::quiet_NaN());
  const V negative = Select(fraction == V{}, nan, reflected);
  return Select(is_negative, negative, positive);
}

// The sum of (q + n)^-s over n for positive q, by Euler's and Maclaurin's
// formula.
template <typename V>
XLA_FFI_OPS_HD V PositiveZeta(V s, V q) {
  V sum{}, z = q;
  for (int i = 0; i < 10; ++i) {
    sum += Pow(z, -s);
    z += 1;
  }
  V power = Pow(z, -s);
  sum += power * (z / (s - 1) + 0.5);
  V factor = s;
  power = power / z;
  for (int i = 0; i < 7; ++i) {
    sum += kZeta[i] * factor * power;
    factor *= (s + (2 * i + 1)) * (s + (2 * i + 2));
    power = power / (z * z);
  }
  return sum;
}

template <typename V>
XLA_FFI_OPS_HD V ZetaOf(V s, V q) {
  const auto is_negative = q < V{};
  const V fraction = Fraction(q);
  const auto is_below = fraction < V{};
  const V first = Select(is_below, fraction + 1, fraction);
  const V other = Select(is_below, -fraction, 1 - fraction);  // 1 - first
  const V from[] = {Select(is_negative, first, q), other, 1 - q};
  V sums[3]{};
  const int count = Any(is_negative) ? 3 : 1;
  for (int i = 0; i < count; ++i) sums[i] = PositiveZeta(s, from[i]);
  // Terms of negative numbers are those of `other`, and so on up to -q, but for
  // the sign of an odd power. Other powers of them are NaN.
  const V sign = Pow(Splat<V>(-1), s);
  const V found =
      Select(is_negative, sums[0] + sign * (sums[1] - sums[2]), sums[0]);
  const V infinite = Splat<V>(kInfinity<V>);
  const V nan = Splat<V>(Limits<V>::quiet_NaN());
  // There, both sides of a pole have one sign.
  const V pole = Select(Fraction(s * 0.5) == V{}, infinite, nan);
  const V any = Select((q <= V{}) & (fraction == V{}), pole, found);
  return Select(Abs(s - 1) == V{}, infinite, Select(s >= 1.0, any, nan));
}

// A regularized incomplete gamma function, or its complement, and how it
// changes with a.
template <typename V>
struct IncompleteGamma {
  V lower, upper, slope;
};

// A lane keeps its numbers as soon as they are right, so that it has the same
// bits beside any others. Both functions return in which lanes they are not.
inline constexpr int kMostTerms = 20000;
template <bool is_short>
inline constexpr double kGammaError = is_short ? 0x1p-34 : 0x1p-49;

template <bool is_short, bool has_slope, typename V>
XLA_FFI_OPS_HD V LowerGamma(V a, V x, V wanted, V* sum, V* sum_slope) {
  V r = a, term = Splat<V>(1), term_slope{};
  *sum = term;
  *sum_slope = V{};
  V goes_on = wanted;
  for (int i = 0; i < kMostTerms && Any(goes_on != V{}); ++i) {
    r += 1;
    const V before = term;
    term = before * x / r;
    if constexpr (has_slope) {
      term_slope = (term_slope * x - term) / r;
      *sum_slope = Select(goes_on != V{}, *sum_slope + term_slope, *sum_slope);
    }
    *sum = Select(goes_on != V{}, *sum + term, *sum);
    const V size = has_slope
                       ? Select(Abs(term_slope) > term, Abs(term_slope), term)
                       : term;
    goes_on = Select(size > *sum * kGammaError<is_short>, goes_on, V{});
  }
  return goes_on;
}

// By Lentz's method.
template <bool is_short, bool has_slope, typename V>
XLA_FFI_OPS_HD V UpperGamma(V a, V x, V wanted, V* found, V* slope) {
  V b = x + 1 - a, b_slope = Splat<V>(-1);
  V c = Splat<V>(0x1p300), c_slope{};
  V d = 1 / b, d_slope = d * d;
  V h = d, h_slope = d_slope;
  V goes_on = wanted;
  for (int i = 1; i < kMostTerms && Any(goes_on != V{}); ++i) {
    const V factor = i * (a - i);
    b += 2;
    if constexpr (has_slope) {
      c_slope = b_slope + (i * c - factor * c_slope) / (c * c);
    }
    c = b + factor / c;
    const V below = MulAdd(factor, d, b);
    if constexpr (has_slope) {
      const V below_slope = factor * d_slope + i * d + b_slope;
      d_slope = -below_slope / (below * below);
    }
    d = 1 / below;
    const V change = c * d;
    if constexpr (has_slope) {
      const V change_slope = c_slope * d + c * d_slope;
      const V next = h_slope * change + h * change_slope;
      h_slope = Select(goes_on != V{}, next, h_slope);
    }
    h = Select(goes_on != V{}, h * change, h);
    V left = Abs(change - 1);
    if constexpr (has_slope) {
      const V of_slope = Abs(c_slope * d + c * d_slope);
      left = Select(of_slope > left, of_slope, left);
    }
    goes_on = Select(left > 2 * kGammaError<is_short>, goes_on, V{});
  }
  *found = h;
  *slope = h_slope;
  return goes_on;
}

template <bool is_short, bool has_slope, typename V>
XLA_FFI_OPS_HD IncompleteGamma<V> IncompleteGammaOf(V a, V x) {
  const V infinite = Splat<V>(kInfinity<V>), one = Splat<V>(1), zero{};
  const V in_domain = Select(
      x > zero,
      Select(x < infinite,
             Select(a > zero, Select(a < infinite, one, zero), zero), zero),
      zero);
  const V own = Select(in_domain != zero, x, one);
  const V order = Select(in_domain != zero, a, one);
  const V from_above = Select(own > one, Select(own > order, one, zero), zero);
  const V log = Log(own);
  V factor = Exp(order * log - own - LgammaOf(order));
  V sum, sum_slope, fraction, fraction_slope;
  const V missing = LowerGamma<is_short, has_slope>(
                        order, own, one - from_above, &sum, &sum_slope) +
                    UpperGamma<is_short, has_slope>(order, own, from_above,
                                                    &fraction, &fraction_slope);
  const V nan = Splat<V>(Limits<V>::quiet_NaN());
  factor = Select(missing != zero, nan, factor);
  const V below = factor * sum / order, above = factor * fraction;
  const auto is_above = from_above != zero;
  V lower = Select(is_above, 1 - above, below);
  V upper = Select(is_above, above, 1 - below);
  V slope{};
  if constexpr (has_slope) {
    const V of_factor = log - DigammaOf(order);
    const V of_below =
        below * (of_factor - 1 / order) + factor * sum_slope / order;
    const V of_above = above * of_factor + factor * fraction_slope;
    slope = Select(is_above, -of_above, of_below);
  }
  const auto is_nan =
      Select(a > zero, Select(x >= zero, zero, one),
             Select(a == zero, Select(x > zero, zero, one), one)) != zero;
  // Of x = 0, of x = infinity or a = 0, and of a = infinity.
  const V at_end =
      Select(x == zero, zero,
             Select(x == infinite, one, Select(a == zero, one, zero)));
  lower = Select(in_domain != zero, lower, at_end);
  upper = Select(in_domain != zero, upper, 1 - at_end);
  return {Select(is_nan, nan, lower), Select(is_nan, nan, upper),
          Select(is_nan, nan, Select(in_domain != zero, slope, zero))};
}

// Of a sample x of the distribution with the parameter a: -(dP/da) / (dP/dx).
// From kLargeShape on, by the series of Cornish and Fisher: it is right to
// a^-1.5 there, and sums would have too many terms.
inline constexpr double kLargeShape = 4e6;

template <bool is_short, typename V>
XLA_FFI_OPS_HD V GammaSampleGradOf(V a, V x) {
  const V one = Splat<V>(1), zero{};
  const V by_sum = Select(
      x > zero,
      Select(x < kInfinity<V>,
             Select(a > zero, Select(a < kLargeShape, one, zero), zero), zero),
      zero);
  const V own = Select(by_sum != zero, x, one);
  const V order = Select(by_sum != zero, a, one);
  const V from_above = Select(own > one, Select(own > order, one, zero), zero);
  V sum, sum_slope, fraction, fraction_slope;
  const V missing = LowerGamma<is_short, true>(order, own, one - from_above,
                                               &sum, &sum_slope) +
                    UpperGamma<is_short, true>(order, own, from_above,
                                               &fraction, &fraction_slope);
  const V of_factor = Log(own) - DigammaOf(order);
  const V below = (sum * (of_factor - 1 / order) + sum_slope) / order;
  const V above = fraction * of_factor + fraction_slope;
  const V slope = Select(from_above != zero, above, -below);
  const V apart = (x - a) / a;
  const V large = 1 + apart / 2 - (apart * apart - 1 / a) / 6;
  const V nan = Splat<V>(Limits<V>::quiet_NaN());
  V found = Select(missing != zero, nan, own * slope);
  found = Select(by_sum != zero, found, large);
  found = Select(x == zero, zero, found);
  // Neither holds for NaN.
  return Select(x >= zero, Select(a > zero, found, nan), nan);
}

}  // namespace internal

// At most 0.6 ulp for float. For double, terms of size 10 or more have errors
// of 2^-52 each, which is much of a result beside a zero.
template <typename V>
XLA_FFI_OPS_HD V Lgamma(V x) {
  return internal::InVectorOfDouble(
      [](auto d) XLA_FFI_OPS_INLINED { return internal::LgammaOf(d); }, x);
}

// As Lgamma.
template <typename V>
XLA_FFI_OPS_HD V Digamma(V x) {
  return internal::InVectorOfDouble(
      [](auto d) XLA_FFI_OPS_INLINED { return internal::DigammaOf(d); }, x);
}

// Of Hurwitz, for s > 1 and q > 0: at most 0.6 ulp for float and 10 for double.
template <typename V>
XLA_FFI_OPS_HD V Zeta(V s, V q) {
  return internal::InVectorOfDouble(
      [](auto c, auto d) XLA_FFI_OPS_INLINED { return internal::ZetaOf(c, d); },
      s, q);
}

// At most 0.6 ulp for float, and 2e-13 off for double, for a up to 1000. NaN
// where 20000 terms are not enough.
template <typename V>
XLA_FFI_OPS_HD V Igamma(V a, V x) {
  return internal::InVectorOfDouble(
      [](auto c, auto d) XLA_FFI_OPS_INLINED {
        return internal::IncompleteGammaOf<kIsFloat<V>, false>(c, d).lower;
      },
      a, x);
}
template <typename V>
XLA_FFI_OPS_HD V Igammac(V a, V x) {
  return internal::InVectorOfDouble(
      [](auto c, auto d) XLA_FFI_OPS_INLINED {
        return internal::IncompleteGammaOf<kIsFloat<V>, false>(c, d).upper;
      },
      a, x);
}
// The derivative of Igamma by a.
template <typename V>
XLA_FFI_OPS_HD V IgammaGradA(V a, V x) {
  return internal::InVectorOfDouble(
      [](auto c, auto d) XLA_FFI_OPS_INLINED {
        return internal::IncompleteGammaOf<kIsFloat<V>, true>(c, d).slope;
      },
      a, x);
}

// The derivative by a of a gamma-distributed sample x, as jax's
// random_gamma_grad. At most 1 ulp for float, and 1e-10 off for double.
template <typename V>
XLA_FFI_OPS_HD V GammaSampleGrad(V a, V x) {
  return internal::InVectorOfDouble(
      [](auto c, auto d) XLA_FFI_OPS_INLINED {
        return internal::GammaSampleGradOf<kIsFloat<V>>(c, d);
      },
      a, x);
}

}  // namespace xla_ffi_ops::math

#endif  // XLA_FFI_OPS_VEC_MATH_GAMMA_H_
