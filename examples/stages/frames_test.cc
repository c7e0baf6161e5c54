// SPDX-License-Identifier: Apache-2.0
// Calls the stages as XLA does for a GPU, with call frames made here.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <string>

#include "xla_ffi_ops/ffi.h"

extern "C" {
XLA_FFI_Handler example_stages_instantiate_cpu;
XLA_FFI_Handler example_stages_prepare_cpu;
XLA_FFI_Handler example_stages_initialize_cpu;
XLA_FFI_Handler example_stages_execute_after_all;
XLA_FFI_TypeId* example_stages_instantiate_type_id_cpu();
XLA_FFI_TypeId* example_stages_prepare_type_id_cpu();
XLA_FFI_TypeId* example_stages_initialize_type_id_cpu();
const XLA_FFI_TypeInfo* example_stages_instantiate_type_info_cpu();
const XLA_FFI_TypeInfo* example_stages_prepare_type_info_cpu();
const XLA_FFI_TypeInfo* example_stages_initialize_type_info_cpu();
}

// Types that XLA declares and whoever calls a handler defines.
struct XLA_FFI_Error {
  std::string message;
};
struct XLA_FFI_ExecutionContext {
  std::map<XLA_FFI_ExecutionStage, void*> states;
  int64_t run;
  int32_t device;
};

