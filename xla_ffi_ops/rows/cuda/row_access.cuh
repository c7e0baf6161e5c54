// SPDX-License-Identifier: Apache-2.0
// How the threads of a kernel that runs a formula access rows.
#ifndef XLA_FFI_OPS_ROWS_CUDA_ROW_ACCESS_CUH_
#define XLA_FFI_OPS_ROWS_CUDA_ROW_ACCESS_CUH_

#include <cstdint>

#include "xla_ffi_ops/cuda/pack.cuh"
#include "xla_ffi_ops/rows/cuda/row_args.cuh"
#include "xla_ffi_ops/vec/float16.h"

namespace xla_ffi_ops {

// How many accesses of kSize elements of each input a thread keeps: a power of
// 2, as most rows have. The next rows' are in registers too, and so are sums.
template <typename Args, int kSize>
constexpr int RowLoads() {
  constexpr bool kDouble = sizeof(typename Args::T) > 4;
  constexpr int kPack = (kSize * sizeof(typename Args::T) + 3) / 4;
  constexpr int kSums =
      Args::kSums * kSize * sizeof(typename Args::Acc) / sizeof(int);
  // Doubles and more than one weight need other registers.
  constexpr int kOthers =
      8 * (Args::kWeights > 1) + (kDouble ? 10 * Args::Formula::kPasses : 0);
  constexpr int kRegisters =
      Args::kSums > 0 ? (kSize > 1 ? 80 : 40) : (kSize > 1 ? 32 : 16) - kOthers;
  int loads = 1;
  while (2 * loads * (2 * Args::kInputs * kPack + kSums) <= kRegisters) {
    loads *= 2;
  }
  return loads;
}

// How many accesses a thread keeps of rows that are wider than a warp, if it
// loads no next rows meanwhile; 0 if it does. Several passes over 16 bits are
// bound by instructions, and the more elements a thread has, the fewer of these
// each needs.
template <typename Args, int kSize>
inline constexpr int kMoreLoads =
    kIs16BitFloat<typename Args::T> && kSize > 1 && Args::kSums == 0 &&
            Args::Formula::kPasses > 1
        ? 2 * RowLoads<Args, kSize>()
        : 0;

// Whether kVector<T> elements can be accessed at a time: every row of each
// array then begins at a multiple of 16 bytes.
template <typename Args>
bool CanUseVectors(const Args& args) {
  uintptr_t bits = 0;
  const auto add = [&](const void* array) {
    bits |= reinterpret_cast<uintptr_t>(array);
  };
  for (int i = 0; i < Args::kInputs; ++i) add(args.inputs[i].data);
  for (int i = 0; i < Args::kWeights; ++i) add(args.weights[i].data);
  for (int i = 0; i < Args::kOutputs; ++i) add(args.outputs[i]);
  for (int i = 0; i < Args::kSums; ++i) {
    add(args.sums[i].out);
    add(args.sums[i].memory);
  }
  return args.cols % kVector<typename Args::T> == 0 && bits % kAccessBytes == 0;
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_ROWS_CUDA_ROW_ACCESS_CUH_
