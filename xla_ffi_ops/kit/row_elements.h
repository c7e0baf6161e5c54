// SPDX-License-Identifier: Apache-2.0
// How the loops over a piece of a row on the CPU load its elements: one by one,
// or those of bfloat16 in pairs.
//
// A pair is a word of 32 bits. One shift and one mask make floats of it, and
// two floats are rounded and joined as cheaply: no element moves to another
// lane of a vector, as it does where vectors of 16-bit and 32-bit numbers are
// converted.
#ifndef XLA_FFI_OPS_KIT_ROW_ELEMENTS_H_
#define XLA_FFI_OPS_KIT_ROW_ELEMENTS_H_

#include <cstdint>

#include "xla_ffi_ops/kit/device.h"
#include "xla_ffi_ops/kit/float16.h"

namespace xla_ffi_ops::internal {

// A piece has At<i>(k), which is element kEach * k + i, and One(j), which is
// element j and loads no other one.

template <typename T, int kEach = 1>
struct Elements {
  template <int i>
  XLA_FFI_OPS_HD T At(int64_t k) const {
    static_assert(i < kEach);
    return data[kEach * k + i];
  }
  XLA_FFI_OPS_HD T One(int64_t j) const { return data[j]; }

  const T* data;
};

// Two of BFloat16, the first one in the lower half.
using PairWord [[gnu::may_alias, gnu::aligned(2)]] = uint32_t;

struct Pairs {
  template <int i>
  XLA_FFI_OPS_HD float At(int64_t k) const {
    const uint32_t word = reinterpret_cast<const PairWord*>(data)[k];
    return BitCast<float>(i == 0 ? word << 16 : word & 0xffff0000u);
  }
  XLA_FFI_OPS_HD float One(int64_t j) const { return data[j]; }

  const BFloat16* data;
};

// Where the loops leave the element j of n that they took in pairs: first all
// that are first in a pair.
XLA_FFI_OPS_HD int64_t SplitPlace(int64_t j, int64_t n) {
  return j / 2 + j % 2 * ((n + 1) / 2);
}

// Such elements.
template <typename Acc>
struct SplitPairs {
  template <int i>
  XLA_FFI_OPS_HD Acc At(int64_t k) const {
    return data[i * ((n + 1) / 2) + k];
  }
  XLA_FFI_OPS_HD Acc One(int64_t j) const { return data[SplitPlace(j, n)]; }

  const Acc* data;
  int64_t n;
};

// What is stored in pairs.
struct StoredPairs {
  XLA_FFI_OPS_HD static uint32_t Join(float first, float second) {
    return BFloat16::RoundUpper(first) >> 16 |
           (BFloat16::RoundUpper(second) & 0xffff0000u);
  }
  XLA_FFI_OPS_HD void Put(int64_t k, uint32_t word) const {
    reinterpret_cast<PairWord*>(data)[k] = word;
  }
  XLA_FFI_OPS_HD void PutOne(int64_t j, float value) const { data[j] = value; }

  BFloat16* data;
};

// Take At<i>(k) or One(j) of any piece.
template <int i>
struct TakeAt {
  template <typename Piece>
  XLA_FFI_OPS_HD auto operator()(const Piece& piece) const {
    return piece.template At<i>(k);
  }
  int64_t k;
};
struct TakeOne {
  template <typename Piece>
  XLA_FFI_OPS_HD auto operator()(const Piece& piece) const {
    return piece.One(j);
  }
  int64_t j;
};

}  // namespace xla_ffi_ops::internal

#endif  // XLA_FFI_OPS_KIT_ROW_ELEMENTS_H_
