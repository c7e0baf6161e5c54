// SPDX-License-Identifier: Apache-2.0
// Functions of the C library that XLA calls, too.
#ifndef XLA_FFI_OPS_RANDOM_C_LIBRARY_H_
#define XLA_FFI_OPS_RANDOM_C_LIBRARY_H_

#include <cmath>

namespace xla_ffi_ops::random {

#if defined(__GLIBC__) && defined(__x86_64__)
// glibc 2.29 has these twice, and links what is new. Our wheel and jaxlib's are
// for older ones, too.
extern "C" {
__attribute__((const)) double xla_ffi_ops_random_log(double x);
__attribute__((const)) double xla_ffi_ops_random_pow(double x, double y);
}
__asm__(".symver xla_ffi_ops_random_log, log@GLIBC_2.2.5");
__asm__(".symver xla_ffi_ops_random_pow, pow@GLIBC_2.2.5");

inline double LogOf(double x) { return xla_ffi_ops_random_log(x); }
inline double PowOf(double x, double y) { return xla_ffi_ops_random_pow(x, y); }
#else
inline double LogOf(double x) { return std::log(x); }
inline double PowOf(double x, double y) { return std::pow(x, y); }
#endif
inline float PowOf(float x, float y) { return std::pow(x, y); }

}  // namespace xla_ffi_ops::random

#endif  // XLA_FFI_OPS_RANDOM_C_LIBRARY_H_
