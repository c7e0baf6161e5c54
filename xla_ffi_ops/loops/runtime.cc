// SPDX-License-Identifier: Apache-2.0
// The handler of all compiled loops: it reads a table, checks a call, and runs
// a kernel on blocks of its rows. It is compiled once: XLA's headers take a
// second, and a handler of one's own another one.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <iomanip>
#include <limits>
#include <memory>
#include <new>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "xla/ffi/api/ffi.h"
#include "xla_ffi_ops/handler/checks.h"
#include "xla_ffi_ops/handler/dtype.h"
#include "xla_ffi_ops/handler/handler.h"
#include "xla_ffi_ops/loops/lane_copies.h"
#include "xla_ffi_ops/loops/table.h"
#include "xla_ffi_ops/threads/handler_result.h"
#include "xla_ffi_ops/threads/parallel.h"
#include "xla_ffi_ops/vec/cpu_level.h"

namespace xla_ffi_ops::lanes {
namespace {

static_assert(PRED == static_cast<int>(ffi::PRED));
static_assert(S8 == static_cast<int>(ffi::S8));
static_assert(S16 == static_cast<int>(ffi::S16));
static_assert(S32 == static_cast<int>(ffi::S32));
static_assert(S64 == static_cast<int>(ffi::S64));
static_assert(U8 == static_cast<int>(ffi::U8));
static_assert(U16 == static_cast<int>(ffi::U16));
static_assert(U32 == static_cast<int>(ffi::U32));
static_assert(U64 == static_cast<int>(ffi::U64));
static_assert(F16 == static_cast<int>(ffi::F16));
static_assert(F32 == static_cast<int>(ffi::F32));
static_assert(F64 == static_cast<int>(ffi::F64));
static_assert(C64 == static_cast<int>(ffi::C64));
static_assert(BF16 == static_cast<int>(ffi::BF16));
static_assert(C128 == static_cast<int>(ffi::C128));

// Memory of kernels: a thread keeps what its last one had, unless that was a
// lot. Memory that is fresh from the system costs more than what most kernels
// do with it.
class Kept {
 public:
  ~Kept() { std::free(data_); }

  // Returns memory for the largest vectors.
  char* Get(int64_t bytes) {
    if (bytes > bytes_) {
      Free();
      data_ = static_cast<char*>(std::aligned_alloc(kAlignment, bytes));
      if (data_ == nullptr) throw std::bad_alloc();
      bytes_ = bytes;
    }
    return data_;
  }
  void FreeIfLarge() {
    if (bytes_ > kMost) Free();
  }

 private:
  static constexpr int64_t kMost = int64_t{64} << 20;
  static constexpr int64_t kAlignment = 128;

  void Free() {
    std::free(data_);
    data_ = nullptr;
    bytes_ = 0;
  }

  char* data_ = nullptr;
  int64_t bytes_ = 0;
};
thread_local Kept kept;

// An attribute of a call: its bytes, for comparison, and a text for errors.
struct Got {
  std::string bytes;
  std::string text;
};

template <typename T>
std::string Text(T x) {
  if constexpr (std::is_integral_v<T>) {
    return std::to_string(x);
  } else {
    std::ostringstream text;
    text << std::setprecision(std::numeric_limits<float>::max_digits10) << x;
    return text.str();
  }
}

// The types that attributes have.
template <typename Body>
void WithType(int type, const Body& body) {
  switch (type) {
    case PRED:
      return body(bool());
    case S8:
      return body(int8_t());
    case S16:
      return body(int16_t());
    case S32:
      return body(int32_t());
    case S64:
      return body(int64_t());
    case U8:
      return body(uint8_t());
    case U16:
      return body(uint16_t());
    case U32:
      return body(uint32_t());
    case U64:
      return body(uint64_t());
    case F32:
      return body(float());
    case F64:
      return body(double());
    default:
      return body(std::string_view());
  }
}

// Whether a size is one that a kernel was compiled for. To JAX, an open one is
// at least 1: what it traced then reads x[0], and changes it.
bool IsServed(int64_t compiled, int64_t size) {
  return compiled == kOpen ? size > 0 : compiled == size;
}

// One call of a handler. Its checks are in the order of Checks.
class Call : public Checks {
 public:
  Call(const Table& table, ffi::Dictionary attributes,
       ffi::RemainingArgs operands, ffi::RemainingRets results)
      : table_(table) {
    for (const Dimension& d : table.dimensions) sizes_.push_back(d.size);
    ReadAttributes(attributes);
    Count("the operands", table.operands.size, operands.size());
    Count("the results", table.results.size, results.size());
    if (!ok()) return;
    for (size_t i = 0; i < operands.size() && ok(); ++i) {
      CheckOperand(table.operands[i], operands.get<ffi::AnyBuffer>(i));
    }
    if (ok() && table.backward) BatchRank(batch_rank_);
    for (size_t i = 0; i < results.size() && ok(); ++i) {
      CheckResult(table.results[i], results.get<ffi::AnyBuffer>(i));
    }
    for (size_t i = 0; i < operands_.size() && ok(); ++i) {
      const Declared& declared = table.operands[i];
      operands_[i].map = Map(declared.name, buffers_[i], declared.core.size);
    }
  }

