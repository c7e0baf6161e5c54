// SPDX-License-Identifier: Apache-2.0
// How scans round vectors of float to bfloat16: as BFloat16(float) does it,
// with any bits of a NaN.
#include <cstdint>
#include <cstring>

#include "tests/kit/cpp/fake_xla.h"
#include "xla_ffi_ops/vec/float16.h"
#include "xla_ffi_ops/vec/half_vectors.h"

namespace xla_ffi_ops::internal {
namespace {

constexpr uint32_t kBits[] = {0x7fffffff, 0xffffffff, 0x7f800001, 0x7fc00000,
                              0x7f800000, 0x7f7fffff, 0x3f808000, 0x3f818000};

void Test() {
  Vec<float, 8> x;
  std::memcpy(&x, kBits, sizeof(x));
  Halves<8> y;
  Narrow<8>(BFloat16(), x, &y);
  Vec<int32_t, 8> pairs;
  JoinPairs<8>(x, x, &pairs);
  for (int i = 0; i < 8; ++i) {
    const BFloat16 expected(x[i]);
    uint16_t bits;
    std::memcpy(&bits, &expected, sizeof(bits));
    CHECK(static_cast<uint16_t>(y[i]) == bits);
    CHECK(static_cast<uint32_t>(pairs[i]) == bits * 0x10001u);
  }
}

}  // namespace
}  // namespace xla_ffi_ops::internal

int main() { xla_ffi_ops::internal::Test(); }
