// SPDX-License-Identifier: Apache-2.0
// Any number of operands, and as many results: result i is i + 1 times operand
// i.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "xla_ffi_ops/ffi.h"

namespace {

namespace ffi = xla::ffi;

xla_ffi_ops::HandlerResult Multiples(xla_ffi_ops::CpuContext,
                                     ffi::RemainingArgs operands,
                                     ffi::RemainingRets results) {
  if (operands.size() != results.size()) {
    return ffi::Error::InvalidArgument(std::to_string(operands.size()) +
                                       " operands need as many results, got " +
                                       std::to_string(results.size()));
  }
  for (size_t i = 0; i < operands.size(); ++i) {
    const auto x = operands.get<ffi::Buffer<ffi::F32>>(i);
    auto y = results.get<ffi::Buffer<ffi::F32>>(i);
    if (x.has_error()) return x.error();
    if (y.has_error()) return y.error();
    const auto from = x->dimensions(), to = (*y)->dimensions();
    if (!std::equal(from.begin(), from.end(), to.begin(), to.end())) {
      return ffi::Error::InvalidArgument("result " + std::to_string(i) +
                                         " must have its operand's shape");
    }
    float* const out = (*y)->typed_data();
    for (size_t k = 0; k < x->element_count(); ++k) {
      out[k] = (i + 1) * x->typed_data()[k];
    }
  }
  return ffi::Error::Success();
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(example_multiples, Multiples,
                           .RemainingArgs().RemainingRets());
