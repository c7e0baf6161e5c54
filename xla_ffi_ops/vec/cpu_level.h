// SPDX-License-Identifier: Apache-2.0
// Compiles CPU kernels once per level of x86-64, so that one binary is fast on
// AVX-512 and still runs on the oldest machine.
#ifndef XLA_FFI_OPS_VEC_CPU_LEVEL_H_
#define XLA_FFI_OPS_VEC_CPU_LEVEL_H_

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <type_traits>
#include <utility>

#include "xla_ffi_ops/vec/device.h"

// The attributes of a function for each level.
#if defined(__x86_64__) && defined(__GNUC__)
#define XLA_FFI_OPS_CPU_LEVELS
#define XLA_FFI_OPS_V4 [[gnu::target("arch=x86-64-v4")]]
#define XLA_FFI_OPS_V3 [[gnu::target("arch=x86-64-v3")]]
#endif

namespace xla_ffi_ops {

// Whether this processor's kind has levels.
#ifdef XLA_FFI_OPS_CPU_LEVELS
inline constexpr bool kHasCpuLevels = true;
#else
inline constexpr bool kHasCpuLevels = false;
#endif

#ifdef XLA_FFI_OPS_CPU_LEVELS
namespace internal {

#ifdef __clang__
// Clang 16 does not know the names of the levels here. What else belongs to a
// level came with these.
inline bool HasV3() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") &&
         __builtin_cpu_supports("fma");
}
inline bool HasV4() {
  return HasV3() && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") &&
         __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}
#else
inline bool HasV3() { return __builtin_cpu_supports("x86-64-v3"); }
inline bool HasV4() { return __builtin_cpu_supports("x86-64-v4"); }
#endif

}  // namespace internal
#endif

// Whether results that are larger than caches should be stored past them, which
// saves reading their lines first. This pays on AMD's processors; on a Xeon, it
// made a copy slower. Tests set it.
inline bool& PrefersNonTemporal() {
#ifdef XLA_FFI_OPS_CPU_LEVELS
  static bool prefers = __builtin_cpu_is("amd");
#else
  static bool prefers = false;
#endif
  return prefers;
}

// The level that kernels of this process use: 4, with AVX-512; 3, with AVX2 and
// F16C; or 1. It is 0 on other processors.
//
// The environment variable XLA_FFI_OPS_CPU_LEVEL, if it is 1 or 3, is the
// highest. It is read once. Python's kit refuses other values.
inline int CpuLevel() {
#ifdef XLA_FFI_OPS_CPU_LEVELS
  static const int level = [] {
    const char* const variable = std::getenv("XLA_FFI_OPS_CPU_LEVEL");
    const int highest = variable == nullptr ? 4 : std::atoi(variable);
    if (highest >= 4 && internal::HasV4()) return 4;
    return highest >= 3 && internal::HasV3() ? 3 : 1;
  }();
  return level;
#else
  return 0;
#endif
}

inline constexpr int kMostLevel = 4;
// From this level on, there are vectors of 32 bytes, conversions of 16 bits in
// registers, and stores past the caches.
inline constexpr int kWideLevel = 3;

// The bytes of a vector at a level.
template <int level>
inline constexpr int kVectorBytes = level == 4   ? 64
                                    : level == 3 ? 32
                                                 : 16;

namespace internal {

template <int level, typename Body>
XLA_FFI_OPS_HD void CallAt(const Body& body) {
  using Level = std::integral_constant<int, level>;
  if constexpr (std::is_invocable_v<const Body&, Level>) {
    body(Level());
  } else {
    body();
  }
}

#ifdef XLA_FFI_OPS_CPU_LEVELS
template <typename Body>
XLA_FFI_OPS_V4 void CallV4(const Body& body) {
  CallAt<4>(body);
}
template <typename Body>
XLA_FFI_OPS_V3 void CallV3(const Body& body) {
  CallAt<3>(body);
}
#endif

// For machines from before 2013: it has to be right, and soon compiled.
template <typename Body>
#if defined(XLA_FFI_OPS_CPU_LEVELS) && !defined(__clang__)
[[gnu::optimize("O1")]]
#endif
void CallV1(const Body& body) {
  CallAt<1>(body);
}

}  // namespace internal

// Calls body(), compiled for this machine's level, which is at least `least`;
// or body(level), with a std::integral_constant, where that is 1 on processors
// that have no levels.
// The body, and what it calls, has to be inlined (XLA_FFI_OPS_INLINED): what is
// not is compiled for the oldest level. `most` is the highest level that is
// used.
template <int least = 0, typename Body>
void AtCpuLevel(const Body& body, [[maybe_unused]] int most = kMostLevel) {
#ifdef XLA_FFI_OPS_CPU_LEVELS
  const int level = std::min(CpuLevel(), most);
  if (level == 4) return internal::CallV4(body);
  if (least == 3 || level == 3) return internal::CallV3(body);
#endif
  if constexpr (least < 3) internal::CallV1(body);
}

// Calls body() by a function that is compiled for one level.
template <int level, typename Body>
void AtLevel(const Body& body) {
#ifdef XLA_FFI_OPS_CPU_LEVELS
  if constexpr (level == 4) {
    internal::CallV4(body);
  } else if constexpr (level == 3) {
    internal::CallV3(body);
  } else {
    internal::CallV1(body);
  }
#else
  internal::CallV1(body);
#endif
}

// The bytes of the vectors that levels have beside the oldest ones.
#ifdef XLA_FFI_OPS_CPU_LEVELS
using WideVectors =
    std::integer_sequence<int, kVectorBytes<3>, kVectorBytes<4>>;
#else
using WideVectors = std::integer_sequence<int>;
#endif

// Those of them that hold so many bytes at this machine's level: with AVX-512,
// those of AVX2 if half of a vector would be idle. 0 if it has none.
inline int64_t WideVectorBytes([[maybe_unused]] int64_t bytes) {
#ifdef XLA_FFI_OPS_CPU_LEVELS
  if (CpuLevel() == 4 && bytes > kVectorBytes<3>) return kVectorBytes<4>;
  if (CpuLevel() >= 3) return kVectorBytes<3>;
#endif
  return 0;
}

// Calls body(level), compiled for the level whose vectors have so many bytes,
// or for this machine's if they are not wide.
template <int bytes, typename Body>
void AtLevelOfVectors(const Body& body) {
#ifdef XLA_FFI_OPS_CPU_LEVELS
  if constexpr (bytes == kVectorBytes<4>) {
    internal::CallV4(body);
  } else if constexpr (bytes == kVectorBytes<3>) {
    internal::CallV3(body);
  } else {
    AtCpuLevel(body);
  }
#else
  AtCpuLevel(body);
#endif
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_VEC_CPU_LEVEL_H_
