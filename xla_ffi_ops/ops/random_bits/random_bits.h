// SPDX-License-Identifier: Apache-2.0
// Random bits, and keys, on the CPU.
#ifndef XLA_FFI_OPS_OPS_RANDOM_BITS_RANDOM_BITS_H_
#define XLA_FFI_OPS_OPS_RANDOM_BITS_RANDOM_BITS_H_

#include <cstdint>

#include "xla_ffi_ops/vec/row_map.h"

namespace xla_ffi_ops {

// What becomes of the blocks of a row: the numbers of a key.
enum class BlockForm {
  kNumbers,  // Each a number: its two words' XOR; or, of 64 bits, both words.
  kKeys,     // Each a key.
  kHalves,   // Of n counts, number i goes with number i + n / 2 (rounded up).
};

// Rows of n numbers of T (keys are two of uint32_t), of which a key and the
// count of the first one are given.
template <typename T>
struct BitDraws {
  Rows<const uint32_t> key;
  Rows<const uint32_t> start;  // its high word, and its low one
  int64_t n;
  T* numbers;

  int64_t blocks_of_row;
};

// Computes the blocks [begin, end) of all rows.
template <BlockForm form, typename T>
void RunBits(const BitDraws<T>& call, int64_t begin, int64_t end);

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_OPS_RANDOM_BITS_RANDOM_BITS_H_
