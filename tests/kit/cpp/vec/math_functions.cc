// SPDX-License-Identifier: Apache-2.0
#include "tests/kit/cpp/vec/math_functions.h"

#include <algorithm>
#include <cstring>

#include "xla_ffi_ops/vec/cpu_level.h"
#include "xla_ffi_ops/vec/math/erf.h"
#include "xla_ffi_ops/vec/math/exp.h"
#include "xla_ffi_ops/vec/math/hyperbolic.h"
#include "xla_ffi_ops/vec/math/inverse_trigonometric.h"
#include "xla_ffi_ops/vec/math/log.h"
#include "xla_ffi_ops/vec/math/pow.h"
#include "xla_ffi_ops/vec/math/roots.h"
#include "xla_ffi_ops/vec/math/trigonometric.h"

namespace xla_ffi_ops {
namespace {

template <typename V, typename Fn, typename T>
XLA_FFI_OPS_HD void Apply(const T* x, const T* w, T* y, int64_t n) {
  constexpr int kLanes = sizeof(V) / sizeof(T);
  for (int64_t i = 0; i < n; i += kLanes) {
    V a, b;
    std::memcpy(&a, x + i, sizeof(V));
    std::memcpy(&b, w + i, sizeof(V));
    const V c = Fn::Of(a, b);
    std::memcpy(y + i, &c, sizeof(V));
  }
}

// 0 bytes: of the CPU's size, which none exceeds.
template <typename Fn, typename T, int bytes>
void Run(const T* x, const T* w, T* y, int64_t n) {
  AtCpuLevel([=](auto level) XLA_FFI_OPS_INLINED {
    math::AssumeLevel<level>();
    constexpr int kMost = kVectorBytes<decltype(level)::value>;
    constexpr int kBytes = bytes == 0 ? kMost : std::min(bytes, kMost);
    if constexpr (kBytes == sizeof(T)) {
      Apply<T, Fn>(x, w, y, n);
    } else {
      Apply<math::VecOfBytes<T, kBytes>, Fn>(x, w, y, n);
    }
  });
}

template <typename Fn, typename T>
Loops<T> LoopsOf() {
#ifdef MATH_FORMS
  return {
      Run<Fn, T, 0>,
      {Run<Fn, T, sizeof(T)>, Run<Fn, T, 16>, Run<Fn, T, 32>, Run<Fn, T, 64>}};
#else
  return {Run<Fn, T, 0>, {}};
#endif
}

#define XLA_FFI_OPS_FUNCTION(name, ...)                     \
  struct name {                                             \
    template <typename V>                                   \
    XLA_FFI_OPS_HD static V Of(V x, [[maybe_unused]] V w) { \
      return math::name(__VA_ARGS__);                       \
    }                                                       \
  };
XLA_FFI_OPS_FUNCTION(Exp, x)
XLA_FFI_OPS_FUNCTION(Exp2, x)
XLA_FFI_OPS_FUNCTION(Expm1, x)
XLA_FFI_OPS_FUNCTION(Logistic, x)
XLA_FFI_OPS_FUNCTION(Log, x)
XLA_FFI_OPS_FUNCTION(Log1p, x)
XLA_FFI_OPS_FUNCTION(Sin, x)
XLA_FFI_OPS_FUNCTION(Cos, x)
XLA_FFI_OPS_FUNCTION(Tan, x)
XLA_FFI_OPS_FUNCTION(Tanh, x)
XLA_FFI_OPS_FUNCTION(Sinh, x)
XLA_FFI_OPS_FUNCTION(Cosh, x)
XLA_FFI_OPS_FUNCTION(Asinh, x)
XLA_FFI_OPS_FUNCTION(Acosh, x)
XLA_FFI_OPS_FUNCTION(Atanh, x)
XLA_FFI_OPS_FUNCTION(Atan, x)
XLA_FFI_OPS_FUNCTION(Atan2, x, w)
XLA_FFI_OPS_FUNCTION(Asin, x)
XLA_FFI_OPS_FUNCTION(Acos, x)
XLA_FFI_OPS_FUNCTION(Pow, x, w)
XLA_FFI_OPS_FUNCTION(Cbrt, x)
XLA_FFI_OPS_FUNCTION(Rsqrt, x)
XLA_FFI_OPS_FUNCTION(Erf, x)
XLA_FFI_OPS_FUNCTION(Erfc, x)
XLA_FFI_OPS_FUNCTION(ErfInv, x)
#undef XLA_FFI_OPS_FUNCTION

template <typename Fn>
MathFunction Named(const char* name) {
  return {name, LoopsOf<Fn, float>(), LoopsOf<Fn, double>()};
}

}  // namespace

const std::vector<MathFunction>& MathFunctions() {
  static const std::vector<MathFunction> functions = {
      Named<Exp>("exp"),           Named<Exp2>("exp2"),   Named<Expm1>("expm1"),
      Named<Logistic>("logistic"), Named<Log>("log"),     Named<Log1p>("log1p"),
      Named<Sin>("sin"),           Named<Cos>("cos"),     Named<Tan>("tan"),
      Named<Tanh>("tanh"),         Named<Sinh>("sinh"),   Named<Cosh>("cosh"),
      Named<Asinh>("asinh"),       Named<Acosh>("acosh"), Named<Atanh>("atanh"),
      Named<Atan>("atan"),         Named<Atan2>("atan2"), Named<Asin>("asin"),
      Named<Acos>("acos"),         Named<Pow>("pow"),     Named<Cbrt>("cbrt"),
      Named<Rsqrt>("rsqrt"),       Named<Erf>("erf"),     Named<Erfc>("erfc"),
      Named<ErfInv>("erf_inv"),
  };
  return functions;
}

}  // namespace xla_ffi_ops