  HandlerResult Run(const CpuContext& device) {
    if (!ok()) return error();
    for (const Kernel& kernel : table_.kernels) {
      if (Fits(kernel)) return Run(device, kernel);
    }
    std::string got;
    for (int64_t i = 0; i < table_.dimensions.size; ++i) {
      const Dimension& d = table_.dimensions[i];
      if (d.size == kOpen) Append(d.name, std::to_string(sizes_[i]), &got);
    }
    for (int64_t i = 0; i < table_.attributes.size; ++i) {
      Append(table_.attributes[i].name, attributes_[i].text, &got);
    }
    Fail("the core", "be one that a kernel was compiled for", got);
    return error();
  }

 private:
  static void Append(const char* name, const std::string& value,
                     std::string* to) {
    *to += (to->empty() ? "" : ", ") + std::string(name) + " = " + value;
  }

  void Count(const char* what, int64_t expected, size_t got) {
    if (got == static_cast<size_t>(expected)) return;
    Fail(what, "be " + std::to_string(expected), std::to_string(got));
  }

  void ReadAttributes(const ffi::Dictionary& given) {
    Count("the attributes", table_.attributes.size + table_.backward,
          given.size());
    for (const Attribute& attribute : table_.attributes) {
      WithType(attribute.type, [&](auto zero) {
        attributes_.push_back(Read(given, attribute.name, zero));
      });
    }
    if (table_.backward) {
      const Got got = Read(given, "batch_rank", int64_t());
      if (ok()) std::memcpy(&batch_rank_, got.bytes.data(), sizeof(int64_t));
    }
  }

  template <typename T>
  Got Read(const ffi::Dictionary& given, const char* name, T) {
    const auto found = given.get<T>(name);
    if (found.has_error()) {
      Fail(name, "be an attribute of its type", found.error().message());
      return {};
    }
    if constexpr (std::is_same_v<T, std::string_view>) {
      return {std::string(*found), '"' + std::string(*found) + '"'};
    } else {
      const T value = *found;
      std::string bytes(sizeof(T), 0);
      std::memcpy(bytes.data(), &value, sizeof(T));
      return {bytes, Text(value)};
    }
  }

  // The addresses of the sizes of a core.
  std::vector<Dim*> Core(const Declared& declared) {
    std::vector<Dim*> core;
    for (const int i : declared.core) core.push_back(&sizes_[i]);
    return core;
  }

  void CheckOperand(const Declared& declared,
                    const ffi::ErrorOr<ffi::AnyBuffer>& found) {
    if (found.has_error()) {
      return Fail(declared.name, "be a buffer", found.error().message());
    }
    Checks::Operand(declared.name, *found, Expected(), Core(declared));
    CheckNotEmpty(declared, *found);
    if (!ok()) return;
    buffers_.push_back(*found);
    operands_.push_back(Checked(declared, *found));
  }

