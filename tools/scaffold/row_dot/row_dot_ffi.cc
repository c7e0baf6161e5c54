// The handler of row_dot, (n),(n)->(). The formula is in row_dot.h.
#include <cstdint>

#include "row_dot.h"
#include "xla_ffi_ops/ffi.h"

namespace row_dot_ffi {
namespace {

namespace ffi = xla::ffi;
namespace kit = xla_ffi_ops;

using Buffer = ffi::AnyBuffer;
using Result = ffi::Result<ffi::AnyBuffer>;

kit::HandlerResult Forward(kit::CpuContext device, Buffer x0, Buffer x1,
                           Result y) {
  kit::Dim n_n = kit::kUnknownDim;
  kit::Checks checks;
  checks.Operand("x0", x0, kit::FloatDTypes(), {&n_n});
  checks.Operand("x1", x1, x0.element_type(), {&n_n});
  const kit::RowMap x0_map = checks.Map("x0", x0, 1);
  const kit::RowMap x1_map = checks.Map("x1", x1, 1);
  checks.Result("y", *y, x0.element_type(), {});
  const kit::RowMap y_map = checks.Map("y", *y, 0);
  if (!checks.ok()) return checks.error();

  const int64_t x0_size = kit::Product(x0.dimensions().last(1));
  const int64_t x1_size = kit::Product(x1.dimensions().last(1));
  const int64_t y_size = kit::Product(y->dimensions().last(0));
  // Results of no elements are nothing to do, however many there are.
  const int64_t rows = y_size == 0 ? 0 : kit::Product(checks.loops());
  return kit::Dispatch(kit::FloatDTypes(), x0.element_type(), [&](auto t) {
    using T = kit::TypeOf<decltype(t)>;
    const kit::Rows<const T> x0_rows{kit::Data<const T>(x0), x0_size, x0_map};
    const kit::Rows<const T> x1_rows{kit::Data<const T>(x1), x1_size, x1_map};
    const kit::Rows<T> y_rows{kit::Data<T>(*y), y_size, y_map};
    const int64_t bytes = sizeof(T) * (x0_size + x1_size + y_size);
    const auto compute = [=](kit::Cpu, int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        Compute(n_n, x0_rows[row], x1_rows[row], y_rows[row]);
      }
    };
    return kit::ForRows(device, rows, bytes, compute);
  });
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(row_dot_fwd, Forward,
                           .Arg<Buffer>()        // x0
                               .Arg<Buffer>()    // x1
                               .Ret<Buffer>());  // y

}  // namespace row_dot_ffi
