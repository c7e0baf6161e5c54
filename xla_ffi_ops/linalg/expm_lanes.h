// SPDX-License-Identifier: Apache-2.0
// Exponentials of matrices, by scaling and squaring of Pade approximants
// (Higham, The scaling and squaring method for the matrix exponential
// revisited, SIAM J. Matrix Anal. Appl. 26, 2005): of degree 13 in double, and
// of degree 7 in float.
#ifndef XLA_FFI_OPS_LINALG_EXPM_LANES_H_
#define XLA_FFI_OPS_LINALG_EXPM_LANES_H_

#include <cstdint>
#include <type_traits>

#include "xla_ffi_ops/linalg/lu_lanes.h"
#include "xla_ffi_ops/linalg/number.h"
#include "xla_ffi_ops/linalg/products.h"
#include "xla_ffi_ops/vec/device.h"

namespace xla_ffi_ops::linalg {

namespace internal {

// The numerator's coefficients, of which the first is 1, so that the
// exponential of 0 is exact. The denominator has those of even powers, and the
// others negated.
inline constexpr double kPade13[] = {1.0,
                                     1.0 / 2,
                                     3.0 / 25,
                                     11.0 / 600,
                                     11.0 / 5520,
                                     3.0 / 18400,
                                     1.0 / 96600,
                                     1.0 / 1932000,
                                     1.0 / 48944000,
                                     1.0 / 1585785600,
                                     1.0 / 67395888000,
                                     1.0 / 3953892096000,
                                     1.0 / 355850288640000,
                                     1.0 / 64764752532480000};
inline constexpr double kPade7[] = {1.0,          1.0 / 2,       3.0 / 26,
                                    5.0 / 312,    5.0 / 3432,    1.0 / 11440,
                                    1.0 / 308880, 1.0 / 17297280};
// Up to these 1-norms the error of an approximant is a rounding error.
inline constexpr double kNorm13 = 5.371920351148152;
inline constexpr double kNorm7 = 3.925724783138660;

// A pair is a matrix X, and then X', its derivative along a direction. It
// stands for [[X, X'], [0, X]], and a product takes three products of matrices.
//
// to = a b, of matrices (kParts is 1) or of pairs (2). `scratch` is [n, n].
template <int kParts, typename V>
XLA_FFI_OPS_HD void MultiplyParts(int64_t n, const V* a, const V* b, V* scratch,
                                  V* to) {
  const int64_t size = n * n;
  // A loop, so that one product is compiled.
  for (int64_t i = 0; i < 2 * kParts - 1; ++i) {
    Multiply(n, n, n, i == 2 ? a + size : a, i == 1 ? b + size : b,
             i == 2 ? scratch : to + i * size);
  }
  for (int64_t i = 0; kParts == 2 && i < size; ++i) to[size + i] += scratch[i];
}

// to = c[6] A^6 + c[4] A^4 + c[2] A^2 + c[0] I, of which `powers` has A^2, A^4
// and A^6.
template <int kParts, typename V>
XLA_FFI_OPS_HD void EvenPolynomial(int64_t n, const double* c, bool has_one,
                                   const V* powers, V* to) {
  const int64_t size = kParts * n * n;
  const V c2 = Splat<V>(c[2]), c4 = Splat<V>(c[4]), c6 = Splat<V>(c[6]);
  for (int64_t i = 0; i < size; ++i) {
    to[i] = MulAdd(c6, powers[2 * size + i],
                   MulAdd(c4, powers[size + i], V(c2 * powers[i])));
  }
  const V one = Splat<V>(c[0]);
  for (int64_t i = 0; has_one && i < n; ++i) to[i * n + i] += one;
}

// The coefficients c[0], c[2] and so on of an approximant. `scratch` has room
// for two, and `sum` is [n, n].
template <int kParts, typename V>
XLA_FFI_OPS_HD void EvenPart(int64_t n, const double* c, const V* powers,
                             V* scratch, V* sum, V* to) {
  EvenPolynomial<kParts>(n, c, true, powers, to);
  if constexpr (std::is_same_v<Element<V>, double>) {
    const int64_t size = kParts * n * n;
    V* const high = scratch + size;
    EvenPolynomial<kParts>(n, c + 6, false, powers, scratch);
    MultiplyParts<kParts>(n, powers + 2 * size, scratch, sum, high);
    for (int64_t i = 0; i < size; ++i) to[i] += high[i];
  }
}

template <typename V>
XLA_FFI_OPS_HD V Norm1(int64_t n, const V* a) {
  V norm{};
  for (int64_t j = 0; j < n; ++j) {
    V sum{};
    for (int64_t i = 0; i < n; ++i) sum += math::Abs(a[i * n + j]);
    norm = Select(sum > norm, sum, norm);
  }
  return norm;
}

// How a matrix is scaled, and how often its exponential is squared.
template <typename V>
struct Scaling {
  V scale, squarings;
};

// The scale is NaN if more than `max_squarings` + 1 squarings were necessary,
// which is where jax's exponential is.
template <typename V>
XLA_FFI_OPS_HD Scaling<V> ScalingOf(V norm, int64_t max_squarings) {
  const V one = Splat<V>(1), half = Splat<V>(0.5);
  const V most =
      Splat<V>(std::is_same_v<Element<V>, double> ? kNorm13 : kNorm7);
  V scale = one, squarings{};
  for (int64_t s = 0; s <= max_squarings; ++s) {
    const auto is_large = norm * scale > most;
    if (!Any(is_large)) break;
    squarings += Select(is_large, one, V{});
    scale = Select(is_large, V(scale * half), scale);
  }
  scale = Select(norm * scale > most, Splat<V>(Limits<V>::quiet_NaN()), scale);
  return {scale, squarings};
}

}  // namespace internal

// The elements that Expm takes, of matrices or pairs.
inline int64_t ExpmMemory(int64_t n, int parts) {
  return (8 * parts + parts - 1) * n * n + 3 * n;
}

// The exponential of the matrix, or of the pair, that `memory` begins with, in
// its place; `norm` is its 1-norm, or more.
template <int kParts, typename V>
XLA_FFI_OPS_HD void Expm(int64_t n, int64_t max_squarings, V norm, V* memory) {
  constexpr bool is_double = std::is_same_v<Element<V>, double>;
  constexpr const double* kPade =
      is_double ? internal::kPade13 : internal::kPade7;
  const int64_t one_part = n * n, size = kParts * one_part;
  V* const a = memory;
  V* const powers = a + size;  // three, and then what the solution takes
  V* const u = a + 4 * size;
  V* const v = a + 5 * size;
  V* const scratch = a + 6 * size;  // two
  V* const numbers = a + 8 * size;
  V* const sum = numbers + 3 * n;  // [n, n], of pairs
  const auto [scale, squarings] = internal::ScalingOf(norm, max_squarings);
  for (int64_t i = 0; i < size; ++i) a[i] *= scale;

  const auto multiply = [&](const V* x, const V* y, V* to) XLA_FFI_OPS_INLINED {
    internal::MultiplyParts<kParts>(n, x, y, sum, to);
  };
  multiply(a, a, powers);
  multiply(powers, powers, powers + size);
  multiply(powers + size, powers, powers + 2 * size);
  internal::EvenPart<kParts>(n, kPade + 1, powers, scratch, sum, v);
  multiply(a, v, u);
  internal::EvenPart<kParts>(n, kPade, powers, scratch, sum, v);
  V* const numerator = powers;
  V* const denominator = powers + size;
  V* const lu = powers + 2 * size;
  for (int64_t i = 0; i < size; ++i) {
    numerator[i] = v[i] + u[i];
    denominator[i] = v[i] - u[i];
  }
  LuFactor(n, n, denominator, lu,
           Pivoting<V>{numbers, numbers + n,
                       reinterpret_cast<math::Bits<V>*>(numbers + 2 * n)});
  for (int64_t begin = 0; begin < size; begin += one_part) {
    if (begin > 0) {  // Q X = P, so Q X' = P' - Q' X.
      Multiply(n, n, n, denominator + begin, a, scratch);
      for (int64_t i = 0; i < one_part; ++i) numerator[begin + i] -= scratch[i];
    }
    LuSolve(n, n, lu, numbers + n, numerator + begin, a + begin);
  }

  for (V done{}; Any(done < squarings); done += Splat<V>(1)) {
    multiply(a, a, scratch);
    for (int64_t i = 0; i < size; ++i) {
      a[i] = Select(done < squarings, scratch[i], a[i]);
    }
  }
}

// The exponential of the matrix that `memory` begins with, [n, n].
template <typename V>
XLA_FFI_OPS_HD void Expm(int64_t n, int64_t max_squarings, V* memory) {
  Expm<1>(n, max_squarings, internal::Norm1(n, memory), memory);
}

// The cotangent of A for E, that of its exponential, both [n, n] and in place
// of E: the derivative at A^T along E. E is brought to norm 1 for this. It is
// NaN where the exponential is. `memory` is that of a pair.
template <typename V>
XLA_FFI_OPS_HD void ExpmGradient(int64_t n, int64_t max_squarings, const V* a,
                                 V* e, V* memory) {
  const int64_t size = n * n;
  const V norm = internal::Norm1(n, e);
  const V scale = Select(norm > V{}, norm, Splat<V>(1));
  const V is_nan =
      V{} * internal::ScalingOf(internal::Norm1(n, a), max_squarings).scale;
  const V by = 1 / scale + is_nan;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      memory[i * n + j] = a[j * n + i];
      memory[size + i * n + j] = e[i * n + j] * by;
    }
  }
  // The 1-norm of [[A^T, E], [0, A^T]], or more. That of A^T is at most n times
  // that of A.
  const V of_pair =
      internal::Norm1(n, memory) + internal::Norm1(n, memory + size);
  int64_t more = 1;
  while (int64_t{1} << more <= n) ++more;
  Expm<2>(n, max_squarings + more, of_pair, memory);
  for (int64_t i = 0; i < size; ++i) e[i] = memory[size + i] * scale;
}

}  // namespace xla_ffi_ops::linalg

#endif  // XLA_FFI_OPS_LINALG_EXPM_LANES_H_