  // Names the operand whose size is 0, if no kernel serves that.
  void CheckNotEmpty(const Declared& declared, const ffi::AnyBuffer& buffer) {
    if (!ok()) return;
    const Shape shape = buffer.dimensions();
    size_t axis = shape.size() - declared.core.size;
    for (const int i : declared.core) {
      const bool serves =
          shape[axis] > 0 ||
          std::any_of(table_.kernels.begin(), table_.kernels.end(),
                      [i](const Kernel& x) { return IsServed(x.sizes[i], 0); });
      if (!serves) {
        Fail(declared.name,
             "have size 1 or more in dimension " + std::to_string(axis),
             "shape " + ToString(shape));
      }
      ++axis;
    }
  }

  void CheckResult(const Declared& declared,
                   ffi::ErrorOr<ffi::Result<ffi::AnyBuffer>> found) {
    if (found.has_error()) {
      return Fail(declared.name, "be a buffer", found.error().message());
    }
    Checks::Result(declared.name, **found, Expected(), Core(declared));
    if (!ok()) return;
    results_.push_back(Checked(declared, **found));
    results_.back().map.stride[0] = 1;
  }

  Array Checked(const Declared& declared, const ffi::AnyBuffer& buffer) {
    types_.push_back(buffer.element_type());
    const bool is_complex = types_.back() == ffi::DataType::C64 ||
                            types_.back() == ffi::DataType::C128;
    const int64_t size = Product(buffer.dimensions().last(declared.core.size));
    return {buffer.untyped_data(), is_complex ? 2 * size : size, RowMap()};
  }

  // Whether the arrays so far are of the dtypes of a kernel.
  bool HaveTypesOf(const Kernel& kernel) const {
    return std::equal(types_.begin(), types_.end(), kernel.types.begin(),
                      [](ffi::DataType got, Type type) {
                        return static_cast<int>(got) == type;
                      });
  }

  // The dtypes that the next array may have, given those before it.
  DTypeSet Expected() const {
    uint64_t bits = 0;
    for (const Kernel& kernel : table_.kernels) {
      if (!HaveTypesOf(kernel)) continue;
      const int type = kernel.types[types_.size()];
      bits |= DTypeSet::Bit(static_cast<ffi::DataType>(type));
    }
    return DTypeSet(bits);
  }

  bool Fits(const Kernel& kernel) const {
    for (size_t i = 0; i < sizes_.size(); ++i) {
      if (!IsServed(kernel.sizes[i], sizes_[i])) return false;
    }
    for (size_t i = 0; i < attributes_.size(); ++i) {
      const auto& [data, bytes] = kernel.values[i];
      if (attributes_[i].bytes !=
          std::string_view(static_cast<const char*>(data), bytes)) {
        return false;
      }
    }
    return HaveTypesOf(kernel);
  }

  // How many rows a kernel takes at a time, or 0 if it serves no such call.
  // Few rows get short vectors: lanes that stay empty cost what full ones do.
  int64_t Lanes(const Kernel& kernel, int64_t rows) const {
    const bool vectors = rows > 1 && IsServedBy(kernel, 2);
    const int64_t bytes =
        vectors ? WideVectorBytes(rows * kernel.lane_bytes) : 0;
    const int64_t best = std::max<int64_t>(1, bytes / kernel.lane_bytes);
    const auto& widths = kernel.widths;
    if (std::count(widths.begin(), widths.end(), best) > 0) return best;
    return IsServedBy(kernel, widths[0]) ? widths[0] : 0;
  }

  // Whether blocks of so many lanes may be computed: their rows share what the
  // kernel reads once.
  bool IsServedBy(const Kernel& kernel, int64_t lanes) const {
    return lanes == 1 ||
           std::all_of(kernel.shared.begin(), kernel.shared.end(),
                       [&](int i) { return IsShared(operands_[i]); });
  }

  static bool IsShared(const Array& array) {
    return array.map.dims == 1 && array.map.stride[0] == 0;
  }

