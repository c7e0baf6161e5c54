// SPDX-License-Identifier: Apache-2.0
// The larger eigenvalue of symmetric 2x2 matrices, by a function of C.
#include <math.h>

#include <cstdint>

#include "xla_ffi_ops/ffi.h"

namespace {

namespace ffi = xla::ffi;
namespace kit = xla_ffi_ops;

kit::HandlerResult Eigenvalue(kit::CpuContext device, ffi::AnyBuffer a,
                              ffi::Result<ffi::AnyBuffer> y) {
  kit::Dim rows = 2, cols = 2;
  kit::Checks checks;
  checks.Operand("a", a, ffi::F32, {&rows, &cols});
  const kit::RowMap map = checks.Map("a", a, 2);
  checks.Result("y", *y, ffi::F32, {});
  if (!checks.ok()) return checks.error();
  const kit::Rows<const float> matrices{kit::Data<const float>(a), 4, map};
  float* values = kit::Data<float>(*y);
  const int64_t bytes = 5 * sizeof(float);  // Of one matrix and its result.
  return kit::ForRows(device, kit::Product(checks.loops()), bytes,
                      [=](kit::Cpu, int64_t begin, int64_t end) {
                        for (int64_t i = begin; i < end; ++i) {
                          const float* m = matrices[i];
                          const double p = m[0], q = m[1], r = m[3];
                          // Several threads may call C's functions. Look up
                          // whether they may call another library's.
                          values[i] = (p + r) / 2 + hypot((p - r) / 2, q);
                        }
                      });
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(example_eigenvalue_fwd, Eigenvalue,
                           .Arg<ffi::AnyBuffer>()        // a
                               .Ret<ffi::AnyBuffer>());  // y
