// SPDX-License-Identifier: Apache-2.0
#include "xla_ffi_ops/handler/call.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace xla_ffi_ops {
namespace {

namespace ffi = ::xla::ffi;

// "bit 0 and bit 2"
std::string Bits(int64_t mask) {
  std::string bits;
  for (int bit = 0; bit < 63; ++bit) {
    if ((mask >> bit & 1) == 0) continue;
    bits += (bits.empty() ? "bit " : " and bit ") + std::to_string(bit);
  }
  return bits;
}

int64_t Cols(std::initializer_list<Dim*> core) {
  std::vector<int64_t> sizes;
  for (const Dim* dim : core) sizes.push_back(*dim);
  return Product(sizes);
}

ffi::AnyBuffer BufferOf(ffi::AnyBuffer operand) { return operand; }
ffi::AnyBuffer BufferOf(ffi::Result<ffi::AnyBuffer> result) { return *result; }

}  // namespace

void Call::Present(int64_t present, int64_t required, int64_t optional) {
  if ((present & ~optional) == required) return;
  Fail("present",
       "have " + (required != 0 ? Bits(required) + " and " : "") +
           "no others but " + Bits(optional),
       std::to_string(present));
}

void Call::Wanted(int64_t wanted, int64_t present) {
  result_bits_ = "wanted";
  if ((wanted & ~present) == 0) return;
  Fail("wanted", "have no others but " + Bits(present), std::to_string(wanted));
}

template <typename Buffers>
void Call::Take(const char* bits, const char* what, const Buffers& buffers,
                const std::vector<Argument*>& arguments) {
  const size_t given = std::count_if(arguments.begin(), arguments.end(),
                                     [](auto* a) { return a->given; });
  if (given != buffers.size()) {
    Fail(bits,
         std::string("match the number of ") + what + ", " +
             std::to_string(given) + " by its bits",
         std::to_string(buffers.size()));
  }
  if (!ok()) return;
  size_t i = 0;
  for (Argument* argument : arguments) {
    if (!argument->given) continue;
    const auto buffer = buffers.template get<ffi::AnyBuffer>(i++);
    if (buffer.has_value()) {
      argument->buffer = BufferOf(*buffer);
    } else {
      Fail(argument->name.c_str(), "be a buffer", buffer.error().message());
    }
  }
}

void Call::Operands(ffi::RemainingArgs buffers,
                    std::initializer_list<Argument*> operands) {
  operands_ = operands;
  Take("present", "operands", buffers, operands_);
}

void Call::Results(ffi::RemainingRets buffers,
                   std::initializer_list<Argument*> results,
                   std::initializer_list<Weight*> weights, bool workspaces) {
  std::vector<Argument*> all = results;
  for (Weight* weight : weights) all.push_back(&weight->gradient);
  for (Weight* weight : weights) {
    if (workspaces) all.push_back(&weight->workspace);
  }
  Take(result_bits_, "results", buffers, all);
}

void Call::Operand(Argument& operand, DTypeSet expected,
                   std::initializer_list<Dim*> core) {
  if (!ok()) return;
  Operand(operand.name.c_str(), *operand.buffer, expected, core);
  operand.core_rank = core.size();
  operand.cols = Cols(core);
}

void Call::BatchRank(int64_t batch_rank) {
  Checks::BatchRank(batch_rank);
  batch_rank_ = batch_rank;
}

void Call::Weights(const Argument& x, std::initializer_list<Weight*> weights,
                   std::initializer_list<Dim*> core) {
  weight_dtype_ = x.dtype();
  DTypeSet expected(DTypeSet::Bit(x.dtype()) |
                    DTypeSet::Bit(AccumulatorDType(x.dtype())));
  for (Weight* weight : weights) {
    if (!weight->given || !ok()) continue;
    const char* name = weight->name.c_str();
    if (batch_rank_) {
      weight->shared =
          SharedOperand(name, *weight->buffer, expected, core, *batch_rank_);
    } else {
      Operand(name, *weight->buffer, expected, core);
    }
    weight->core_rank = core.size();
    weight->cols = Cols(core);
    weight_dtype_ = weight->dtype();
    expected = weight_dtype_;
  }
}

void Call::Gradients(const Argument& x, std::initializer_list<Weight*> weights,
                     std::initializer_list<Dim*> core) {
  for (Weight* weight : weights) {
    if (!weight->gradient.buffer || !ok()) continue;
    const int64_t rank = weight->shared ? *batch_rank_ : loops().size();
    Result(weight->gradient.name.c_str(), *weight->gradient.buffer,
           weight->dtype(), core, rank);
    if (!weight->workspace.buffer) continue;
    const char* name = weight->workspace.name.c_str();
    Dim cols = Cols(core);
    Result(name, *weight->workspace.buffer, AccumulatorDType(x.dtype()),
           {&weight->parts, &cols}, rank);
    if (weight->parts < 1) {
      Fail(name, "have at least one part", std::to_string(weight->parts));
    }
  }
}

bool Call::Done() {
  for (Argument* operand : operands_) {
    if (!operand->buffer || !ok()) continue;
    operand->map =
        Map(operand->name.c_str(), *operand->buffer, operand->core_rank);
  }
  return ok();
}

}  // namespace xla_ffi_ops
