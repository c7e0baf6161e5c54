// SPDX-License-Identifier: Apache-2.0
// What ops are compared with: a copy, and a sum of two arrays. And what the
// calls in a loop are separated by: a call that does nothing.
#include <cstdint>
#include <cstring>

#include "xla_ffi_ops/ffi.h"

namespace {

namespace ffi = xla::ffi;
using xla_ffi_ops::CpuContext;
using xla_ffi_ops::HandlerResult;

HandlerResult Barrier(CpuContext, ffi::RemainingArgs, ffi::RemainingRets) {
  return ffi::Error::Success();
}

HandlerResult Copy(CpuContext context, ffi::AnyBuffer x,
                   ffi::Result<ffi::AnyBuffer> y) {
  const int64_t bytes = x.size_bytes();
  if (static_cast<int64_t>(y->size_bytes()) != bytes) {
    return ffi::Error::InvalidArgument("x and y must have the same size");
  }
  const auto* const from = static_cast<const char*>(x.untyped_data());
  auto* const to = static_cast<char*>(y->untyped_data());
  return xla_ffi_ops::ParallelFor(context.pool, bytes, xla_ffi_ops::Grain(2),
                                  [=](int64_t begin, int64_t end) {
                                    std::memcpy(to + begin, from + begin,
                                                end - begin);
                                  });
}

// As 32-bit integers, whatever they are: what counts is what is moved.
#ifndef __clang__
[[gnu::optimize("O3")]]  // g++ 12 vectorizes it with no less.
#endif
void AddWords(const uint32_t* a, const uint32_t* b, uint32_t* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = a[i] + b[i];
}

HandlerResult Add(CpuContext context, ffi::AnyBuffer a, ffi::AnyBuffer b,
                  ffi::Result<ffi::AnyBuffer> y) {
  const auto bytes = y->size_bytes();
  if (a.size_bytes() != bytes || b.size_bytes() != bytes) {
    return ffi::Error::InvalidArgument("a, b and y must have the same size");
  }
  const auto* const left = static_cast<const uint32_t*>(a.untyped_data());
  const auto* const right = static_cast<const uint32_t*>(b.untyped_data());
  auto* const sum = static_cast<uint32_t*>(y->untyped_data());
  return xla_ffi_ops::ParallelFor(context.pool, bytes / sizeof(uint32_t),
                                  xla_ffi_ops::Grain(3 * sizeof(uint32_t)),
                                  [=](int64_t begin, int64_t end) {
                                    AddWords(left + begin, right + begin,
                                             sum + begin, end - begin);
                                  });
}

}  // namespace

XLA_FFI_OPS_DEFINE_HANDLER(benchmarks_barrier, Barrier,
                           .RemainingArgs().RemainingRets());
XLA_FFI_OPS_DEFINE_HANDLER(benchmarks_copy, Copy,
                           .Arg<ffi::AnyBuffer>()        // x
                               .Ret<ffi::AnyBuffer>());  // y
XLA_FFI_OPS_DEFINE_HANDLER(benchmarks_add, Add,
                           .Arg<ffi::AnyBuffer>()        // a
                               .Arg<ffi::AnyBuffer>()    // b
                               .Ret<ffi::AnyBuffer>());  // y
