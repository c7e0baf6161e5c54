// The handlers of row_dot, (n),(n)->(). The formulas are in row_dot.h.
#include <cstdint>

#include "row_dot.h"
#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/vec/cpu_level.h"

namespace row_dot_ffi {
namespace {

namespace ffi = xla::ffi;
namespace kit = xla_ffi_ops;

using Buffer = ffi::AnyBuffer;
using Result = ffi::Result<ffi::AnyBuffer>;

kit::HandlerResult Forward(kit::CpuContext device, Buffer x0, Buffer x1,
                           Result y) {
  constexpr kit::DTypesOf<RowTypes> dtypes;
  kit::Dim n = kit::kUnknownDim;
  kit::Checks checks;
  checks.Operand("x0", x0, dtypes, {&n});
  checks.Operand("x1", x1, x0.element_type(), {&n});
  const kit::RowMap x0_map = checks.Map("x0", x0, 1);
  const kit::RowMap x1_map = checks.Map("x1", x1, 1);
  checks.Result("y", *y, x0.element_type(), {});
  if (!checks.ok()) return checks.error();

  const int64_t rows = kit::Product(checks.loops());
  return kit::Dispatch(dtypes, x0.element_type(), [&](auto t) {
    using T = kit::TypeOf<decltype(t)>;
    const kit::Rows<const T> x0_rows{kit::Data<const T>(x0), n, x0_map};
    const kit::Rows<const T> x1_rows{kit::Data<const T>(x1), n, x1_map};
    T* const y_rows = kit::Data<T>(*y);
    const int64_t bytes = sizeof(T) * (2 * n + 1);
    const auto compute = [=](kit::Cpu, int64_t begin, int64_t end) {
      // Compiled for the vectors of this machine, with all that is inlined.
      kit::AtCpuLevel([=]() XLA_FFI_OPS_INLINED {
        for (int64_t row = begin; row < end; ++row) {
          Compute(n, x0_rows[row], x1_rows[row], y_rows + row);
        }
      });
    };
    return kit::ForRows(device, rows, bytes, compute);
  });
}

// --backward {
kit::HandlerResult Backward(kit::CpuContext device, int64_t batch_rank,
                            Buffer x0, Buffer x1, Buffer dy, Result dx0,
                            Result dx1) {
  constexpr kit::DTypesOf<RowTypes> dtypes;
  kit::Dim n = kit::kUnknownDim;
  kit::Checks checks;
  checks.Operand("x0", x0, dtypes, {&n});
  checks.Operand("x1", x1, x0.element_type(), {&n});
  checks.Operand("dy", dy, x0.element_type(), {});
  checks.BatchRank(batch_rank);
  const kit::RowMap x0_map = checks.Map("x0", x0, 1);
  const kit::RowMap x1_map = checks.Map("x1", x1, 1);
  const kit::RowMap dy_map = checks.Map("dy", dy, 0);
  checks.Result("dx0", *dx0, x0.element_type(), {&n});
  checks.Result("dx1", *dx1, x0.element_type(), {&n});
  if (!checks.ok()) return checks.error();

  // If n is 0, no result has an element. A result without n would have some.
  const int64_t rows = n == 0 ? 0 : kit::Product(checks.loops());
  return kit::Dispatch(dtypes, x0.element_type(), [&](auto t) {
    using T = kit::TypeOf<decltype(t)>;
    const kit::Rows<const T> x0_rows{kit::Data<const T>(x0), n, x0_map};
    const kit::Rows<const T> x1_rows{kit::Data<const T>(x1), n, x1_map};
    const kit::Rows<const T> dy_rows{kit::Data<const T>(dy), 1, dy_map};
    T* const dx0_rows = kit::Data<T>(*dx0);
    T* const dx1_rows = kit::Data<T>(*dx1);
    const int64_t bytes = sizeof(T) * (4 * n + 1);
    const auto compute = [=](kit::Cpu, int64_t begin, int64_t end) {
      kit::AtCpuLevel([=]() XLA_FFI_OPS_INLINED {
        for (int64_t row = begin; row < end; ++row) {
          ComputeBackward(n, x0_rows[row], x1_rows[row], dy_rows[row],
                          dx0_rows + row * n, dx1_rows + row * n);
        }
      });
    };
    return kit::ForRows(device, rows, bytes, compute);
  });
}

// --backward }
}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(row_dot_fwd, Forward,
                           .Arg<Buffer>()        // x0
                               .Arg<Buffer>()    // x1
                               .Ret<Buffer>());  // y

// --backward {
XLA_FFI_OPS_DEFINE_HANDLER(row_dot_bwd, Backward,
                           .Attr<int64_t>("batch_rank")
                               .Arg<Buffer>()    // x0
                               .Arg<Buffer>()    // x1
                               .Arg<Buffer>()    // dy
                               .Ret<Buffer>()    // dx0
                               .Ret<Buffer>());  // dx1

// --backward }
}  // namespace row_dot_ffi
