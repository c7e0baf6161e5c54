// SPDX-License-Identifier: Apache-2.0
// Handlers of matrices: what they check alike, and their work on threads.
#ifndef XLA_FFI_OPS_LINALG_RUN_MATRICES_H_
#define XLA_FFI_OPS_LINALG_RUN_MATRICES_H_

#include <cstdint>
#include <string>
#include <utility>

#include "xla/ffi/api/ffi.h"
#include "xla_ffi_ops/handler/checks.h"
#include "xla_ffi_ops/handler/dtype.h"
#include "xla_ffi_ops/linalg/groups.h"
#include "xla_ffi_ops/threads/parallel.h"

namespace xla_ffi_ops::linalg {

using RealTypes = DTypes<xla::ffi::F32, xla::ffi::F64>;
using AllTypes =
    DTypes<xla::ffi::F32, xla::ffi::F64, xla::ffi::C64, xla::ffi::C128>;

// A group of matrices has to fit into caches; of larger ones, LAPACK's blocks
// are faster. cholesky_test compares it with MOST of linalg/operands.py.
inline constexpr int64_t kMostRows = 32;

// The rows and columns of a matrix are so few.
inline void CheckSize(Checks* checks, const char* name, Dim n) {
  if (n > kMostRows) {
    checks->Fail(
        name, "have at most " + std::to_string(kMostRows) + " rows and columns",
        std::to_string(n));
  }
}

// The matrices of an operand, or of a result, of a call. After all operands.
template <typename T>
Rows<const T> OperandRows(Checks* checks, const char* name,
                          const xla::ffi::AnyBuffer& buffer, int64_t core_rank,
                          int64_t elements) {
  return {Data<const T>(buffer), elements,
          checks->Map(name, buffer, core_rank)};
}
template <typename T>
Rows<T> ResultRows(const xla::ffi::AnyBuffer& buffer, int64_t elements) {
  RowMap map;
  map.stride[0] = 1;
  return {Data<T>(buffer), elements, map};
}

// Computes the matrices of the call that make(TypeTag<T>()) returns, where T is
// the type of a buffer, whose dtype is of the list; unless a check fails,
// before it or in it. A call has Multiplications(), how many each matrix takes,
// and Compute(call, begin, end), for a range of its matrices.
template <typename List, typename Make>
HandlerResult RunMatrices(const CpuContext& device, Checks* checks,
                          const xla::ffi::AnyBuffer& buffer, const Make& make) {
  if (!checks->ok()) return checks->error();
  return Dispatch(List(), buffer.element_type(), [&](auto tag) {
    const auto call = make(tag);
    if (!checks->ok()) return HandlerResult(checks->error());
    using T = TypeOf<decltype(tag)>;
    // In lanes, a multiplication takes as long as to move half of a number.
    return ParallelGroups(
        device.pool, Product(checks->loops()), MatricesAtOnce<T>(),
        call.Multiplications() * sizeof(T) / 2 + 1,
        [=](int64_t begin, int64_t end) { Compute(call, begin, end); });
  });
}

}  // namespace xla_ffi_ops::linalg

#endif  // XLA_FFI_OPS_LINALG_RUN_MATRICES_H_
