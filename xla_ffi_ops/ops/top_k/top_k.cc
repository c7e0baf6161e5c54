// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/ops/top_k/top_k.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "xla_ffi_ops/vec/cpu_level.h"
#include "xla_ffi_ops/vec/device.h"

namespace xla_ffi_ops::top_k {
namespace {

// How many keys are at least `least`.
template <typename Key>
XLA_FFI_OPS_HD int64_t CountFrom(const Key* keys, int64_t n, Key least) {
  constexpr int64_t kPart = 128;  // which a byte can count
  int64_t count = 0;
  for (int64_t begin = 0; begin < n; begin += kPart) {
    const int64_t size = n - begin < kPart ? n - begin : kPart;
    std::make_unsigned_t<Key> some = 0;
    for (int64_t i = 0; i < size; ++i) some += keys[begin + i] >= least;
    count += some;
  }
  return count;
}

// A threshold: at least k of the n keys reach it, and more than k only if they
// are equal. It is the k-th largest key, or lies between that and the next.
template <typename Key>
XLA_FFI_OPS_HD Key Threshold(const Key* keys, int64_t n, int64_t k) {
  using Bits = std::make_unsigned_t<Key>;
  Bits found = static_cast<Bits>(std::numeric_limits<Key>::min());
  if (n == k) return static_cast<Key>(found);
  for (int bit = 8 * sizeof(Key) - 1; bit >= 0; --bit) {
    const Bits next = static_cast<Bits>(found + (Bits{1} << bit));
    const int64_t count = CountFrom(keys, n, static_cast<Key>(next));
    if (count >= k) found = next;
    if (count == k) break;
  }
  return static_cast<Key>(found);
}

template <typename Key>
XLA_FFI_OPS_HD Key Largest(const Key* row, int64_t n,
                           const SignedKeys<Key> format) {
  Key largest = std::numeric_limits<Key>::min();
  for (int64_t i = 0; i < n; ++i) {
    const Key key = format.Encode(row[i]);
    largest = key > largest ? key : largest;
  }
  return largest;
}

// Stores the keys of [begin, end) that are above `least`, and up to `left` of
// those that are equal to it, with their indices.
template <typename Key>
XLA_FFI_OPS_HD int64_t Keep(const Part<Key> part, int64_t begin, int64_t end,
                            Key least, int64_t& left, int64_t kept) {
  for (int64_t i = begin; i < end; ++i) {
    const Key key = part.format.Encode(part.row[i]);
    part.keys[kept] = key;
    part.indices[kept] = static_cast<int32_t>(i);
    const bool equal = key == least;
    kept += (key > least) | (equal & (left > 0));
    left -= equal;
  }
  return kept;
}

// So many elements that there are at least 4 k blocks: the maxima of blocks
// tell where to look. In smaller ones, each element is looked at.
template <typename Key>
int64_t BlockSize(const Part<Key>& part) {
  int64_t size = 128;
  while (size > 8 && (part.end - part.begin) / size < 4 * part.k) size /= 2;
  return size;
}

// Stores what may be among the k largest; returns how many.
template <typename Key>
XLA_FFI_OPS_HD int64_t Candidates(const Part<Key> part, int64_t size) {
  const int64_t n = part.end - part.begin;
  if (size <= 8) {
    for (int64_t i = 0; i < n; ++i) {
      part.keys[i] = part.format.Encode(part.row[part.begin + i]);
      part.indices[i] = static_cast<int32_t>(part.begin + i);
    }
    return n;
  }
  // k blocks have a maximum of at least `least`, below. So nothing that is less
  // is among the k largest.
  const int64_t blocks = n / size;
  Key* const maxima = part.keys + (n - blocks);
  for (int64_t block = 0; block < blocks; ++block) {
    maxima[block] =
        Largest(part.row + part.begin + block * size, size, part.format);
  }
  const Key least = Threshold(maxima, blocks, part.k);
  int64_t left = part.k;
  int64_t kept = 0;
  for (int64_t block = 0; block < blocks; ++block) {
    const Key largest = maxima[block];
    if (largest < least || (largest == least && left <= 0)) continue;
    const int64_t begin = part.begin + block * size;
    kept = Keep(part, begin, begin + size, least, left, kept);
  }
  return Keep(part, part.begin + blocks * size, part.end, least, left, kept);
}

}  // namespace

template <typename Key>
int64_t Select(const Part<Key>& part, Packed<Key>* largest) {
  const int64_t k = std::min(part.k, part.end - part.begin);
  const int64_t size = BlockSize(part);
  AtCpuLevel([part, size, k, largest]() XLA_FFI_OPS_INLINED {
    const int64_t n = Candidates(part, size);
    const Key least = Threshold(part.keys, n, k);
    int64_t left =
        k - (least == std::numeric_limits<Key>::max()
                 ? 0
                 : CountFrom(part.keys, n, static_cast<Key>(least + 1)));
    int64_t kept = 0;
    for (int64_t i = 0; kept < k; ++i) {
      const Key key = part.keys[i];
      largest[kept] = Pack(key, part.indices[i]);
      const bool equal = key == least;
      kept += (key > least) | (equal & (left > 0));
      left -= equal;
    }
  });
  return k;
}

template int64_t Select(const Part<int8_t>&, uint64_t*);
template int64_t Select(const Part<int16_t>&, uint64_t*);
template int64_t Select(const Part<int32_t>&, uint64_t*);
template int64_t Select(const Part<int64_t>&, unsigned __int128*);

}  // namespace xla_ffi_ops::top_k
