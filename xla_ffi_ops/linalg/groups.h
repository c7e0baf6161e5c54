// SPDX-License-Identifier: Apache-2.0
// A call of a kernel of matrices: groups of them become lanes of vectors, and
// their results become matrices again, each once.
#ifndef XLA_FFI_OPS_LINALG_GROUPS_H_
#define XLA_FFI_OPS_LINALG_GROUPS_H_

#include <algorithm>
#include <complex>
#include <cstdint>
#include <memory>
#include <new>

#include "xla_ffi_ops/linalg/number.h"
#include "xla_ffi_ops/vec/cpu_level.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/lanes/lane_rows.h"
#include "xla_ffi_ops/vec/row_map.h"
#include "xla_ffi_ops/vec/vec.h"

namespace xla_ffi_ops::linalg {

// An array of a call, and where a kernel has a matrix of it: from the element
// `place` of its memory on.
template <typename T>
struct Placed {
  Rows<T> rows;
  int64_t place;
};

// A call of a kernel, and the elements of memory that a matrix of it takes.
template <typename T>
struct MatrixCall {
  static constexpr int kMost = 6;

  void Add(Rows<const T> rows, int64_t place) {
    operands[operand_count++] = {rows, place};
  }
  void Add(Rows<T> rows, int64_t place) {
    results[result_count++] = {rows, place};
  }
  void Add(Rows<int32_t> rows, int64_t place) {
    integers[integer_count++] = {rows, place};
  }

  int64_t memory;
  int operand_count = 0, result_count = 0;
  Placed<const T> operands[kMost];
  Placed<T> results[kMost];
  // An operand and results of integers: a kernel has them as real numbers.
  Placed<const int32_t> from_integers = {{nullptr, 0, {}}, 0};
  int integer_count = 0;
  Placed<int32_t> integers[2];
};

namespace internal {

// The number that a vector is of, and how many of it an element of T has.
template <typename T>
struct NumberOf {
  using type = T;
  static constexpr int kParts = 1;
  template <typename V>
  using As = V;
};
template <typename R>
struct NumberOf<std::complex<R>> {
  using type = R;
  static constexpr int kParts = 2;
  template <typename V>
  using As = Complex<V>;
};

// Where matrices [begin, begin + count) are; other lanes have the first.
template <int lanes, typename R, typename T>
XLA_FFI_OPS_HD void FindRows(const Rows<T>& rows, int64_t begin, int count,
                             R** found) {
  const auto place = [&](int i)
                         XLA_FFI_OPS_INLINED { return i < count ? i : 0; };
  if (rows.map.dims == 1) {  // Vectors count these, at once.
    R* const first = reinterpret_cast<R*>(rows[begin]);
    const int64_t step = rows.map.stride[0] * rows.cols * sizeof(T) / sizeof(R);
    for (int i = 0; i < lanes; ++i) found[i] = first + place(i) * step;
  } else {
    for (int i = 0; i < lanes; ++i) {
      found[i] = reinterpret_cast<R*>(rows[begin + place(i)]);
    }
  }
}

// The operands of matrices [begin, begin + count) become lanes; and lanes
// become their results. Of these functions there is one for all kernels.
template <int level, typename T>
void LoadGroup(const MatrixCall<T>& call, int64_t begin, int count,
               void* memory) {
  using N = NumberOf<T>;
  using R = typename N::type;
  AtLevel<level>([&]() XLA_FFI_OPS_INLINED {
    constexpr int lanes = kVectorBytes<level> / sizeof(R);
    const auto at = [&](int64_t place) XLA_FFI_OPS_INLINED {
      return static_cast<R*>(memory) + place * N::kParts * lanes;
    };
    for (int a = 0; a < call.operand_count; ++a) {
      const auto& [rows, place] = call.operands[a];
      const R* from[lanes];
      FindRows<lanes>(rows, begin, count, from);
      xla_ffi_ops::internal::CopyLanes<true, lanes>(from, rows.cols * N::kParts,
                                                    at(place));
    }
    const auto& [rows, place] = call.from_integers;
    if (rows.data == nullptr) return;
    const int32_t* from[lanes];
    FindRows<lanes>(rows, begin, count, from);
    for (int64_t j = 0; j < rows.cols; ++j) {
      for (int i = 0; i < lanes; ++i) {
        at(place)[j * lanes + i] = static_cast<R>(from[i][j]);
      }
    }
  });
}
template <int level, typename T>
void StoreGroup(const MatrixCall<T>& call, int64_t begin, int count,
                void* memory) {
  using N = NumberOf<T>;
  using R = typename N::type;
  AtLevel<level>([&]() XLA_FFI_OPS_INLINED {
    constexpr int lanes = kVectorBytes<level> / sizeof(R);
    const auto at = [&](int64_t place) XLA_FFI_OPS_INLINED {
      return static_cast<R*>(memory) + place * N::kParts * lanes;
    };
    for (int a = 0; a < call.result_count; ++a) {
      const auto& [rows, place] = call.results[a];
      R* to[lanes];
      FindRows<lanes>(rows, begin, count, to);
      xla_ffi_ops::internal::CopyLanes<false, lanes>(to, rows.cols * N::kParts,
                                                     at(place));
    }
    for (int a = 0; a < call.integer_count; ++a) {
      const auto& [rows, place] = call.integers[a];
      for (int i = 0; i < count; ++i) {
        for (int64_t j = 0; j < rows.cols; ++j) {
          rows[begin + i][j] = static_cast<int32_t>(at(place)[j * lanes + i]);
        }
      }
    }
  });
}

// The largest vector.
inline constexpr std::align_val_t kAlignment{64};
struct Delete {
  void operator()(char* memory) const {
    ::operator delete[](memory, kAlignment);
  }
};

}  // namespace internal

// How many matrices of T are computed at a time.
template <typename T>
int64_t MatricesAtOnce() {
  const int64_t bytes = CpuLevel() == 4   ? kVectorBytes<4>
                        : CpuLevel() == 3 ? kVectorBytes<3>
                                          : kVectorBytes<1>;
  return bytes / sizeof(typename internal::NumberOf<T>::type);
}

// Runs a kernel, a function of V* that is inlined, for the matrices [begin,
// end).
template <typename T, typename Kernel>
void ForMatrices(const MatrixCall<T>& call, const Kernel& kernel, int64_t begin,
                 int64_t end) {
  const int64_t at_once = MatricesAtOnce<T>();
  const std::unique_ptr<char[], internal::Delete> memory(
      new (internal::kAlignment) char[sizeof(T) * call.memory * at_once]);
  const auto run = [&](auto level) XLA_FFI_OPS_INLINED {
    math::AssumeLevel<level>();
    using N = internal::NumberOf<T>;
    using R = typename N::type;
    constexpr int64_t lanes = kVectorBytes<level> / sizeof(R);
    using V = typename N::template As<xla_ffi_ops::internal::Vec<R, lanes>>;
    for (int64_t i = begin; i < end; i += lanes) {
      const int count = static_cast<int>(std::min(lanes, end - i));
      internal::LoadGroup<level>(call, i, count, memory.get());
      kernel(reinterpret_cast<V*>(memory.get()));
      internal::StoreGroup<level>(call, i, count, memory.get());
    }
  };
  // Few matrices take longer in half of a vector of AVX-512 than in one of
  // AVX2.
  const bool are_few = end - begin <= at_once / 2;
  AtCpuLevel(run, are_few ? kWideLevel : kMostLevel);
}

}  // namespace xla_ffi_ops::linalg

#endif  // XLA_FFI_OPS_LINALG_GROUPS_H_