  HandlerResult Run(const CpuContext& device, const Kernel& kernel) {
    const int64_t rows = Product(loops());
    if (rows == 0) return HandlerResult(ffi::Error::Success());
    const int64_t lanes = Lanes(kernel, rows);
    if (lanes == 0) {
      Fail("the operands", "be shared by rows as the handler was compiled for",
           "others");
      return error();
    }
    const int64_t own = kernel.memory(sizes_.data(), lanes);
    const int64_t copied = lanes == 1 ? 0 : CopiedBytes(kernel, lanes);
    if (own >= std::numeric_limits<int64_t>::max() - copied) {
      throw std::bad_alloc();
    }
    // A thread takes blocks for some 20 microseconds.
    const int64_t grain = std::max<int64_t>(
        1, 20000 / std::max<int64_t>(1, kernel.work(sizes_.data())));
    return ParallelFor(
        device.pool, (rows + lanes - 1) / lanes, grain,
        [operands = std::move(operands_), results = std::move(results_),
         sizes = std::move(sizes_), rows, lanes, bytes = own + copied,
         &kernel](int64_t begin, int64_t end) {
          char* const scratch = bytes > 0 ? kept.Get(bytes) : nullptr;
          for (int64_t i = begin; i < end; ++i) {
            Run(kernel, lanes,
                {operands.data(), results.data(), sizes.data(), scratch,
                 i * lanes, rows - 1});
          }
          kept.FreeIfLarge();
        });
  }

  // The bytes of the copies that a kernel has as lanes.
  int64_t CopiedBytes(const Kernel& kernel, int64_t lanes) const {
    const int64_t vector = lanes * kernel.lane_bytes;
    int64_t bytes = 0;
    for (const int i : kernel.from_rows) {
      bytes += Aligned(operands_[i].size * vector);
    }
    for (const int i : kernel.to_rows) {
      bytes += Aligned(results_[i].size * vector);
    }
    return bytes;
  }

  static void Run(const Kernel& kernel, int64_t lanes, const Block& block) {
    if (lanes == 1) return kernel.run(block, lanes);
    const int64_t vector = lanes * kernel.lane_bytes;
    char* place = block.scratch;
    for (const int i : kernel.from_rows) {
      const Array& array = block.operands[i];
      CopyToLanes(array, block, kernel.lane_bytes, vector, place);
      place += Aligned(array.size * vector);
    }
    kernel.run(block, lanes);
    for (const int i : kernel.to_rows) {
      const Array& array = block.results[i];
      CopyToRows(array, block, kernel.lane_bytes, vector, place);
      place += Aligned(array.size * vector);
    }
  }

  const Table& table_;
  int64_t batch_rank_ = 0;
  std::vector<Dim> sizes_;
  std::vector<Got> attributes_;
  std::vector<ffi::AnyBuffer> buffers_;  // the operands
  std::vector<ffi::DataType> types_;     // of all arrays so far
  std::vector<Array> operands_, results_;
};

// What XLA's headers make of a table.
const ffi::Ffi& BindingOf(const void* data) {
  const Table& table = *static_cast<const Table*>(data);
  const void* made = __atomic_load_n(&table.binding, __ATOMIC_ACQUIRE);
  if (made == nullptr) {
    std::unique_ptr<ffi::Ffi> own =
        ffi::Ffi::Bind()
            .Ctx<CpuContext>()
            .Attrs<ffi::Dictionary>()
            .RemainingArgs()
            .RemainingRets()
            .To([&table](const CpuContext& device, ffi::Dictionary attributes,
                         ffi::RemainingArgs operands,
                         ffi::RemainingRets results) {
              return ::xla_ffi_ops::internal::Named(
                  table.target,
                  ::xla_ffi_ops::internal::Try<HandlerResult>([&] {
                    return Call(table, attributes, operands, results)
                        .Run(device);
                  }));
            });
    // Of two threads, one is the first; what it made is never deleted.
    if (__atomic_compare_exchange_n(&table.binding, &made, own.get(),
                                    /*weak=*/false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
      made = own.release();
    }
  }
  return *static_cast<const ffi::Ffi*>(made);
}

}  // namespace
}  // namespace xla_ffi_ops::lanes

extern "C" void* xla_ffi_ops_loops_call(const xla_ffi_ops::lanes::Table& table,
                                        void* frame) {
  using namespace ::xla_ffi_ops::internal;  // NOLINT
  auto* const own = static_cast<XLA_FFI_CallFrame*>(frame);
  AskForHugePages(*own);
  return CallHandler(table.target, "", xla_ffi_ops::lanes::BindingOf, &table,
                     own);
}
