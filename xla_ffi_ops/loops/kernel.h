// SPDX-License-Identifier: Apache-2.0
// What the C++ that is written of loops includes: rows of operands and results
// as lanes, and the way to the runtime. It includes no header of XLA: these
// would take longer to compile than most loops.
#ifndef XLA_FFI_OPS_LOOPS_KERNEL_H_
#define XLA_FFI_OPS_LOOPS_KERNEL_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "xla_ffi_ops/loops/table.h"
#include "xla_ffi_ops/vec/cpu_level.h"
#include "xla_ffi_ops/vec/lanes/lanes.h"

// The runtime (runtime.cc), which calls the kernels of a table. A program links
// it, or sets a pointer to it where it is another shared object.
#ifdef XLA_FFI_OPS_LOOPS_RUNTIME_IS_APART
inline void* (*xla_ffi_ops_loops_call)(const xla_ffi_ops::lanes::Table& table,
                                       void* frame) = nullptr;
extern "C" [[gnu::visibility("default"), gnu::used]] inline void
xla_ffi_ops_loops_link(void* (*call)(const xla_ffi_ops::lanes::Table& table,
                                     void* frame)) {
  xla_ffi_ops_loops_call = call;
}
#else
extern "C" void* xla_ffi_ops_loops_call(const xla_ffi_ops::lanes::Table& table,
                                        void* frame);
#endif

// Exports the handler of a table.
#define XLA_FFI_OPS_LOOPS_HANDLER(target, table)                              \
  extern "C" [[gnu::visibility("default")]] void* target##_cpu(void* frame) { \
    return xla_ffi_ops_loops_call(table, frame);                              \
  }                                                                           \
  static_assert(true, "a semicolon follows")

namespace xla_ffi_ops::lanes {

// a modulo a size b, from 0 to b - 1, or 0: jax.numpy.roll has such sizes.
inline int64_t Modulo(int64_t a, int64_t b) {
  return b == 0 ? 0 : (a % b + b) % b;
}

namespace internal {

// An element that XLA stores, as a kernel computes with it.
template <typename V, typename Stored>
XLA_FFI_OPS_HD auto Loaded(Stored x) {
  if constexpr (std::is_same_v<Stored, bool> && !kIsScalar<V>) {
    return static_cast<Element<V>>(-Element<V>(x));
  } else {
    return static_cast<Element<V>>(x);
  }
}

}  // namespace internal

// An operand of which each lane has its own row.
template <typename Stored, typename V, int lanes>
struct Input {
  XLA_FFI_OPS_HD Input(const Block& block, int i) {
    const Array& array = block.operands[i];
    for (int l = 0; l < lanes; ++l) {
      data[l] = static_cast<const Stored*>(array.data) +
                array.map(block.Row(l)) * array.size;
    }
  }
  XLA_FFI_OPS_HD V operator[](int64_t i) const {
    if constexpr (lanes == 1) {
      return internal::Loaded<V>(data[0][i]);
    } else {
      V found;
      for (int l = 0; l < lanes; ++l) {
        found[l] = internal::Loaded<V>(data[l][i]);
      }
      return found;
    }
  }

  const Stored* data[lanes];
};

template <typename V, typename Stored, int lanes, typename I>
XLA_FFI_OPS_HD V At(const Input<Stored, V, lanes>& from, int64_t i, I by) {
  if constexpr (lanes == 1) {
    return from[i + by];
  } else {
    V found;
    for (int l = 0; l < lanes; ++l) {
      found[l] = internal::Loaded<V>(from.data[l][i + by[l]]);
    }
    return found;
  }
}

// An operand that all rows share.
template <typename Stored, typename T>
struct SharedInput {
  SharedInput(const Block& block, int i)
      : data(static_cast<const Stored*>(block.operands[i].data) +
             block.operands[i].map(block.row) * block.operands[i].size) {}
  XLA_FFI_OPS_HD T operator[](int64_t i) const {
    return static_cast<T>(data[i]);
  }

  const Stored* data;
};

template <typename V, typename Stored, typename T, typename I>
XLA_FFI_OPS_HD V At(const SharedInput<Stored, T>& from, int64_t i, I by) {
  if constexpr (kIsScalar<I>) {
    return from[i + by];
  } else {
    V found;
    for (int l = 0; l < kLanesOf<V>; ++l) {
      found[l] = internal::Loaded<V>(from.data[i + by[l]]);
    }
    return found;
  }
}

template <typename Stored, typename V, int lanes>
class Output {
 public:
  struct Place {
    XLA_FFI_OPS_HD void operator=(V x) const {
      for (int l = 0; l < lanes; ++l) {
        if constexpr (lanes == 1) {
          output.data_[l][i] = static_cast<Stored>(x);
        } else if constexpr (std::is_same_v<Stored, bool>) {
          output.data_[l][i] = x[l] != 0;
        } else {
          output.data_[l][i] = static_cast<Stored>(x[l]);
        }
      }
    }

