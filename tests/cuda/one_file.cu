// SPDX-License-Identifier: Apache-2.0
// A whole op in one source: its formula, its handler and its kernel. The
// headers for handlers and those for kernels go together.
#include <cuda_runtime.h>

#include <cstdint>

#include "xla_ffi_ops/ffi.h"
#include "xla_ffi_ops/rows/cuda/launch_rows.cuh"
#include "xla_ffi_ops/rows/formula.h"

namespace {

namespace ffi = xla::ffi;
using namespace xla_ffi_ops;  // NOLINT: all of its names

// y = x * scale / sum(x)
struct Formula {
  static constexpr int kInputs = 1, kOutputs = 1, kSums = 0, kPasses = 1;
  using Weights = WeightDefaults<1>;  // scale
  struct Row {
    float factor;
  };

  XLA_FFI_OPS_HD Row Load(int64_t) const { return {}; }
  XLA_FFI_OPS_HD Sums<float, 1> Add(Pass<0>, const Row&, float x, float) const {
    return {{x}};
  }
  XLA_FFI_OPS_HD void Finish(Pass<0>, Row& row, Sums<float, 1> sums,
                             float) const {
    row.factor = 1 / sums.value[0];
  }
  XLA_FFI_OPS_HD void Save(int64_t, const Row&) const {}
  XLA_FFI_OPS_HD Values<float, 1> Store(const Row& row, float x,
                                        float scale) const {
    return {{x * row.factor * scale}};
  }
};

HandlerResult Forward(Cuda device, int64_t present, ffi::RemainingArgs operands,
                      ffi::Result<ffi::AnyBuffer> y) {
  Dim d = kUnknownDim;
  Argument x("x");
  Weight scale("scale", (present & 2) != 0);
  Call call;
  call.Present(present, 1, 2);
  call.Operands(operands, {&x, &scale});
  call.Operand(x, ffi::F32, {&d});
  call.Weights(x, {&scale}, {&d});
  call.Result("y", *y, ffi::F32, {&d});
  if (!call.Done()) return call.error();
  LaunchRows(device, Formula(), {0, 1, Product(call.loops()), d},
             Operands{x.rows<float>()}, Operands{scale.rows<float>()},
             Operands{Data<float>(*y)}, kNoSums<float, float>);
  return ffi::Error::Success();
}

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(OneFileCuda, Forward,
                              ffi::Ffi::Bind()
                                  .Ctx<Cuda>()
                                  .Attr<int64_t>("present")
                                  .RemainingArgs()
                                  .Ret<ffi::AnyBuffer>());
