// SPDX-License-Identifier: Apache-2.0
// Handlers that broadcast nothing, for ops with `broadcast_operands`: y = x w,
// and y = x w + b, of whose operands the backward pass keeps x and w.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "xla_ffi_ops/ffi.h"

namespace xla_ffi_ops {
namespace {

using Buffer = ffi::AnyBuffer;
using Result = ffi::Result<ffi::AnyBuffer>;

struct Named {
  const char* name;
  Buffer buffer;
};

// Fails unless all are [..., n] of float32, with the shape of the first.
ffi::Error Check(const std::vector<Named>& buffers, int64_t batch_rank = 0) {
  const Shape shape = buffers[0].buffer.dimensions();
  Checks checks;
  for (const auto& [name, buffer] : buffers) {
    Dim n = kUnknownDim;
    checks.Operand(name, buffer, ffi::F32, {&n});
    const Shape own = buffer.dimensions();
    if (!std::equal(own.begin(), own.end(), shape.begin(), shape.end())) {
      checks.Fail(name, "have shape " + ToString(shape), ToString(own));
    }
  }
  checks.BatchRank(batch_rank);
  return checks.error();
}

HandlerResult Multiply(CpuContext, Buffer x, Buffer w, Result y) {
  const ffi::Error error = Check({{"x", x}, {"w", w}, {"y", *y}});
  if (error.failure()) return error;
  for (size_t i = 0; i < x.element_count(); ++i) {
    Data<float>(*y)[i] = Data<float>(x)[i] * Data<float>(w)[i];
  }
  return ffi::Error::Success();
}

HandlerResult MultiplyAdd(CpuContext, Buffer x, Buffer w, Buffer b, Result y) {
  const ffi::Error error = Check({{"x", x}, {"w", w}, {"b", b}, {"y", *y}});
  if (error.failure()) return error;
  for (size_t i = 0; i < x.element_count(); ++i) {
    Data<float>(*y)[i] =
        Data<float>(x)[i] * Data<float>(w)[i] + Data<float>(b)[i];
  }
  return ffi::Error::Success();
}

HandlerResult MultiplyBackward(CpuContext, int64_t batch_rank, Buffer x,
                               Buffer w, Buffer dy, Result dx, Result dw) {
  const ffi::Error error = Check(
      {{"x", x}, {"w", w}, {"dy", dy}, {"dx", *dx}, {"dw", *dw}}, batch_rank);
  if (error.failure()) return error;
  for (size_t i = 0; i < x.element_count(); ++i) {
    Data<float>(*dx)[i] = Data<float>(w)[i] * Data<float>(dy)[i];
    Data<float>(*dw)[i] = Data<float>(x)[i] * Data<float>(dy)[i];
  }
  return ffi::Error::Success();
}

HandlerResult MultiplyAddBackward(CpuContext device, int64_t batch_rank,
                                  Buffer x, Buffer w, Buffer dy, Result dx,
                                  Result dw, Result db) {
  const ffi::Error error = Check({{"x", x}, {"dy", dy}, {"db", *db}});
  if (error.failure()) return error;
  std::copy_n(Data<float>(dy), dy.element_count(), Data<float>(*db));
  return MultiplyBackward(device, batch_rank, x, w, dy, dx, dw);
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(test_product_fwd, Multiply,
                           .Arg<Buffer>()        // x
                               .Arg<Buffer>()    // w
                               .Ret<Buffer>());  // y

XLA_FFI_OPS_DEFINE_HANDLER(test_product_bwd, MultiplyBackward,
                           .Attr<int64_t>("batch_rank")
                               .Arg<Buffer>()    // x
                               .Arg<Buffer>()    // w
                               .Arg<Buffer>()    // dy
                               .Ret<Buffer>()    // dx
                               .Ret<Buffer>());  // dw

XLA_FFI_OPS_DEFINE_HANDLER(test_product_sum_fwd, MultiplyAdd,
                           .Arg<Buffer>()        // x
                               .Arg<Buffer>()    // w
                               .Arg<Buffer>()    // b
                               .Ret<Buffer>());  // y

XLA_FFI_OPS_DEFINE_HANDLER(test_product_sum_bwd, MultiplyAddBackward,
                           .Attr<int64_t>("batch_rank")
                               .Arg<Buffer>()    // x
                               .Arg<Buffer>()    // w
                               .Arg<Buffer>()    // dy
                               .Ret<Buffer>()    // dx
                               .Ret<Buffer>()    // dw
                               .Ret<Buffer>());  // db

}  // namespace xla_ffi_ops
