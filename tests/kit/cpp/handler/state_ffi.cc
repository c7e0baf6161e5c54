// SPDX-License-Identifier: Apache-2.0
// Handlers with a state: one that counts its calls, and an op that looks up
// what it would else compute in each call.
#include <cmath>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "xla_ffi_ops/ffi.h"

namespace xla_ffi_ops {
namespace {

struct Counter {
  static inline ffi::TypeId id = {};

  int64_t count;
};

StateOr<Counter> MakeCounter(int64_t start) {
  if (start == -1) throw std::runtime_error("thrown");
  if (start == -2) return std::unique_ptr<Counter>();
  if (start < 0) {
    return ffi::Unexpected(ffi::Error(ffi::ErrorCode::kNotFound, "negative"));
  }
  return std::make_unique<Counter>(Counter{start});
}

HandlerResult Count(CpuContext, Counter* counter, int64_t,
                    ffi::Result<ffi::BufferR0<ffi::S64>> count) {
  count->typed_data()[0] = counter->count++;
  return ffi::Error::Success();
}

struct Powers {
  static inline ffi::TypeId id = {};

  std::vector<float> values;
};

StateOr<Powers> MakePowers(float base, int64_t count) {
  auto powers = std::make_unique<Powers>();
  for (int64_t i = 0; i < count; ++i) {
    powers->values.push_back(std::pow(base, static_cast<float>(i)));
  }
  return powers;
}

// y = sum of x[i] base^i.
HandlerResult Evaluate(CpuContext device, Powers* powers, float, int64_t count,
                       ffi::AnyBuffer x, ffi::Result<ffi::AnyBuffer> y) {
  Dim d = count;
  Checks checks;
  checks.Operand("x", x, ffi::F32, {&d});
  const RowMap map = checks.Map("x", x, 1);
  checks.Result("y", *y, ffi::F32, {});
  if (!checks.ok()) return checks.error();
  const Rows<const float> rows{Data<const float>(x), d, map};
  return ForRows(device, Product(checks.loops()), d * sizeof(float),
                 [=, y = Data<float>(*y)](Cpu, int64_t begin, int64_t end) {
                   for (int64_t row = begin; row < end; ++row) {
                     float sum = 0;
                     for (int64_t i = 0; i < d; ++i) {
                       sum += rows[row][i] * powers->values[i];
                     }
                     y[row] = sum;
                   }
                 });
}

}  // namespace

XLA_FFI_OPS_DEFINE_STATE(kit_test_count, Counter, MakeCounter,
                         .Attr<int64_t>("start"));
XLA_FFI_OPS_DEFINE_HANDLER(kit_test_count, Count,
                           .Ctx<ffi::State<Counter>>()
                               .Attr<int64_t>("start")
                               .Ret<ffi::BufferR0<ffi::S64>>());

XLA_FFI_OPS_DEFINE_STATE(kit_test_powers_fwd, Powers, MakePowers,
                         .Attr<float>("base").Attr<int64_t>("count"));
XLA_FFI_OPS_DEFINE_HANDLER(kit_test_powers_fwd, Evaluate,
                           .Ctx<ffi::State<Powers>>()
                               .Attr<float>("base")
                               .Attr<int64_t>("count")
                               .Arg<ffi::AnyBuffer>()    // x
                               .Ret<ffi::AnyBuffer>());  // y

}  // namespace xla_ffi_ops
