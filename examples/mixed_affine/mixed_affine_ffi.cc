// SPDX-License-Identifier: Apache-2.0
// x is [loops..., core...] and the weight [core...], of any rank from 1 on.
// Each has a dtype of its own; what belongs to the weight has the weight's.
#include <cstdint>
#include <string>
#include <vector>

#include "mixed_affine.h"
#include "xla_ffi_ops/ffi.h"

namespace mixed_affine {
namespace {

namespace ffi = xla::ffi;
using Sizes = std::vector<int64_t>;
using xla_ffi_ops::Checks;
using xla_ffi_ops::CpuContext;
using xla_ffi_ops::HandlerResult;
using xla_ffi_ops::Product;
using xla_ffi_ops::Shape;

using DTypes = xla_ffi_ops::DTypes<ffi::F32, ffi::BF16>;

// Needs a type and a shape. The messages are those of the kit's checks.
void Expect(Checks& checks, const char* name, const ffi::AnyBuffer& buffer,
            xla_ffi_ops::DTypeSet dtypes, const Sizes& shape) {
  if (dtypes.Contains(buffer.element_type()) &&
      buffer.dimensions() == Shape(shape)) {
    return;
  }
  checks.Fail(
      name,
      "be " + xla_ffi_ops::Name(dtypes) + " " + xla_ffi_ops::ToString(shape),
      xla_ffi_ops::Name(buffer.element_type()) + " " +
          xla_ffi_ops::ToString(buffer.dimensions()));
}

// The leading sizes of x, which the weight lacks.
Sizes Loops(Checks& checks, const ffi::AnyBuffer& x,
            const ffi::AnyBuffer& weight) {
  const Shape sizes = x.dimensions(), core = weight.dimensions();
  if (core.size() < 1 || sizes.size() < core.size()) {
    checks.Fail(
        "weight", "have at least 1 dimension, and at most those of x",
        std::to_string(core.size()) + " and " + std::to_string(sizes.size()));
    return {};
  }
  const Shape loops = sizes.first(sizes.size() - core.size());
  return Sizes(loops.begin(), loops.end());
}

Sizes Join(Sizes loops, Shape core) {
  loops.insert(loops.end(), core.begin(), core.end());
  return loops;
}

// Calls fn with a tag of the C++ type of each dtype.
template <typename Fn>
HandlerResult Dispatch(ffi::DataType x, ffi::DataType weight, Fn fn) {
  return xla_ffi_ops::Dispatch(DTypes(), x, [&](auto x_tag) {
    return xla_ffi_ops::Dispatch(DTypes(), weight,
                                 [&](auto tag) { return fn(x_tag, tag); });
  });
}

template <typename Device>
HandlerResult ForwardHandler(Device device, float eps, ffi::AnyBuffer x,
                             ffi::AnyBuffer weight,
                             ffi::Result<ffi::AnyBuffer> y,
                             ffi::Result<ffi::AnyBuffer> rstd) {
  Checks checks;
  checks.AtLeast("eps", eps, 0);
  const Sizes loops = Loops(checks, x, weight);
  const Sizes full = Join(loops, weight.dimensions());
  const Shape core = weight.dimensions();
  Expect(checks, "weight", weight, DTypes(), Sizes(core.begin(), core.end()));
  Expect(checks, "x", x, DTypes(), full);
  Expect(checks, "y", *y, weight.element_type(), full);
  Expect(checks, "rstd", *rstd, ffi::F32, loops);
  if (!checks.ok()) return checks.error();
  return Dispatch(
      x.element_type(), weight.element_type(), [&](auto x_tag, auto w_tag) {
        using X = xla_ffi_ops::TypeOf<decltype(x_tag)>;
        using W = xla_ffi_ops::TypeOf<decltype(w_tag)>;
        const ForwardArgs<X, W> args = {Product(core),
                                        eps,
                                        xla_ffi_ops::Data<X>(x),
                                        xla_ffi_ops::Data<W>(weight),
                                        xla_ffi_ops::Data<W>(*y),
                                        xla_ffi_ops::Data<float>(*rstd)};
        return xla_ffi_ops::ForRows(
            device, Product(loops), (sizeof(X) + sizeof(W)) * args.d,
            [args](auto where, int64_t begin, int64_t end) {
              Forward(where, begin, end, args);
              return ffi::Error::Success();
            });
      });
}

// The second stage runs when all parts are there: on the CPU on the last thread
// that is done, on CUDA as the next work in the stream.
template <typename Args>
HandlerResult TwoStages(const CpuContext& device, const Args& args) {
  return xla_ffi_ops::ParallelFor(
      device.pool, args.parts, 1,
      [args](int64_t begin, int64_t end) { Backward(Cpu(), begin, end, args); },
      [args] { SumParts(Cpu(), args); });
}

template <typename Args>
HandlerResult TwoStages(Cuda device, const Args& args) {
  Backward(device, 0, args.parts, args);
  SumParts(device, args);
  return ffi::Error::Success();
}

template <typename Device>
HandlerResult BackwardHandler(Device device, ffi::AnyBuffer dy,
                              ffi::AnyBuffer x, ffi::AnyBuffer weight,
                              ffi::AnyBuffer rstd,
                              ffi::Result<ffi::AnyBuffer> dx,
                              ffi::Result<ffi::AnyBuffer> dweight,
                              ffi::Result<ffi::AnyBuffer> partial) {
  Checks checks;
  const Sizes loops = Loops(checks, x, weight);
  const Sizes full = Join(loops, weight.dimensions());
  const Sizes core = Join({}, weight.dimensions());
  Expect(checks, "weight", weight, DTypes(), core);
  Expect(checks, "x", x, DTypes(), full);
  Expect(checks, "dy", dy, weight.element_type(), full);
  Expect(checks, "rstd", rstd, ffi::F32, loops);
  Expect(checks, "dx", *dx, x.element_type(), full);
  Expect(checks, "dweight", *dweight, weight.element_type(), core);
  // The caller chooses the number of parts by the shape of this result.
  const Shape shape = partial->dimensions();
  const int64_t parts = shape.size() > 0 ? shape[0] : 0;
  checks.AtLeast("parts", parts, 1);
  Expect(checks, "partial", *partial, ffi::F32,
         Join({parts}, weight.dimensions()));
  if (!checks.ok()) return checks.error();
  return Dispatch(
      x.element_type(), weight.element_type(), [&](auto x_tag, auto w_tag) {
        using X = xla_ffi_ops::TypeOf<decltype(x_tag)>;
        using W = xla_ffi_ops::TypeOf<decltype(w_tag)>;
        return TwoStages(
            device,
            BackwardArgs<X, W>{
                Product(loops), Product(core), parts, xla_ffi_ops::Data<W>(dy),
                xla_ffi_ops::Data<X>(x), xla_ffi_ops::Data<W>(weight),
                xla_ffi_ops::Data<float>(rstd), xla_ffi_ops::Data<X>(*dx),
                xla_ffi_ops::Data<W>(*dweight),
                xla_ffi_ops::Data<float>(*partial)});
      });
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(example_mixed_affine_fwd, ForwardHandler,
                           .Attr<float>("eps")
                               .Arg<ffi::AnyBuffer>()    // x
                               .Arg<ffi::AnyBuffer>()    // weight
                               .Ret<ffi::AnyBuffer>()    // y
                               .Ret<ffi::AnyBuffer>());  // rstd
XLA_FFI_OPS_DEFINE_HANDLER(example_mixed_affine_bwd, BackwardHandler,
                           .Arg<ffi::AnyBuffer>()        // dy
                               .Arg<ffi::AnyBuffer>()    // x
                               .Arg<ffi::AnyBuffer>()    // weight
                               .Arg<ffi::AnyBuffer>()    // rstd
                               .Ret<ffi::AnyBuffer>()    // dx
                               .Ret<ffi::AnyBuffer>()    // dweight
                               .Ret<ffi::AnyBuffer>());  // partial

}  // namespace mixed_affine
