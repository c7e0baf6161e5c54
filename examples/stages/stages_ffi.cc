// SPDX-License-Identifier: Apache-2.0
// A handler of four stages, and the state that each but the last one makes.
#include <atomic>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>

#include "examples/scale/scale.h"
#include "xla_ffi_ops/ffi.h"

namespace stages {
namespace {

namespace ffi = xla::ffi;

using Vector = ffi::BufferR1<ffi::F32>;

// How often each stage was called.
std::atomic<int64_t> counts[4];

void Count(ffi::ExecutionStage stage) { ++counts[static_cast<int>(stage)]; }

// For as long as the program: it serves all devices and all runs, which may be
// at the same time. The others are for one run.
struct Plan {
  static inline ffi::TypeId id = {};
  float factor;
};
struct Request {
  static inline ffi::TypeId id = {};
  int64_t run;
};
struct Ready {
  static inline ffi::TypeId id = {};
  int64_t run;
  int32_t device;
};

[[maybe_unused]] xla_ffi_ops::Cpu Where(xla_ffi_ops::CpuContext) { return {}; }
[[maybe_unused]] xla_ffi_ops::Cuda Where(xla_ffi_ops::Cuda device) {
  return device;
}

// When a program is compiled. It has attributes: no device, no arrays.
xla_ffi_ops::StateOr<Plan> Instantiate(float factor) {
  Count(ffi::ExecutionStage::kInstantiate);
  if (!std::isfinite(factor)) {
    return ffi::Unexpected(ffi::Error::InvalidArgument(
        "factor must be finite, got " + std::to_string(factor)));
  }
  return std::make_unique<Plan>(Plan{factor});
}

// Before all calls of a run are initialized. It has no stream. Arrays have
// shapes, but no contents yet.
xla_ffi_ops::StateOr<Request> Prepare(Plan*, ffi::RunId run) {
  Count(ffi::ExecutionStage::kPrepare);
  return std::make_unique<Request>(Request{run.run_id});
}

// Before any call of the run is executed, and never while a CUDA graph is
// recorded. It has a stream; arrays still have no contents.
template <typename Device>
xla_ffi_ops::StateOr<Ready> Initialize(Device device, Plan*, Request* request,
                                       int32_t ordinal) {
  Count(ffi::ExecutionStage::kInitialize);
  scale::Load(Where(device));
  return std::make_unique<Ready>(Ready{request->run, ordinal});
}

template <typename Device>
ffi::Error Run(Device device, const Plan& plan, const Vector& x,
               ffi::Result<Vector> y) {
  Count(ffi::ExecutionStage::kExecute);
  const int64_t n = x.dimensions()[0], size = y->dimensions()[0];
  if (size != n) {
    return ffi::Error::InvalidArgument("y must have " + std::to_string(n) +
                                       " elements, as x, got " +
                                       std::to_string(size));
  }
  if (n > 0) {
    scale::Scale(Where(device), n, plan.factor, x.typed_data(),
                 y->typed_data());
  }
  return ffi::Error::Success();
}

// Maybe while a CUDA graph is recorded, and then not again when it is replayed:
// what is enqueued here may depend on the plan, not on the run.
template <typename Device>
ffi::Error Execute(Device device, Plan* plan, Request*, Ready* ready,
                   ffi::RunId run, int32_t ordinal, Vector x,
                   ffi::Result<Vector> y) {
  if (ready->run != run.run_id || ready->device != ordinal) {
    return ffi::Error(ffi::ErrorCode::kFailedPrecondition,
                      "another run or device was made ready");
  }
  return Run(device, *plan, x, y);
}

// On the CPU, XLA calls neither Prepare nor Initialize. A handler that asks for
// their states ends the process.
ffi::Error ExecuteOnCpu(xla_ffi_ops::CpuContext device, Plan* plan, Vector x,
                        ffi::Result<Vector> y) {
  return Run(device, *plan, x, y);
}

// The run and the device of a call. On CUDA, memory of the host is needed.
ffi::Error WhereOnCpu(ffi::RunId run, int32_t ordinal,
                      ffi::ResultBufferR0<ffi::S64> run_id,
                      ffi::ResultBufferR0<ffi::S64> device) {
  *run_id->typed_data() = run.run_id;
  *device->typed_data() = ordinal;
  return ffi::Error::Success();
}

}  // namespace

#define DEFINE_STATE(name, T)                                     \
  extern "C" ffi::TypeId* name##_type_id_cpu() { return &T::id; } \
  extern "C" const XLA_FFI_TypeInfo* name##_type_info_cpu() {     \
    static const auto info = ffi::MakeTypeInfo<T>();              \
    return &info;                                                 \
  }                                                               \
  static_assert(true, "a semicolon follows")

