// SPDX-License-Identifier: Apache-2.0
// The handler of small_product, (m,k),(k,n)->(m,n).
#include <cstdint>

#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/linalg/run_matrices.h"
#include "xla_ffi_ops/ops/small_product/small_product.h"

namespace xla_ffi_ops {
namespace {

using Buffer = ffi::AnyBuffer;
using linalg::AllTypes;

HandlerResult ForwardHandler(CpuContext device, Buffer a, Buffer b,
                             ffi::Result<Buffer> c) {
  Dim m = kUnknownDim, k = kUnknownDim, n = kUnknownDim;
  Checks checks;
  checks.Operand("a", a, AllTypes(), {&m, &k});
  checks.Operand("b", b, a.element_type(), {&k, &n});
  checks.Result("c", *c, a.element_type(), {&m, &n});
  return linalg::RunMatrices<AllTypes>(device, &checks, a, [&](auto tag) {
    using T = TypeOf<decltype(tag)>;
    return SmallProducts<T>{m,
                            k,
                            n,
                            linalg::OperandRows<T>(&checks, "a", a, 2, m * k),
                            linalg::OperandRows<T>(&checks, "b", b, 2, k * n),
                            linalg::ResultRows<T>(*c, m * n)};
  });
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(xla_ffi_ops_small_product_fwd, ForwardHandler,
                           .Arg<Buffer>()        // a
                               .Arg<Buffer>()    // b
                               .Ret<Buffer>());  // c

}  // namespace xla_ffi_ops