namespace {

constexpr auto kInstantiate = XLA_FFI_ExecutionStage_INSTANTIATE;
constexpr auto kPrepare = XLA_FFI_ExecutionStage_PREPARE;
constexpr auto kInitialize = XLA_FFI_ExecutionStage_INITIALIZE;
constexpr auto kExecute = XLA_FFI_ExecutionStage_EXECUTE;

// What the handlers call: as much of XLA as they need.
XLA_FFI_Api MakeApi() {
  XLA_FFI_Api api = {};
  api.struct_size = XLA_FFI_Api_STRUCT_SIZE;
  api.XLA_FFI_Error_Create = [](XLA_FFI_Error_Create_Args* args) {
    return new XLA_FFI_Error{args->message};
  };
  api.XLA_FFI_Error_GetMessage = [](XLA_FFI_Error_GetMessage_Args* args) {
    args->message = args->error->message.c_str();
  };
  api.XLA_FFI_Error_Destroy = [](XLA_FFI_Error_Destroy_Args* args) {
    delete args->error;
  };
  api.XLA_FFI_State_Set = [](XLA_FFI_State_Set_Args* args) -> XLA_FFI_Error* {
    args->ctx->states[args->stage] = args->state;
    return nullptr;
  };
  api.XLA_FFI_State_Get = [](XLA_FFI_State_Get_Args* args) -> XLA_FFI_Error* {
    const auto found = args->ctx->states.find(args->stage);
    if (found == args->ctx->states.end()) return new XLA_FFI_Error{"no state"};
    args->state = found->second;
    return nullptr;
  };
  api.XLA_FFI_RunId_Get = [](XLA_FFI_RunId_Get_Args* args) -> XLA_FFI_Error* {
    args->run_id = args->ctx->run;
    return nullptr;
  };
  api.XLA_FFI_DeviceOrdinal_Get =
      [](XLA_FFI_DeviceOrdinal_Get_Args* args) -> XLA_FFI_Error* {
    args->device_ordinal = args->ctx->device;
    return nullptr;
  };
  return api;
}

XLA_FFI_Buffer MakeBuffer(void* data, int64_t* size) {
  return {
      XLA_FFI_Buffer_STRUCT_SIZE, nullptr, XLA_FFI_DataType_F32, data, 1, size};
}

// Calls a handler for y = factor * x. Returns its error's message.
std::string Call(XLA_FFI_Handler* handler, XLA_FFI_ExecutionStage stage,
                 XLA_FFI_ExecutionContext* context, float factor = 3,
                 float* x = nullptr, float* y = nullptr) {
  static const XLA_FFI_Api api = MakeApi();
  int64_t size = 2;
  XLA_FFI_Buffer operand = MakeBuffer(x, &size), result = MakeBuffer(y, &size);
  void* operands[] = {&operand};
  void* results[] = {&result};
  XLA_FFI_ArgType operand_types[] = {XLA_FFI_ArgType_BUFFER};
  XLA_FFI_RetType result_types[] = {XLA_FFI_RetType_BUFFER};
  XLA_FFI_ByteSpan name = {"factor", 6};
  XLA_FFI_ByteSpan* names[] = {&name};
  XLA_FFI_Scalar scalar = {XLA_FFI_DataType_F32, &factor};
  void* attributes[] = {&scalar};
  XLA_FFI_AttrType attribute_types[] = {XLA_FFI_AttrType_SCALAR};
  const int64_t arrays = stage == kInstantiate ? 0 : 1;

  XLA_FFI_CallFrame frame = {};
  frame.struct_size = XLA_FFI_CallFrame_STRUCT_SIZE;
  frame.api = &api;
  frame.ctx = context;
  frame.stage = stage;
  frame.args = {XLA_FFI_Args_STRUCT_SIZE, nullptr, arrays, operand_types,
                operands};
  frame.rets = {XLA_FFI_Rets_STRUCT_SIZE, nullptr, arrays, result_types,
                results};
  frame.attrs = {XLA_FFI_Attrs_STRUCT_SIZE, nullptr, 1,
                 attribute_types,           names,   attributes};
  XLA_FFI_Error* const error = handler(&frame);
  if (error == nullptr) return "";
  const std::string message = error->message;
  delete error;
  return message;
}

void Expect(bool condition, const char* what, const std::string& got) {
  if (condition) return;
  std::fprintf(stderr, "%s; got %s\n", what, got.c_str());
  std::exit(1);
}

void ExpectDone(const std::string& error) {
  Expect(error.empty(), "expected no error", error);
}

void ExpectError(const std::string& error, const char* expected) {
  Expect(error.find(expected) != std::string::npos, expected, error);
}

// What XLA does with the states of a run when it ends.
void End(XLA_FFI_ExecutionContext* run) {
  const XLA_FFI_TypeInfo* infos[] = {example_stages_instantiate_type_info_cpu(),
                                     example_stages_prepare_type_info_cpu(),
                                     example_stages_initialize_type_info_cpu()};
  for (const auto stage : {kPrepare, kInitialize}) {
    infos[stage]->deleter(run->states.at(stage));
    run->states.erase(stage);
  }
}

void RunProgram() {
  XLA_FFI_ExecutionContext context = {};
  ExpectDone(Call(example_stages_instantiate_cpu, kInstantiate, &context));
  void* const plan = context.states.at(kInstantiate);
  for (int64_t run = 1; run <= 3; ++run) {
    context.run = run;
    context.device = static_cast<int32_t>(run % 2);
    // Arrays have no memory yet.
    ExpectDone(Call(example_stages_prepare_cpu, kPrepare, &context));
    ExpectDone(Call(example_stages_initialize_cpu, kInitialize, &context));
    float x[] = {1, static_cast<float>(run)}, y[] = {0, 0};
    ExpectDone(Call(example_stages_execute_after_all, kExecute, &context,
                    /*factor=*/3, x, y));
    Expect(y[0] == 3 && y[1] == 3 * run, "expected 3 * x",
           std::to_string(y[1]));
    End(&context);
    Expect(context.states.at(kInstantiate) == plan, "expected one plan", "two");
  }
  example_stages_instantiate_type_info_cpu()->deleter(plan);
}

void RunInWrongOrder() {
  XLA_FFI_ExecutionContext context = {};
  float x[] = {1, 2}, y[] = {0, 0};
  const auto execute = [&] {
    return Call(example_stages_execute_after_all, kExecute, &context, 3, x, y);
  };
  ExpectError(Call(example_stages_prepare_cpu, kPrepare, &context), "no state");
  ExpectDone(Call(example_stages_instantiate_cpu, kInstantiate, &context));
  ExpectError(Call(example_stages_initialize_cpu, kInitialize, &context),
              "no state");
  ExpectDone(Call(example_stages_prepare_cpu, kPrepare, &context));
  ExpectError(execute(), "no state");
  ExpectDone(Call(example_stages_initialize_cpu, kInitialize, &context));
  ExpectError(Call(example_stages_initialize_cpu, kExecute, &context),
              "Wrong execution stage");
  context.device = 1;
  ExpectError(execute(), "another run or device was made ready");
  context.device = 0;
  ExpectDone(execute());
  End(&context);
  example_stages_instantiate_type_info_cpu()->deleter(
      context.states.at(kInstantiate));
}

void RefuseFactor() {
  XLA_FFI_ExecutionContext context = {};
  ExpectError(Call(example_stages_instantiate_cpu, kInstantiate, &context,
                   std::numeric_limits<float>::infinity()),
              "factor must be finite, got inf");
  Expect(context.states.empty(), "expected no state", "one");
}

}  // namespace

int main() {
  // XLA gives each type a number when it is registered.
  *example_stages_instantiate_type_id_cpu() = {1};
  *example_stages_prepare_type_id_cpu() = {2};
  *example_stages_initialize_type_id_cpu() = {3};
  RunProgram();
  RunInWrongOrder();
  RefuseFactor();
}
