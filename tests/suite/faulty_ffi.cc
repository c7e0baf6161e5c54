// SPDX-License-Identifier: Apache-2.0
// One op, (n),(n)->(n): y = x w, dx = dy w, dw = sum over rows of dy x, with
// one fault each that the conformance suite has to find.
#include <algorithm>
#include <atomic>
#include <cstdint>

#include "xla_ffi_ops/ffi.h"

namespace xla_ffi_ops {
namespace {

using Buffer = ffi::AnyBuffer;
using Result = ffi::Result<ffi::AnyBuffer>;

enum Fault {
  kNone,
  kWrongValue,
  kWrongGradient,
  kWrongAtTies,
  kWritesOperand,
  kWritesCotangent,
  kSkipsLastRow,
  kSkipsEmptySum,
  kMixesUpLoops,
  kMixesUpCotangents,
  kNotDeterministic,
};

template <Fault fault>
HandlerResult Forward(CpuContext, Buffer x, Buffer w, Result y) {
  Dim n = kUnknownDim;
  Checks checks;
  checks.Operand("x", x, ffi::F32, {&n});
  checks.Operand("w", w, ffi::F32, {&n});
  const RowMap x_map = checks.Map("x", x, 1);
  const RowMap w_map = checks.Map("w", w, 1);
  checks.Result("y", *y, ffi::F32, {&n});
  if (!checks.ok()) return checks.error();

  const Rows<float> x_rows{Data<float>(x), n, x_map};
  const Rows<const float> w_rows{Data<const float>(w), n, w_map};
  const int64_t w_count = n ? w.element_count() / n : 1;
  static std::atomic<int> calls = 0;
  const float noise = fault == kNotDeterministic && ++calls % 2 ? 1e-7f : 0;
  const int64_t rows = Product(checks.loops());
  for (int64_t row = 0; row < rows - (fault == kSkipsLastRow); ++row) {
    const float* w_row =
        fault == kMixesUpLoops ? w_rows.data + row % w_count * n : w_rows[row];
    for (int64_t j = 0; j < n; ++j) {
      float value = x_rows[row][j] * w_row[j] * (1 + noise);
      if (fault == kWrongValue) value *= 1.001f;
      Data<float>(*y)[row * n + j] = value;
      if (fault == kWritesOperand) x_rows[row][j] = value;
    }
  }
  return ffi::Error::Success();
}

template <Fault fault>
HandlerResult Backward(CpuContext, int64_t batch_rank, Buffer x, Buffer w,
                       Buffer dy, Result dx, Result dw) {
  Dim n = kUnknownDim;
  Checks checks;
  checks.Operand("x", x, ffi::F32, {&n});
  checks.Operand("dy", dy, ffi::F32, {&n});
  const bool shared = checks.SharedOperand("w", w, ffi::F32, {&n}, batch_rank);
  const RowMap x_map = checks.Map("x", x, 1);
  const RowMap w_map = checks.Map("w", w, 1);
  const RowMap dy_map = checks.Map("dy", dy, 1);
  const int64_t rank = checks.loops().size();
  const int64_t dw_rank = shared ? batch_rank : rank;
  checks.Result("dx", *dx, ffi::F32, {&n});
  checks.Result("dw", *dw, ffi::F32, {&n}, dw_rank);
  if (!checks.ok()) return checks.error();

  const Rows<const float> x_rows{Data<const float>(x), n, x_map};
  const Rows<const float> w_rows{Data<const float>(w), n, w_map};
  const Rows<float> dy_rows{Data<float>(dy), n, dy_map};
  const int64_t groups = Product(checks.loops().first(dw_rank));
  const int64_t rows = Product(checks.loops().last(rank - dw_rank));
  if (fault == kSkipsEmptySum && rows == 0) return ffi::Error::Success();
  std::fill_n(Data<float>(*dw), groups * n, 0.0f);
  const bool first_only =
      fault == kMixesUpCotangents && dy.element_count() < dx->element_count();
  for (int64_t row = 0; row < groups * rows; ++row) {
    float* const dy_row = first_only ? dy_rows[0] : dy_rows[row];
    float* dw_row = Data<float>(*dw) + row / rows * n;
    for (int64_t j = 0; j < n; ++j) {
      const float dy_j = dy_row[j];
      dw_row[j] += dy_j * x_rows[row][j];
      if (fault == kWrongGradient) dw_row[j] += 0.01f * dy_j;
      const bool is_wrong =
          fault == kWrongAtTies && x_rows[row][j] == w_rows[row][j];
      Data<float>(*dx)[row * n + j] = is_wrong ? 0 : dy_j * w_rows[row][j];
      if (fault == kWritesCotangent) dy_row[j] = 0;
    }
  }
  return ffi::Error::Success();
}

}  // namespace

#define DEFINE_OP(name, fault)                            \
  XLA_FFI_OPS_DEFINE_HANDLER(name##_fwd, Forward<fault>,  \
                             .Arg<Buffer>()       /* x */ \
                                 .Arg<Buffer>()   /* w */ \
                                 .Ret<Buffer>()); /* y */ \
  XLA_FFI_OPS_DEFINE_HANDLER(name##_bwd, Backward<fault>, \
                             .Attr<int64_t>("batch_rank") \
                                 .Arg<Buffer>()  /* x */  \
                                 .Arg<Buffer>()  /* w */  \
                                 .Arg<Buffer>()  /* dy */ \
                                 .Ret<Buffer>()  /* dx */ \
                                 .Ret<Buffer>()) /* dw */

DEFINE_OP(test_sound, kNone);
DEFINE_OP(test_wrong_value, kWrongValue);
DEFINE_OP(test_wrong_gradient, kWrongGradient);
DEFINE_OP(test_wrong_at_ties, kWrongAtTies);
DEFINE_OP(test_writes_operand, kWritesOperand);
DEFINE_OP(test_writes_cotangent, kWritesCotangent);
DEFINE_OP(test_skips_last_row, kSkipsLastRow);
DEFINE_OP(test_skips_empty_sum, kSkipsEmptySum);
DEFINE_OP(test_mixes_up_loops, kMixesUpLoops);
DEFINE_OP(test_mixes_up_cotangents, kMixesUpCotangents);
DEFINE_OP(test_not_deterministic, kNotDeterministic);
DEFINE_OP(test_choosy, kNone);
// Sound handlers, for faults on the Python side.
DEFINE_OP(test_wrong_dtype, kNone);
DEFINE_OP(test_wrong_vmap, kNone);
DEFINE_OP(test_copying_vmap, kNone);
DEFINE_OP(test_looping_vmap, kNone);
DEFINE_OP(test_missing_sum, kNone);
DEFINE_OP(test_gathers, kNone);
DEFINE_OP(test_computes_twice, kNone);
DEFINE_OP(test_ignores_backward, kNone);

}  // namespace xla_ffi_ops
