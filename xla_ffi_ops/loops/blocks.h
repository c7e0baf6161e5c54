// SPDX-License-Identifier: Apache-2.0
// Runs kernels that compute one row per lane over all rows of a call.
#ifndef XLA_FFI_OPS_LOOPS_BLOCKS_H_
#define XLA_FFI_OPS_LOOPS_BLOCKS_H_

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "xla_ffi_ops/handler/checks.h"
#include "xla_ffi_ops/handler/dtype.h"
#include "xla_ffi_ops/handler/handler.h"
#include "xla_ffi_ops/threads/handler_result.h"
#include "xla_ffi_ops/threads/parallel.h"
#include "xla_ffi_ops/vec/cpu_level.h"
#include "xla_ffi_ops/vec/lanes/lanes.h"
#include "xla_ffi_ops/vec/row_map.h"

namespace xla_ffi_ops::lanes {

// An operand or a result of a call.
struct Array {
  void* data;
  int64_t size;  // of a row
  RowMap map;
};

// Some rows of a call, one for each lane; the last lanes may have the same row.
struct Block {
  const std::vector<Array>& operands;
  const std::vector<Array>& results;
  const std::vector<int64_t>& sizes;  // of the dimensions that are open
  int64_t row;
  int64_t last;

  int64_t Row(int lane) const { return std::min(row + lane, last); }
};

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

// The largest vector: 16 lanes of 8 bytes.
inline constexpr int64_t kAlignment = 128;

// The bytes of n elements, for what follows to be aligned. An odd number of
// these: with 4096 bytes between them, as 1000 steps of float32 would have, the
// elements of a step would all compete for the same lines of the cache.
template <typename T>
int64_t Bytes(int64_t n) {
  int64_t bytes;
  if (__builtin_mul_overflow(n, static_cast<int64_t>(sizeof(T)), &bytes)) {
    throw std::bad_alloc();
  }
  return ((bytes / kAlignment + 1) | 1) * kAlignment;
}

// Memory of a kernel. A thread keeps what its last kernel had, unless that was
// a lot. Lack of memory throws std::bad_alloc, an error of the call.
class Scratch {
 public:
  explicit Scratch(int64_t bytes);
  ~Scratch();
  Scratch(const Scratch&) = delete;

  template <typename T>
  T* Take(int64_t n) {
    T* const taken = reinterpret_cast<T*>(next_);
    next_ += Bytes<T>(n);
    return taken;
  }

 private:
  char* next_;
};

// For each choice of dtypes that a handler has kernels for: those of all
// operands, and then those of all results.
using Choices = std::vector<std::vector<ffi::DataType>>;

// A size or an attribute of a call, for its error.
struct Got {
  const char* name;
  std::string value;
};

std::string Text(double x);
std::string Text(std::string_view x);
template <typename T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
std::string Text(T x) {
  return std::to_string(x);
}

// The arrays of a call. A handler checks them one after the other:
//
//   Arrays arrays(operands, results, dtypes);
//   arrays.Operand("x", {&n});
//   arrays.Result("y", {&n});
//   if (!arrays.Done()) return arrays.error();
//   if (n == 3 && arrays.Have(0)) return RunBlocks<Forward0>(...);
//   return arrays.NoKernel({{"n", Text(n)}});
class Arrays : public Checks {
 public:
  Arrays(ffi::RemainingArgs operands, ffi::RemainingRets results,
         const Choices& dtypes)
      : operands_(operands), results_(results), dtypes_(dtypes) {}

  void Operand(const char* name, std::initializer_list<Dim*> core);
  void Result(const char* name, std::initializer_list<Dim*> core);
  // Returns whether all holds, and finds the rows of operands.
  bool Done();
  // Whether the call has this choice of dtypes.
  bool Have(int choice) const;
  // The error of a call whose sizes, attributes or dtypes no kernel was
  // compiled for.
  ffi::Error NoKernel(const std::vector<Got>& core);
  int64_t rows() const { return Product(loops()); }

  std::vector<Array> operands, results;

 private:
  struct Checked {
    const char* name;
    ffi::AnyBuffer buffer;
    int64_t core_rank;
  };

  // The dtypes that the next array may have, given those before it.
  DTypeSet Expected() const;

  const ffi::RemainingArgs operands_;
  const ffi::RemainingRets results_;
  const Choices& dtypes_;
  std::vector<Checked> checked_;
  std::vector<ffi::DataType> got_;
};

namespace internal {

template <typename Kernel, int level>
inline constexpr int kLanes = kVectorBytes<level> / Kernel::kBytes;

inline bool IsShared(const Array& array) {
  return array.map.dims == 1 && array.map.stride[0] == 0;
}

// Each width of vectors is compiled for one level of the CPU: g++ takes a fifth
// longer for one more. A single lane is compiled for each level, as AVX-512 has
// 32 registers, and AVX2 has 16.
template <typename Kernel>
void RunBlock(const Block& block, int64_t lanes) {
#ifdef XLA_FFI_OPS_CPU_LEVELS
  using ::xla_ffi_ops::internal::RunV3;
  using ::xla_ffi_ops::internal::RunV4;
  if (lanes == kLanes<Kernel, 4>) {
    return RunV4([&]() XLA_FFI_OPS_INLINED {
      math::AssumeLevel<4>();
      Kernel::template Run<kLanes<Kernel, 4>>(block);
    });
  }
  if (lanes == kLanes<Kernel, 3>) {
    return RunV3([&]() XLA_FFI_OPS_INLINED {
      math::AssumeLevel<3>();
      Kernel::template Run<kLanes<Kernel, 3>>(block);
    });
  }
#endif
  AtCpuLevel([&](auto level) XLA_FFI_OPS_INLINED {
    math::AssumeLevel<level>();
    Kernel::template Run<1>(block);
  });
}

}  // namespace internal

// Runs a kernel over all rows of a call. `shared` are the operands that it has
// once for all lanes: if rows do not share one, it computes one row at a time.
// With AVX-512, the rows of an AVX2 vector get one: half of the lanes would be
// idle. The gradient of needleman_wunsch, 250 x 250, with 3 to 8 rows takes 1.1
// ms so, and 2.8 with all lanes.
template <typename Kernel>
HandlerResult RunBlocks(const CpuContext& device, Arrays& arrays,
                        std::vector<int64_t> sizes,
                        std::initializer_list<int> shared) {
  const int64_t rows = arrays.rows();
  if (rows == 0) return HandlerResult(ffi::Error::Success());
  bool vectors = rows > 1 && CpuLevel() >= 3;
  for (const int i : shared) vectors &= internal::IsShared(arrays.operands[i]);
  constexpr int kFew = internal::kLanes<Kernel, 3>;
  const int64_t lanes = !vectors ? 1
                        : CpuLevel() == 4 && rows > kFew
                            ? internal::kLanes<Kernel, 4>
                            : kFew;
  // A thread takes blocks for some 20 microseconds.
  const int64_t grain =
      std::max<int64_t>(1, 20000 / std::max<int64_t>(1, Kernel::Work(sizes)));
  return ParallelFor(
      device.pool, (rows + lanes - 1) / lanes, grain,
      [operands = std::move(arrays.operands),
       results = std::move(arrays.results), sizes = std::move(sizes), rows,
       lanes](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          internal::RunBlock<Kernel>(
              {operands, results, sizes, i * lanes, rows - 1}, lanes);
        }
      });
}

}  // namespace xla_ffi_ops::lanes

#endif  // XLA_FFI_OPS_LOOPS_BLOCKS_H_
