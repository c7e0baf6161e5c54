// SPDX-License-Identifier: Apache-2.0
// The handler of lu, (n,n)->(n,n),(n),(n).
#include <cstdint>

#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/linalg/run_matrices.h"
#include "xla_ffi_ops/ops/lu/lu.h"

namespace xla_ffi_ops {
namespace {

using Buffer = ffi::AnyBuffer;
using linalg::AllTypes;

HandlerResult LuHandler(CpuContext device, Buffer a, ffi::Result<Buffer> lu,
                        ffi::Result<Buffer> pivots, ffi::Result<Buffer> order) {
  Dim n = kUnknownDim;
  Checks checks;
  checks.Operand("a", a, AllTypes(), {&n, &n});
  checks.Result("lu", *lu, a.element_type(), {&n, &n});
  checks.Result("pivots", *pivots, ffi::S32, {&n});
  checks.Result("order", *order, ffi::S32, {&n});
  linalg::CheckSize(&checks, "a", n);
  return linalg::RunMatrices<AllTypes>(device, &checks, a, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    return LuFactors<T>{n, linalg::OperandRows<T>(&checks, "a", a, 2, n * n),
                        linalg::ResultRows<T>(*lu, n * n),
                        linalg::ResultRows<int32_t>(*pivots, n),
                        linalg::ResultRows<int32_t>(*order, n)};
  });
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_lu_fwd, LuHandler,
                           .Arg<Buffer>()        // a
                               .Ret<Buffer>()    // lu
                               .Ret<Buffer>()    // pivots
                               .Ret<Buffer>());  // order

}  // namespace xla_ffi_ops
