// SPDX-License-Identifier: Apache-2.0
// What a vector is: the compiler's own (vector_size of GCC and Clang).
//
// Functions on vectors are inlined: one that is not is compiled for the oldest
// processor. How a vector is passed by value depends on the processor, too, and
// g++ warns of it, inlined or not. So functions take vectors by reference and
// return none, but for those of math/ and lanes/: sources that use these are
// compiled with -Wno-psabi.
#ifndef XLA_FFI_OPS_VEC_VEC_H_
#define XLA_FFI_OPS_VEC_VEC_H_

#include <cstdint>
#include <type_traits>
#include <utility>

#include "xla_ffi_ops/vec/device.h"

namespace xla_ffi_ops::internal {

template <typename T, int lanes>
struct VecOf {
  typedef T type __attribute__((vector_size(lanes * sizeof(T))));
};
template <typename T, int lanes>
using Vec = typename VecOf<T, lanes>::type;

// The same, but one lane is a plain number.
template <typename T, int lanes>
struct VecOrNumberOf : VecOf<T, lanes> {};
template <typename T>
struct VecOrNumberOf<T, 1> {
  using type = T;
};
template <typename T, int lanes>
using VecOrNumber = typename VecOrNumberOf<T, lanes>::type;

template <typename V>
inline constexpr bool kIsScalar = std::is_arithmetic_v<V>;

template <typename V, bool = kIsScalar<V>>
struct VecElementOf {
  using type = V;
};
template <typename V>
struct VecElementOf<V, false> {
  using type = std::decay_t<decltype(std::declval<V&>()[0])>;
};

// The type of a vector's lanes.
template <typename V>
using VecElement = typename VecElementOf<V>::type;
template <typename V>
inline constexpr int kLanesOf = sizeof(V) / sizeof(VecElement<V>);
// The vector of other numbers in as many lanes as V.
template <typename T, typename V>
using Like = VecOrNumber<T, kLanesOf<V>>;

// The numbers of n lanes, to expand a pack.
template <int n>
inline constexpr std::make_integer_sequence<int, n> kEach{};

// An integer of so many bytes.
template <int bytes>
using IntOf = std::conditional_t<
    bytes == 8, int64_t,
    std::conditional_t<bytes == 4, int32_t,
                       std::conditional_t<bytes == 2, int16_t, int8_t>>>;

// The same number in all lanes.
template <typename T, int lanes>
XLA_FFI_OPS_HD void Splat(T value, Vec<T, lanes>* v) {
  *v = value - Vec<T, lanes>{};  // With +, -0.0 would be 0.0.
}

// The vector of two halves.
template <typename T, int n, int... i>
XLA_FFI_OPS_HD void Join(const Vec<T, n / 2>& low, const Vec<T, n / 2>& high,
                         Vec<T, n>* x, std::integer_sequence<int, i...>) {
  *x = __builtin_shufflevector(low, high, i...);
}

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_VEC_VEC_H_
