// SPDX-License-Identifier: Apache-2.0
// Instructions of x86-64 that g++ 12 does not make of code for vectors, and
// refuses as intrinsics in what is compiled for several levels. Who calls them
// has other code for other processors, and for Clang. Fma is in math_vector.h.
#ifndef XLA_FFI_OPS_VEC_X86_H_
#define XLA_FFI_OPS_VEC_X86_H_

#include <cstdint>

#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/vec.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define XLA_FFI_OPS_X86

namespace xla_ffi_ops::internal::x86 {

// Float16 to float, and back, to the nearest even one. Needs F16C.
template <typename Halves, typename Floats>
XLA_FFI_OPS_HD void WidenFloat16(const Halves& x, Floats* y) {
  asm("vcvtph2ps %1, %0" : "=v"(*y) : "vm"(x));
}
template <typename Floats, typename Halves>
XLA_FFI_OPS_HD void NarrowFloat16(const Floats& x, Halves* y) {
  asm("vcvtps2ph $0, %1, %0" : "=v"(*y) : "v"(x));
}

// One instruction, where g++ 12 takes four.
XLA_FFI_OPS_HD void WidenFloats(const Vec<float, 8>& x, Vec<double, 8>* y) {
  asm("vcvtps2pd %1, %0" : "=v"(*y) : "v"(x));
}
XLA_FFI_OPS_HD void WidenFloats(const Vec<float, 4>& x, Vec<double, 4>* y) {
  asm("vcvtps2pd %1, %0" : "=x"(*y) : "x"(x));
}

// A store past the caches, of whole lines.
template <typename V>
XLA_FFI_OPS_HD void StorePast(const V& v, void* to) {
  asm("vmovntps %1, %0" : "=m"(*static_cast<char (*)[sizeof(v)]>(to)) : "v"(v));
}

// Whether a lane of either is NaN.
XLA_FFI_OPS_HD bool HasNan(const Vec<float, 8>& a, const Vec<float, 8>& b) {
  Vec<float, 8> is_nan;
  bool has;
  asm("vcmpunordps %3, %2, %1\n\tvtestps %1, %1"
      : "=@ccnz"(has), "=x"(is_nan)
      : "x"(a), "x"(b));
  return has;
}
XLA_FFI_OPS_HD bool HasNan(const Vec<float, 16>& a, const Vec<float, 16>& b) {
  bool has;
  asm("vcmpunordps %1, %2, %%k1\n\tkortestw %%k1, %%k1"
      : "=@ccnz"(has)
      : "v"(a), "v"(b)
      : "k1");
  return has;
}

// AVX512-BF16 is no part of level 4. It takes subnormal numbers for zeros.
inline const bool kHasBf16 = __builtin_cpu_supports("avx512bf16");

// Rounds the lanes of a, and then of b. Returns whether a result is zero.
XLA_FFI_OPS_HD bool NarrowNormal(const Vec<float, 16>& a,
                                 const Vec<float, 16>& b, Vec<int16_t, 32>* y) {
  const auto magnitude = Vec<int16_t, 32>{} + 0x7fff;
  bool zero;
  asm("vcvtne2ps2bf16 %1, %2, %0" : "=v"(*y) : "v"(a), "v"(b));
  asm("vptestnmw %1, %2, %%k1\n\tkortestd %%k1, %%k1"
      : "=@ccnz"(zero)
      : "v"(magnitude), "v"(*y)
      : "k1");
  return zero;
}

// Whether a lane is subnormal. (Instructions for floats do not see it in XLA's
// threads, which flush such numbers.)
XLA_FFI_OPS_HD bool HasSubnormal(const Vec<float, 16>& a,
                                 const Vec<float, 16>& b) {
  const auto exponent = Vec<int32_t, 16>{} + 0x7f800000;
  const auto mantissa = Vec<int32_t, 16>{} + 0x7fffff;
  bool has;
  asm("vptestnmd %1, %3, %%k1\n\tvptestmd %2, %3, %%k1%{%%k1%}\n\t"
      "vptestnmd %1, %4, %%k2\n\tvptestmd %2, %4, %%k2%{%%k2%}\n\t"
      "kortestw %%k1, %%k2"
      : "=@ccnz"(has)
      : "v"(exponent), "v"(mantissa), "v"(a), "v"(b)
      : "k1", "k2");
  return has;
}

// Rounds the lanes of a, and then of b, to bfloat16. Returns whether it could.
XLA_FFI_OPS_HD bool NarrowBFloat16(const Vec<float, 16>& a,
                                   const Vec<float, 16>& b,
                                   Vec<int16_t, 32>* y) {
  // Few results are zero: one vector is tested for that before two are tested
  // for subnormals.
  return kHasBf16 && (!NarrowNormal(a, b, y) || !HasSubnormal(a, b));
}

}  // namespace xla_ffi_ops::internal::x86

#endif

#endif  // XLA_FFI_OPS_VEC_X86_H_
