// SPDX-License-Identifier: Apache-2.0
// What keeps an index of a compiled loop inside of an array: indices of all
// integer types, alone and in lanes, into arrays of any size.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/kit/cpp/fake_xla.h"
#include "xla_ffi_ops/vec/lanes/lanes.h"

namespace xla_ffi_ops::lanes {
namespace {

using Exact = __int128;

// The last index of an array, or -1 if it is empty.
const std::vector<int64_t>& Lasts() {
  static const std::vector<int64_t> lasts = [] {
    std::vector<int64_t> found = {-1, 0, 1, 5};
    for (const int bits : {7, 8, 15, 16, 31, 32, 63}) {
      const Exact power = Exact{1} << bits;
      for (const Exact x : {power - 2, power - 1, power}) {
        if (x <= std::numeric_limits<int64_t>::max()) found.push_back(x);
      }
    }
    return found;
  }();
  return lasts;
}

// Those numbers, and the others of a type that are beside a limit.
template <typename T>
std::vector<T> Indices() {
  std::vector<T> found;
  for (const int64_t last : Lasts()) {
    for (const Exact x : {-Exact{last}, Exact{last}, Exact{last} + 1}) {
      if (static_cast<Exact>(static_cast<T>(x)) == x) found.push_back(x);
    }
  }
  found.push_back(std::numeric_limits<T>::min());
  found.push_back(std::numeric_limits<T>::max());
  return found;
}

Exact Clamped(Exact x, int64_t last) {
  return std::max<Exact>(0, std::min<Exact>(x, last));
}

bool Inside(Exact x, int64_t last) { return x >= 0 && x <= last; }

template <typename T>
void TestScalars() {
  for (const int64_t last : Lasts()) {
    for (const T x : Indices<T>()) {
      CHECK(ClampIndex(x, last) == Clamped(x, last));
      CHECK(IsInside<bool>(x, last) == Inside(x, last));
    }
  }
}

template <typename T>
void TestLanes() {
  constexpr int lanes = 16 / sizeof(T);  // Any processor has such vectors.
  using M = Mask<sizeof(T), lanes>;
  const std::vector<T> indices = Indices<T>();
  for (const int64_t last : Lasts()) {
    for (size_t begin = 0; begin < indices.size(); ++begin) {
      Vector<T, lanes> x;
      for (int l = 0; l < lanes; ++l) {
        x[l] = indices[(begin + l) % indices.size()];
      }
      const Vector<T, lanes> clamped = ClampIndex(x, last);
      const M inside = IsInside<M>(x, last);
      for (int l = 0; l < lanes; ++l) {
        CHECK(clamped[l] == Clamped(x[l], last));
        CHECK(inside[l] == -Inside(x[l], last));
      }
    }
  }
}

template <typename T>
void Test() {
  TestScalars<T>();
  TestLanes<T>();
}

}  // namespace
}  // namespace xla_ffi_ops::lanes

int main() {
  using xla_ffi_ops::lanes::Test;
  Test<int8_t>();
  Test<int16_t>();
  Test<int32_t>();
  Test<int64_t>();
  Test<uint8_t>();
  Test<uint16_t>();
  Test<uint32_t>();
  Test<uint64_t>();
}