DEFINE_STATE(example_stages_instantiate, Plan);
DEFINE_STATE(example_stages_prepare, Request);
DEFINE_STATE(example_stages_initialize, Ready);

#define DEFINE_STAGES(platform, Device, execute)                          \
  XLA_FFI_DEFINE_HANDLER_SYMBOL(                                          \
      example_stages_instantiate_##platform, Instantiate,                 \
      ffi::Ffi::BindInstantiate().Attr<float>("factor"));                 \
  XLA_FFI_DEFINE_HANDLER_SYMBOL(                                          \
      example_stages_prepare_##platform, Prepare,                         \
      ffi::Ffi::BindPrepare().Ctx<ffi::State<Plan>>().Ctx<ffi::RunId>()); \
  XLA_FFI_DEFINE_HANDLER_SYMBOL(example_stages_initialize_##platform,     \
                                Initialize<Device>,                       \
                                ffi::Ffi::BindInitialize()                \
                                    .Ctx<Device>()                        \
                                    .Ctx<ffi::State<Plan>>()              \
                                    .Ctx<ffi::Prepared<Request>>()        \
                                    .Ctx<ffi::DeviceOrdinal>());          \
  XLA_FFI_DEFINE_HANDLER_SYMBOL(execute, Execute<Device>,                 \
                                ffi::Ffi::BindExecute()                   \
                                    .Ctx<Device>()                        \
                                    .Ctx<ffi::State<Plan>>()              \
                                    .Ctx<ffi::Prepared<Request>>()        \
                                    .Ctx<ffi::Initialized<Ready>>()       \
                                    .Ctx<ffi::RunId>()                    \
                                    .Ctx<ffi::DeviceOrdinal>()            \
                                    .Arg<Vector>()                        \
                                    .Ret<Vector>(),                       \
                                {ffi::Traits::kCmdBufferCompatible})

// With all states, on the CPU: for the test that makes call frames.
DEFINE_STAGES(cpu, xla_ffi_ops::CpuContext, example_stages_execute_after_all);
#ifdef XLA_FFI_OPS_CUDA
DEFINE_STAGES(cuda, xla_ffi_ops::Cuda, example_stages_execute_cuda);
#endif

XLA_FFI_DEFINE_HANDLER_SYMBOL(example_stages_execute_cpu, ExecuteOnCpu,
                              ffi::Ffi::BindExecute()
                                  .Ctx<xla_ffi_ops::CpuContext>()
                                  .Ctx<ffi::State<Plan>>()
                                  .Arg<Vector>()
                                  .Ret<Vector>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(example_where_cpu, WhereOnCpu,
                              ffi::Ffi::BindExecute()
                                  .Ctx<ffi::RunId>()
                                  .Ctx<ffi::DeviceOrdinal>()
                                  .Ret<ffi::BufferR0<ffi::S64>>()
                                  .Ret<ffi::BufferR0<ffi::S64>>());

extern "C" int64_t example_stages_count_cpu(int32_t stage) {
  return stage >= 0 && stage < 4 ? counts[stage].load() : -1;
}

}  // namespace stages
