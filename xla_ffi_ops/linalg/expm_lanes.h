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

// to = c[6] A^6 + c[4] A^4 + c[2] A^2 + c[0] I, of which `powers` has A^2, A^4
// and A^6.
template <typename V>
XLA_FFI_OPS_HD void EvenPolynomial(int64_t n, const double* c, bool has_one,
                                   const V* powers, V* to) {
  const int64_t size = n * n;
  const V c2 = Splat<V>(c[2]), c4 = Splat<V>(c[4]), c6 = Splat<V>(c[6]);
  for (int64_t i = 0; i < size; ++i) {
    to[i] = MulAdd(c6, powers[2 * size + i],
                   MulAdd(c4, powers[size + i], V(c2 * powers[i])));
  }
  const V one = Splat<V>(c[0]);
  for (int64_t i = 0; has_one && i < n; ++i) to[i * n + i] += one;
}

// The coefficients c[0], c[2] and so on of an approximant. `scratch` is [n, n].
template <typename V>
XLA_FFI_OPS_HD void EvenPart(int64_t n, const double* c, const V* powers,
                             V* scratch, V* to) {
  EvenPolynomial(n, c, true, powers, to);
  if constexpr (std::is_same_v<Element<V>, double>) {
    const int64_t size = n * n;
    V* const high = scratch + size;
    EvenPolynomial(n, c + 6, false, powers, scratch);
    Multiply(n, n, n, powers + 2 * size, scratch, high);
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

}  // namespace internal

// The elements that Expm takes.
inline int64_t ExpmMemory(int64_t n) { return 8 * n * n + 3 * n; }

// The exponential of the matrix that `memory` begins with, [n, n], in its
// place. It is NaN if more than `max_squarings` + 1 squarings were necessary,
// which is where jax's is.
template <typename V>
XLA_FFI_OPS_HD void Expm(int64_t n, int64_t max_squarings, V* memory) {
  constexpr bool is_double = std::is_same_v<Element<V>, double>;
  constexpr const double* kPade =
      is_double ? internal::kPade13 : internal::kPade7;
  const int64_t size = n * n;
  V* const a = memory;
  V* const powers = a + size;  // three, and then what the solution takes
  V* const u = a + 4 * size;
  V* const v = a + 5 * size;
  V* const scratch = a + 6 * size;  // two
  const V one = Splat<V>(1), half = Splat<V>(0.5);
  const V most = Splat<V>(is_double ? internal::kNorm13 : internal::kNorm7);

  const V norm = internal::Norm1(n, a);
  V scale = one, squarings{};
  for (int64_t s = 0; s <= max_squarings; ++s) {
    const auto is_large = norm * scale > most;
    if (!Any(is_large)) break;
    squarings += Select(is_large, one, V{});
    scale = Select(is_large, V(scale * half), scale);
  }
  // NaN for lanes that need more.
  scale = Select(norm * scale > most, Splat<V>(Limits<V>::quiet_NaN()), scale);
  for (int64_t i = 0; i < size; ++i) a[i] *= scale;

  Multiply(n, n, n, a, a, powers);
  Multiply(n, n, n, powers, powers, powers + size);
  Multiply(n, n, n, powers + size, powers, powers + 2 * size);
  internal::EvenPart(n, kPade + 1, powers, scratch, v);
  Multiply(n, n, n, a, v, u);
  internal::EvenPart(n, kPade, powers, scratch, v);
  V* const numerator = powers;
  V* const denominator = powers + size;
  V* const lu = powers + 2 * size;
  for (int64_t i = 0; i < size; ++i) {
    numerator[i] = v[i] + u[i];
    denominator[i] = v[i] - u[i];
  }
  V* const numbers = a + 8 * size;
  LuFactor(n, n, denominator, lu,
           Pivoting<V>{numbers, numbers + n,
                       reinterpret_cast<math::Bits<V>*>(numbers + 2 * n)});
  LuSolve(n, n, lu, numbers + n, numerator, a);

  for (V done{}; Any(done < squarings); done += one) {
    Multiply(n, n, n, a, a, scratch);
    for (int64_t i = 0; i < size; ++i) {
      a[i] = Select(done < squarings, scratch[i], a[i]);
    }
  }
}

// The cotangent of A for E, that of its exponential, both [n, n] and in place
// of E: the derivative at A^T in the direction E, which is the upper right
// block of the exponential of [[A^T, E], [0, A^T]]. E is brought to norm 1 for
// this. `memory` begins with a matrix of 2 n rows, for ExpmMemory.
template <typename V>
XLA_FFI_OPS_HD void ExpmGradient(int64_t n, int64_t max_squarings, const V* a,
                                 V* e, V* memory) {
  const V norm = internal::Norm1(n, e);
  const V scale = Select(norm > V{}, norm, Splat<V>(1));
  const V by = 1 / scale;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      V* const upper = memory + 2 * n * i + j;
      V* const lower = upper + 2 * n * n;
      upper[0] = lower[n] = a[j * n + i];
      upper[n] = e[i * n + j] * by;
      lower[0] = V{};
    }
  }
  Expm(2 * n, max_squarings, memory);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      e[i * n + j] = memory[2 * n * i + n + j] * scale;
    }
  }
}

}  // namespace xla_ffi_ops::linalg

#endif  // XLA_FFI_OPS_LINALG_EXPM_LANES_H_
