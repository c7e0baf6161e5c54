// SPDX-License-Identifier: Apache-2.0
// The arrays that the kernels of an op are tested with. Each holds what the
// kernels read or write, and the same numbers in float64.
#ifndef XLA_FFI_OPS_TESTS_CUDA_EMULATOR_ROW_ARRAYS_H_
#define XLA_FFI_OPS_TESTS_CUDA_EMULATOR_ROW_ARRAYS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "xla_ffi_ops/rows/workspace.h"
#include "xla_ffi_ops/vec/float16.h"
#include "xla_ffi_ops/vec/row_map.h"

namespace xla_ffi_ops {

struct Case {
  int64_t groups, rows, cols;
  int64_t parts = 3;
  unsigned present = 3;  // bit i: weight i is there
  bool aligned = true;
  bool finite = true;
  bool shared = false;  // each row of the inputs stands for two

  std::string Name() const {
    std::string name;
    for (const int64_t number :
         {groups, rows, cols, parts, int64_t{present}, int64_t{aligned},
          int64_t{finite}, int64_t{shared}}) {
      name += " " + std::to_string(number);
    }
    return name;
  }
  int64_t AllRows() const { return groups * rows; }
  // How many elements of a row a thread has, at most.
  int64_t Depth() const { return cols / 512; }
};

inline int failures = 0;
inline std::string context;
inline std::mt19937 generator;
inline uint64_t bits = 0;  // a hash of what has been compared

inline void Check(bool condition, const std::string& what) {
  if (condition) return;
  if (++failures < 30) {
    std::fprintf(stderr, "%s: %s\n", context.c_str(), what.c_str());
  }
}

// Numbers of a kernel, and the same in float64.
template <typename T>
class Numbers {
 public:
  // Operands are random, results are unwritten. Row i has the numbers of row
  // i / shared.
  Numbers(const Case& c, int64_t rows, int64_t cols, bool random,
          int64_t shared = 1)
      : size_((rows + shared - 1) / shared * cols),
        cols_(cols),
        storage_(size_ + 64),
        exact_(size_) {
    std::memset(storage_.data(), 0xff, storage_.size() * sizeof(T));
    data_ = storage_.data();
    while (reinterpret_cast<uintptr_t>(data_) % 16 != 0) ++data_;
    if (!c.aligned) ++data_;
    map_.dims = 2;
    map_.stride[0] = 1;
    map_.size[1] = shared;
    if (shared == 1) map_.dims = 1;
    if (!random) return;
    std::normal_distribution<double> normal;
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const double special[] = {kInfinity, -kInfinity, std::nan(""), 0};
    for (int64_t i = 0; i < size_; ++i) {
      const bool finite = c.finite || generator() % size_ > 5;
      data_[i] =
          static_cast<T>(finite ? normal(generator) : special[generator() % 4]);
      exact_[i] = data_[i];
      if (finite) largest_ = std::max(largest_, std::abs(exact_[i]));
    }
  }
  Numbers(const Numbers&) = delete;

  Rows<const T> rows() const { return {data_, cols_, map_}; }
  Rows<const double> exact_rows() const { return {exact_.data(), cols_, map_}; }
  T* data() { return data_; }
  double* exact() { return exact_.data(); }
  double largest() const { return largest_; }

  // A number may be off by half a unit in its last place, and by the roundings
  // of a sum of terms of this magnitude, of which a thread adds up to `depth`,
  // one after another.
  void Compare(const std::string& name, double magnitude, int64_t depth) const {
    constexpr double kAcc = std::numeric_limits<Accumulator<T>>::epsilon();
    constexpr double kHalf = std::is_same_v<T, Float16>    ? 0x1p-11
                             : std::is_same_v<T, BFloat16> ? 0x1p-8
                                                           : 0;
    constexpr double kLeast = std::is_same_v<T, Float16> ? 0x1p-25 : 1e-38;
    for (int64_t i = 0; i < size_; ++i) {
      const double x = data_[i];
      const double y = exact_[i];
      const double bound =
          kHalf * std::abs(y) + (depth + 30) * kAcc * magnitude + kLeast;
      if (std::isnan(x) && std::isnan(y)) continue;
      if (x == y || std::abs(x - y) <= bound) continue;
      return Check(false, name + "[" + std::to_string(i) + "] is " +
                              std::to_string(x) + ", not " + std::to_string(y));
    }
    const auto* byte = reinterpret_cast<const unsigned char*>(data_);
    for (size_t i = 0; i < size_ * sizeof(T); ++i) bits = bits * 31 + byte[i];
    const auto* behind = reinterpret_cast<const unsigned char*>(data_ + size_);
    for (size_t i = 0; i < 32 * sizeof(T); ++i) {
      if (behind[i] != 0xff) return Check(false, name + " is longer");
    }
  }

 private:
  int64_t size_, cols_;
  std::vector<T> storage_;
  std::vector<double> exact_;
  RowMap map_;
  T* data_;
  double largest_ = 1;
};

// A weight that the rows of a group share, and the sums for its gradient.
template <typename W>
struct Shared {
  Shared(const Case& c, int index)
      : there(c.present >> index & 1),
        parts(c.parts),
        value(c, c.AllRows(), c.cols, true, std::max<int64_t>(1, c.rows)),
        memory(c, c.groups * c.parts, c.cols, false),
        gradient(c, c.groups, c.cols, false) {}

  Rows<const W> rows() const {
    return there ? value.rows() : Rows<const W>{nullptr, 0, {}};
  }
  Rows<const double> exact() const {
    return there ? value.exact_rows() : Rows<const double>{nullptr, 0, {}};
  }
  Workspace<W, Accumulator<W>> sums() {
    if (!there) return {};
    return {gradient.data(), memory.data(), parts};
  }
  void Compare(const std::string& name, double magnitude, int64_t rows) const {
    if (there) gradient.Compare(name, magnitude * rows, rows);
  }

  bool there;
  int64_t parts;
  Numbers<W> value;
  Numbers<Accumulator<W>> memory;
  Numbers<W> gradient;
};

// An input, an output, or what there is one of for each row.
template <typename T>
struct Input : Numbers<T> {
  explicit Input(const Case& c)
      : Numbers<T>(c, c.AllRows(), c.cols, true, 1 + c.shared) {}
};
template <typename T>
struct Output : Numbers<T> {
  explicit Output(const Case& c) : Numbers<T>(c, c.AllRows(), c.cols, false) {}
};
template <typename T>
struct Residual : Numbers<T> {
  explicit Residual(const Case& c) : Numbers<T>(c, c.AllRows(), 1, false) {}
};

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_TESTS_CUDA_EMULATOR_ROW_ARRAYS_H_
