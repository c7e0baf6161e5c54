// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/lanes/blocks.h"

#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <new>
#include <string>

namespace xla_ffi_ops::lanes {
namespace {

// The most that a thread keeps. Memory that is fresh from the system costs more
// than what most kernels do with it.
constexpr int64_t kMostKept = int64_t{64} << 20;

struct Kept {
  char* data = nullptr;
  int64_t bytes = 0;

  void Free() {
    std::free(data);
    data = nullptr;
    bytes = 0;
  }
  ~Kept() { Free(); }
};
thread_local Kept kept;

}  // namespace

Scratch::Scratch(int64_t bytes) {
  if (bytes > kept.bytes) {
    kept.Free();
    kept.data = static_cast<char*>(std::aligned_alloc(kAlignment, bytes));
    if (kept.data == nullptr) throw std::bad_alloc();
    kept.bytes = bytes;
  }
  next_ = kept.data;
}

Scratch::~Scratch() {
  if (kept.bytes > kMostKept) kept.Free();
}

ffi::Error NoKernel(Checks& checks, std::initializer_list<Size> core) {
  std::string got = "dtypes that have none together";
  if (core.size() > 0) got = "a core of ";
  for (const Size& size : core) {
    got += (got.back() == ' ' ? "" : ", ") + std::string(size.name) + " = " +
           std::to_string(size.size);
  }
  checks.Fail("the core", "be one that a kernel was compiled for", got);
  return checks.error();
}

}  // namespace xla_ffi_ops::lanes
