// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/ops/eigh/eigh.h"

#include <cstdint>

#include "xla_ffi_ops/linalg/eigh_lanes.h"
#include "xla_ffi_ops/linalg/groups.h"
#include "xla_ffi_ops/linalg/products.h"

namespace xla_ffi_ops {
namespace {

// v may be null.
template <bool with_vectors, typename T>
void Run(const Eigenvalues<T>& values, const Rows<T>* v, int64_t begin,
         int64_t end) {
  const int64_t n = values.n;
  const bool symmetrize = values.symmetrize;
  const int64_t vectors = n * n, w = 2 * n * n, scratch = w + n;
  linalg::MatrixCall<T> call;
  call.memory = scratch + linalg::EighScratch(n);
  call.Add(values.a, 0);
  call.Add(values.w, w);
  if (with_vectors) call.Add(*v, vectors);
  const auto kernel = [=](auto* a) XLA_FFI_OPS_INLINED {
    if (symmetrize) linalg::SymmetrizeLower(n, a);
    linalg::Eigh<with_vectors>(n, a, a + w, a + vectors, a + scratch);
  };
  linalg::ForMatrices(call, kernel, begin, end);
}

}  // namespace

template <typename T>
void Compute(const Eigenvalues<T>& call, int64_t begin, int64_t end) {
  Run<false, T>(call, nullptr, begin, end);
}

template <typename T>
void Compute(const Eigenvectors<T>& call, int64_t begin, int64_t end) {
  Run<true, T>(call.values, &call.v, begin, end);
}

template <typename T>
void Compute(const EighGradients<T>& gradients, int64_t begin, int64_t end) {
  const int64_t n = gradients.n;
  const bool symmetrize = gradients.symmetrize;
  const int64_t w = 0, dw = n, v = 2 * n;
  const int64_t dv = v + n * n, inner = dv + n * n, da = inner + n * n;
  linalg::MatrixCall<T> call;
  call.memory = da + n * n;
  call.Add(gradients.w, w);
  call.Add(gradients.v, v);
  call.Add(gradients.dw, dw);
  call.Add(gradients.dv, dv);
  call.Add(gradients.da, da);
  const auto kernel = [=](auto* at) XLA_FFI_OPS_INLINED {
    linalg::EighGradient(n, at + w, at + v, at + dw, at + dv, at + inner,
                         at + da);
    if (symmetrize) linalg::Symmetrize(n, at + da);
  };
  linalg::ForMatrices(call, kernel, begin, end);
}

#define XLA_FFI_OPS_INSTANTIATE(T)                                 \
  template void Compute(const Eigenvalues<T>&, int64_t, int64_t);  \
  template void Compute(const Eigenvectors<T>&, int64_t, int64_t); \
  template void Compute(const EighGradients<T>&, int64_t, int64_t);
XLA_FFI_OPS_INSTANTIATE(float)
XLA_FFI_OPS_INSTANTIATE(double)
#undef XLA_FFI_OPS_INSTANTIATE

}  // namespace xla_ffi_ops
