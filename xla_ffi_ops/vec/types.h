// SPDX-License-Identifier: Apache-2.0
// Lists of the C++ types that kernels are compiled for. Each op names its own,
// for each device.
#ifndef XLA_FFI_OPS_VEC_TYPES_H_
#define XLA_FFI_OPS_VEC_TYPES_H_

#include <type_traits>

#include "xla_ffi_ops/vec/device.h"
#include "xla_ffi_ops/vec/float16.h"

namespace xla_ffi_ops {

template <typename... T>
struct Types {};

using FloatTypes = Types<Float16, BFloat16, float, double>;

// The types of rows that the kernels of an op take:
//
//   using RowTypes = DeviceTypes</*cpu=*/FloatTypes, /*cuda=*/FloatTypes>;
template <typename CpuTypes, typename CudaTypes>
struct DeviceTypes {
  template <typename Device>
  using On =
      std::conditional_t<std::is_same_v<Device, Cuda>, CudaTypes, CpuTypes>;
};

// The types of weights beside rows of T.
template <typename T>
using WeightTypes = std::conditional_t<std::is_same_v<T, Accumulator<T>>,
                                       Types<T>, Types<T, Accumulator<T>>>;

// Stands for a C++ type in a function argument.
template <typename T>
struct TypeTag {
  using type = T;
};

// The type that a tag stands for: `TypeOf<decltype(tag)>`.
template <typename Tag>
using TypeOf = typename std::remove_reference_t<Tag>::type;

// Calls fn(TypeTag<T>()) for each type of the list.
template <typename... T, typename Fn>
void ForEachType(Types<T...>, Fn fn) {
  (fn(TypeTag<T>()), ...);
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_VEC_TYPES_H_
