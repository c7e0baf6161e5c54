// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/ops/random_bits/random_bits.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "xla_ffi_ops/random/columns.h"
#include "xla_ffi_ops/random/threefry.h"
#include "xla_ffi_ops/vec/cpu_level.h"
#include "xla_ffi_ops/vec/math/math_vector.h"

namespace xla_ffi_ops {
namespace {

using random::Words;

// A row of a call.
template <typename T>
struct Row {
  Words<uint32_t> key;
  uint64_t start;
  T* numbers;
};

template <BlockForm form, typename T>
Row<T> FindRow(const BitDraws<T>& call, int64_t row) {
  const uint32_t* const key = call.key[row];
  const uint32_t* const start = call.start[row];
  const int64_t size = call.n * (form == BlockForm::kKeys ? 2 : 1);
  return {{key[0], key[1]},
          uint64_t{start[0]} << 32 | start[1],
          call.numbers + row * size};
}

// What goes with count i of a row, if it is made of halves.
template <typename T>
int64_t SecondCount(const BitDraws<T>& call, int64_t i) {
  const int64_t count = i + call.blocks_of_row;
  return sizeof(T) < 8 && count == call.n ? 0 : count;
}

// x0, y0, x1, y1, ...
template <typename U, int... i>
XLA_FFI_OPS_HD void Interleave(U x, U y, U (&both)[2],
                               std::integer_sequence<int, i...>) {
  constexpr int n = sizeof...(i);
  both[0] = __builtin_shufflevector(x, y, (i / 2 + i % 2 * n)...);
  both[1] = __builtin_shufflevector(x, y, (n / 2 + i / 2 + i % 2 * n)...);
}

template <typename U, typename T>
XLA_FFI_OPS_HD void StorePairs(U x, U y, int64_t count, T* to) {
  constexpr int n = math::kLanesOf<U>;
  U both[2];
  Interleave(x, y, both, xla_ffi_ops::internal::kEach<n>);
  if (count >= n) {
    std::memcpy(to, both, sizeof(both));
  } else {
    std::memcpy(to, both, count * 8);
  }
}

// Stores the first `count` of some blocks, of which block j is the first.
template <BlockForm form, typename T, typename U>
XLA_FFI_OPS_HD void Put(Words<U> x, const BitDraws<T>& call, int64_t j,
                        int64_t count, T* row) {
  if constexpr (form == BlockForm::kKeys) {
    StorePairs(x.a, x.b, count, row + 2 * j);
  } else if constexpr (sizeof(T) == 8) {
    StorePairs(x.b, x.a, count, row + j);
  } else if constexpr (form == BlockForm::kHalves) {
    const int64_t second = j + call.blocks_of_row;
    random::StoreLanes(x.a, count, row + j);
    random::StoreLanes(x.b, std::min(count, call.n - second), row + second);
  } else {
    random::StoreLanes(__builtin_convertvector(x.a ^ x.b, math::Like<T, U>),
                       count, row + j);
  }
}

// The blocks [begin, end) of one row.
template <BlockForm form, typename U, typename T>
XLA_FFI_OPS_HD void RunRow(const BitDraws<T>& call, const Row<T>& row,
                           int64_t begin, int64_t end) {
  constexpr int kLanes = math::kLanesOf<U>;
  U lane;
  for (int i = 0; i < kLanes; ++i) lane[i] = i;
  const Words<U> key = {math::Splat<U>(row.key.a), math::Splat<U>(row.key.b)};
  for (int64_t j = begin; j < end; j += kLanes) {
    Words<U> count;
    if constexpr (form == BlockForm::kHalves) {
      count = {
          math::Splat<U>(static_cast<uint32_t>(j)) + lane,
          math::Splat<U>(static_cast<uint32_t>(j + call.blocks_of_row)) + lane};
      if (sizeof(T) < 8 && j + kLanes >= end && 2 * end > call.n) {
        count.b[end - 1 - j] = SecondCount(call, end - 1);
      }
    } else {
      const U first = math::Splat<U>(static_cast<uint32_t>(row.start + j));
      const U low = first + lane;
      const U high =
          math::Splat<U>(static_cast<uint32_t>((row.start + j) >> 32));
      const U one = math::Splat<U>(1);
      count = {high + math::Select(low < first, one, U{}), low};
    }
    Put<form>(random::Threefry(key, count), call, j, end - j, row.numbers);
  }
}

// The blocks [begin, end) of rows that are shorter than a vector: lanes are of
// several rows.
template <BlockForm form, typename U, typename T>
XLA_FFI_OPS_HD void RunShortRows(const BitDraws<T>& call, int64_t begin,
                                 int64_t end) {
  constexpr int kLanes = math::kLanesOf<U>;
  const int64_t of_row = call.blocks_of_row;
  for (int64_t i = begin; i < end; i += kLanes) {
    const int count = std::min<int64_t>(kLanes, end - i);
    uint32_t lanes[4][kLanes] = {};
    for (int l = 0; l < count; ++l) {
      const Row<T> row = FindRow<form>(call, (i + l) / of_row);
      const int64_t j = (i + l) % of_row;
      const uint64_t position = form == BlockForm::kHalves
                                    ? uint64_t(j) << 32 | SecondCount(call, j)
                                    : row.start + j;
      lanes[0][l] = row.key.a;
      lanes[1][l] = row.key.b;
      lanes[2][l] = static_cast<uint32_t>(position >> 32);
      lanes[3][l] = static_cast<uint32_t>(position);
    }
    Words<U> words[2];
    std::memcpy(words, lanes, sizeof(words));
    const Words<U> x = random::Threefry(words[0], words[1]);
    for (int l = 0; l < count; ++l) {
      const Words<math::VecOfBytes<uint32_t, 16>> block = {{x.a[l]}, {x.b[l]}};
      Put<form>(block, call, (i + l) % of_row, 1,
                FindRow<form>(call, (i + l) / of_row).numbers);
    }
  }
}

}  // namespace

template <BlockForm form, typename T>
void RunBits(const BitDraws<T>& call, int64_t begin, int64_t end) {
  AtCpuLevel([&](auto level) XLA_FFI_OPS_INLINED {
    using U = math::VecOfBytes<uint32_t, kVectorBytes<level>>;
    const int64_t of_row = call.blocks_of_row;
    if (of_row < math::kLanesOf<U>) {
      return RunShortRows<form, U>(call, begin, end);
    }
    while (begin < end) {
      const int64_t row = begin / of_row, first = begin % of_row;
      const int64_t last = std::min(of_row, first + end - begin);
      RunRow<form, U>(call, FindRow<form>(call, row), first, last);
      begin += last - first;
    }
  });
}

#define XLA_FFI_OPS_INSTANTIATE(form, T) \
  template void RunBits<BlockForm::form>(const BitDraws<T>&, int64_t, int64_t);
XLA_FFI_OPS_INSTANTIATE(kNumbers, uint8_t)
XLA_FFI_OPS_INSTANTIATE(kNumbers, uint16_t)
XLA_FFI_OPS_INSTANTIATE(kNumbers, uint32_t)
XLA_FFI_OPS_INSTANTIATE(kNumbers, uint64_t)
XLA_FFI_OPS_INSTANTIATE(kKeys, uint32_t)
XLA_FFI_OPS_INSTANTIATE(kHalves, uint32_t)
XLA_FFI_OPS_INSTANTIATE(kHalves, uint64_t)
#undef XLA_FFI_OPS_INSTANTIATE

}  // namespace xla_ffi_ops
