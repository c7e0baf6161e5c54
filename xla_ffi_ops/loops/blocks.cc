// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/loops/blocks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <iomanip>
#include <limits>
#include <new>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

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

std::string Text(double x) {
  std::ostringstream text;
  text << std::setprecision(std::numeric_limits<float>::max_digits10) << x;
  return text.str();
}

std::string Text(std::string_view x) { return '"' + std::string(x) + '"'; }

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

void Arrays::Operand(const char* name, std::initializer_list<Dim*> core) {
  if (!ok()) return;
  const auto buffer = operands_.get<ffi::AnyBuffer>(operands.size());
  if (buffer.has_error()) {
    return Fail(name, "be a buffer", buffer.error().message());
  }
  Checks::Operand(name, *buffer, Expected(), core);
  if (!ok()) return;
  const auto rank = static_cast<int64_t>(core.size());
  got_.push_back(buffer->element_type());
  checked_.push_back({name, *buffer, rank});
  operands.push_back({buffer->untyped_data(),
                      Product(buffer->dimensions().last(rank)), RowMap()});
}

void Arrays::Result(const char* name, std::initializer_list<Dim*> core) {
  if (!ok()) return;
  auto buffer = results_.get<ffi::AnyBuffer>(results.size());
  if (buffer.has_error()) {
    return Fail(name, "be a buffer", buffer.error().message());
  }
  Checks::Result(name, **buffer, Expected(), core);
  if (!ok()) return;
  got_.push_back((*buffer)->element_type());
  results.push_back({(*buffer)->untyped_data(),
                     Product((*buffer)->dimensions().last(core.size())),
                     RowMap()});
}

bool Arrays::Done() {
  for (size_t i = 0; i < checked_.size() && ok(); ++i) {
    const auto& [name, buffer, rank] = checked_[i];
    operands[i].map = Map(name, buffer, rank);
  }
  if (ok() && operands.size() != operands_.size()) {
    Fail("the operands", "be " + std::to_string(operands.size()),
         std::to_string(operands_.size()));
  }
  if (ok() && results.size() != results_.size()) {
    Fail("the results", "be " + std::to_string(results.size()),
         std::to_string(results_.size()));
  }
  return ok();
}

DTypeSet Arrays::Expected() const {
  uint64_t bits = 0;
  for (const auto& choice : dtypes_) {
    if (std::equal(got_.begin(), got_.end(), choice.begin())) {
      bits |= DTypeSet::Bit(choice[got_.size()]);
    }
  }
  return DTypeSet(bits);
}

bool Arrays::Have(int choice) const { return got_ == dtypes_[choice]; }

ffi::Error Arrays::NoKernel(const std::vector<Got>& core) {
  std::string got;
  for (const auto& [name, value] : core) {
    got += (got.empty() ? "" : ", ") + std::string(name) + " = " + value;
  }
  Fail("the core", "be one that a kernel was compiled for", got);
  return error();
}

}  // namespace xla_ffi_ops::lanes
