// SPDX-License-Identifier: Apache-2.0
// Pairs of neighbouring elements, in the loops of CPU kernels.
//
// Two elements of 16 bits are loaded and stored as one number of 32 bits. Then
// the compiler vectorizes their conversions without moving elements from lane
// to lane, which were a third of the instructions.
#ifndef XLA_FFI_OPS_KIT_PAIRS_H_
#define XLA_FFI_OPS_KIT_PAIRS_H_

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "xla_ffi_ops/kit/device.h"
#include "xla_ffi_ops/kit/float16.h"

namespace xla_ffi_ops::internal {

// Whether the loops over rows of T take pairs.
template <typename T>
inline constexpr bool kInPairs = sizeof(T) == 2;

// Which element is loaded at j: element j by itself, or the first or second of
// the pair of elements j and j + 1.
enum class Which { kSingle, kFirst, kSecond };
template <Which which>
using WhichTag = std::integral_constant<Which, which>;
inline constexpr WhichTag<Which::kSingle> kSingle;
inline constexpr WhichTag<Which::kFirst> kFirst;
inline constexpr WhichTag<Which::kSecond> kSecond;

template <Which which, typename Line>
XLA_FFI_OPS_HD auto Load(WhichTag<which>, const Line& line, int64_t j) {
  using T = std::decay_t<decltype(line[j])>;
  constexpr bool second = which == Which::kSecond;
  if constexpr (which != Which::kSingle && kInPairs<T>) {
    uint32_t bits;
    std::memcpy(&bits, line + j, sizeof(bits));
    const auto half = static_cast<uint16_t>(second ? bits >> 16 : bits);
    return static_cast<float>(BitCast<T>(half));
  } else {
    return static_cast<Accumulator<T>>(line[second ? j + 1 : j]);
  }
}

template <typename T, typename Acc>
XLA_FFI_OPS_HD void StorePair(T* line, int64_t j, Acc first, Acc second) {
  T low, high;
  low = first;
  high = second;
  const uint32_t bits =
      BitCast<uint16_t>(low) | uint32_t{BitCast<uint16_t>(high)} << 16;
  std::memcpy(static_cast<void*>(line + j), &bits, sizeof(bits));
}

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_KIT_PAIRS_H_
