// SPDX-License-Identifier: Apache-2.0
// A call of which some operands may be absent, as the attribute `present` says,
// and the weights among its operands, with their gradients.
#ifndef XLA_FFI_OPS_HANDLER_CALL_H_
#define XLA_FFI_OPS_HANDLER_CALL_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "xla/ffi/api/ffi.h"
#include "xla_ffi_ops/handler/checks.h"
#include "xla_ffi_ops/handler/dtype.h"
#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/row_map.h"

namespace xla_ffi_ops {

// An operand or a result. Its name stands in messages.
struct Argument {
  explicit Argument(std::string name, bool given = true)
      : name(std::move(name)), given(given) {}

  xla::ffi::DataType dtype() const {
    return buffer ? buffer->element_type() : xla::ffi::DataType::INVALID;
  }
  // Null if it is not given; and so are the rows.
  template <typename T>
  T* data() const {
    return buffer ? Data<T>(*buffer) : nullptr;
  }
  template <typename T>
  Rows<const T> rows() const {
    return {data<const T>(), cols, map};
  }

  std::string name;
  bool given;
  std::optional<xla::ffi::AnyBuffer> buffer;  // Call::Operands, Call::Results
  int64_t core_rank = 0;                      // Call::Operand, as what follows
  int64_t cols = 0;
  RowMap map;  // Call::Done
};

// An operand like scale, whose gradient is a sum over the rows that share it.
struct Weight : Argument {
  explicit Weight(const std::string& name, bool given = true)
      : Weight(name, given, given) {}
  Weight(const std::string& name, bool given, bool wanted)
      : Argument(name, given),
        gradient("d" + name, wanted),
        workspace("d" + name + "_workspace", wanted) {}

  bool shared = false;  // by rows; else each row has its own
  Argument gradient;
  Argument workspace;  // [groups..., parts, cols], on CUDA alone
  Dim parts = kUnknownDim;
};

// Checks a call like Checks, in this order:
//
//   Argument x("x"), y("y");
//   Weight scale("scale", (present & 2) != 0);
//   Call call;
//   call.Present(present, /*required=*/1, /*optional=*/2);
//   call.Operands(operands, {&x, &scale});
//   call.Operand(x, FloatDTypes(), {&d});
//   call.Weights(x, {&scale}, {&d});
//   call.Result("y", *y, x.dtype(), {&d});
//   if (!call.Done()) return call.error();
class Call : public Checks {
 public:
  using Checks::Operand, Checks::Result;

  // `present` must have the bits of all required operands. It may also have
  // bits of optional operands, and no others.
  void Present(int64_t present, int64_t required, int64_t optional);

  // Gives the arguments their buffers. There are as many as are given.
  void Operands(xla::ffi::RemainingArgs buffers,
                std::initializer_list<Argument*> operands);

  // The attribute of a backward pass that skips gradients: the bits of those
  // that are results. After Present.
  void Wanted(int64_t wanted, int64_t present);

  // The results, then the gradients of the weights, and then, on CUDA, their
  // workspaces.
  template <typename Device>
  void Results(xla::ffi::RemainingRets buffers,
               std::initializer_list<Argument*> results,
               std::initializer_list<Weight*> weights) {
    Results(buffers, results, weights, std::is_same_v<Device, Cuda>);
  }

  void Operand(Argument& operand, DTypeSet expected,
               std::initializer_list<Dim*> core);

  // The attribute of a backward pass. After the operands that have all loops.
  void BatchRank(int64_t batch_rank);

  // Weights of rows of x's dtype have that dtype or its accumulator's, all of
  // them the same. In a backward pass rows may share them. After all others.
  void Weights(const Argument& x, std::initializer_list<Weight*> weights,
               std::initializer_list<Dim*> core);
  // x's if there are no weights.
  xla::ffi::DataType weight_dtype() const { return weight_dtype_; }

  void Result(const Argument& result, DTypeSet expected,
              std::initializer_list<Dim*> core) {
    if (!ok() || !result.buffer) return;
    Result(result.name.c_str(), *result.buffer, expected, core);
  }

  // Gradients, and workspaces in the dtype of the accumulator of x's.
  void Gradients(const Argument& x, std::initializer_list<Weight*> weights,
                 std::initializer_list<Dim*> core);

  // Returns whether all holds, and makes the operands' rows.
  bool Done();

  // How many groups of rows there are, each with one gradient of the weights
  // that are `shared`, or else of those that are not; and the rows of each.
  int64_t Groups(bool shared) const {
    return Product(shared ? loops().first(*batch_rank_) : loops());
  }
  int64_t GroupRows(bool shared) const {
    return shared ? Product(loops().last(loops().size() - *batch_rank_)) : 1;
  }

 private:
  void Results(xla::ffi::RemainingRets buffers,
               std::initializer_list<Argument*> results,
               std::initializer_list<Weight*> weights, bool workspaces);
  template <typename Buffers>
  void Take(const char* bits, const char* what, const Buffers& buffers,
            const std::vector<Argument*>& arguments);

  std::vector<Argument*> operands_;
  const char* result_bits_ = "present";  // the attribute that has them
  std::optional<int64_t> batch_rank_;
  xla::ffi::DataType weight_dtype_ = xla::ffi::DataType::INVALID;
};

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_HANDLER_CALL_H_