    const Output& output;
    int64_t i;
  };

  XLA_FFI_OPS_HD Output(const Block& block, int i) {
    const Array& array = block.results[i];
    for (int l = 0; l < lanes; ++l) {
      data_[l] = static_cast<Stored*>(array.data) + block.Row(l) * array.size;
    }
  }
  XLA_FFI_OPS_HD Place operator[](int64_t i) const { return {*this, i}; }

 private:
  Stored* data_[lanes];
};

inline constexpr int64_t kTooMany = std::numeric_limits<int64_t>::max();

// The bytes of n elements.
template <typename T>
int64_t Bytes(int64_t n) {
  constexpr int64_t kMost = kTooMany / (2 * sizeof(T));
  return n < kMost ? Aligned(n * sizeof(T)) : kTooMany;
}

// The sum of bytes, each of them at least 0.
template <typename... More>
int64_t Total(int64_t bytes, More... more) {
  if constexpr (sizeof...(more) > 0) {
    const int64_t others = Total(more...);
    bytes = bytes > kTooMany - others ? kTooMany : bytes + others;
  }
  return bytes;
}

// The memory of a kernel, as it takes it: there are not too many bytes.
class Scratch {
 public:
  explicit Scratch(const Block& block) : next_(block.scratch) {}

  template <typename T>
  T* Take(int64_t n) {
    T* const taken = reinterpret_cast<T*>(next_);
    next_ += Aligned(n * sizeof(T));
    return taken;
  }

 private:
  char* next_;
};

// The elements of an array as vectors: a row itself, or copies of the rows of
// all lanes. Rows are apart. If there are as many bytes between them as a power
// of two, each element that is stored to all of them misses the cache as often.
template <typename V, int lanes>
V* Elements(const Array& array, const Block& block, Scratch* scratch) {
  if constexpr (lanes > 1) return scratch->Take<V>(array.size);
  return static_cast<V*>(array.data) + array.map(block.row) * array.size;
}

// Numbers of lanes.
template <int... lanes>
struct Widths {
  static constexpr int64_t kList[] = {lanes...};
};

namespace internal {

#if defined(XLA_FFI_OPS_LOOPS_WIDTHS)
// All of the file is compiled for the level of a processor, and for a call.
template <typename K>
using WidthsOf = Widths<XLA_FFI_OPS_LOOPS_WIDTHS>;
#else
template <typename K, int... bytes>
Widths<1, bytes / K::kBytes...> WidthsOfBytes(
    std::integer_sequence<int, bytes...>);
template <typename K>
using WidthsOf = decltype(WidthsOfBytes<K>(WideVectors()));
#endif

// Each width of vectors is compiled for one level of the CPU: g++ takes a fifth
// longer for one more. A single lane is compiled for each level, as AVX-512 has
// 32 registers, and AVX2 has 16.
template <typename K, int lanes>
void RunWidth(const Block& block) {
  [[maybe_unused]] const auto run = [&](auto level) XLA_FFI_OPS_INLINED {
    math::AssumeLevel<level>();
    K::template Run<lanes>(block);
  };
#if defined(XLA_FFI_OPS_LOOPS_LEVEL)
  run(std::integral_constant<int, XLA_FFI_OPS_LOOPS_LEVEL>());
#else
  AtLevelOfVectors<lanes * K::kBytes>(run);
#endif
}

template <typename K, int... lanes>
void RunOneOf(Widths<lanes...>, const Block& block, int64_t wanted) {
  ((wanted == lanes ? RunWidth<K, lanes>(block) : void()), ...);
}

template <typename K, int... lanes>
int64_t MemoryOfOneOf(Widths<lanes...>, const int64_t* sizes, int64_t wanted) {
  int64_t bytes = 0;
  ((wanted == lanes ? void(bytes = K::template Memory<lanes>(sizes)) : void()),
   ...);
  return bytes;
}

}  // namespace internal

// What tables have of a kernel, a struct with
//
//   static constexpr int kBytes;               // of a number, in most vectors
//   static int64_t Work(const int64_t* sizes);
//   template <int kLanes>
//   static int64_t Memory(const int64_t* sizes);
//   template <int kLanes>
//   static void Run(const Block& block);
template <typename K>
inline constexpr List<int64_t> kWidths = internal::WidthsOf<K>::kList;
template <typename K>
void Run(const Block& block, int64_t lanes) {
  internal::RunOneOf<K>(internal::WidthsOf<K>(), block, lanes);
}
template <typename K>
int64_t Memory(const int64_t* sizes, int64_t lanes) {
  return internal::MemoryOfOneOf<K>(internal::WidthsOf<K>(), sizes, lanes);
}

}  // namespace xla_ffi_ops::lanes

#endif  // XLA_FFI_OPS_LOOPS_KERNEL_H_
