// SPDX-License-Identifier: Apache-2.0
// For the toolkit's header of this name: what the kernels use of it, with
// emulated devices. The environment variable EMULATED_DEVICE is the index of
// the one that all streams belong to.
#ifndef XLA_FFI_OPS_TESTS_CUDA_EMULATOR_INCLUDE_CUDA_RUNTIME_H_
#define XLA_FFI_OPS_TESTS_CUDA_EMULATOR_INCLUDE_CUDA_RUNTIME_H_

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "tests/cuda/emulator/emulator.h"

#define CUDART_VERSION 13000
#define __global__
#define __device__
#define __shared__
#define __grid_constant__
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))

struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {
  return {x, y, z, w};
}

inline int min(unsigned a, int b) { return std::min<int64_t>(a, b); }
inline float __frsqrt_rn(float value) {
  return static_cast<float>(1 / std::sqrt(static_cast<double>(value)));
}

template <typename T>
T __ldcs(const T* from) {
  return *from;
}
template <typename T>
void __stwb(T* to, T value) {
  *to = value;
}

inline void __syncthreads() {
  emulator::Barrier(0, blockDim.x * blockDim.y * blockDim.z);
}
template <typename T>
T __shfl_xor_sync(unsigned lanes, T value, int lane_mask) {
  if (lanes != 0xffffffffu) emulator::Fail("a shuffle of a part of a warp");
  static_assert(sizeof(T) <= 8);
  emulator::Shuffle(&value, sizeof(value), lane_mask);
  return value;
}

inline bool __all_sync(unsigned lanes, int value) {
  for (int mask = 16; mask > 0; mask /= 2) {
    value &= __shfl_xor_sync(lanes, value, mask);
  }
  return value;
}

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorCallRequiresNewerDriver = 36,
  cudaErrorLaunchFailure = 719,
  cudaErrorStreamCaptureUnsupported = 900,
  cudaErrorInvalidClusterSize = 912,
};
enum cudaDeviceAttr {
  cudaDevAttrMultiProcessorCount,
  cudaDevAttrComputeCapabilityMajor
};
enum cudaFuncAttribute { cudaFuncAttributeNonPortableClusterSizeAllowed };
enum cudaStreamCaptureMode {
  cudaStreamCaptureModeGlobal,
  cudaStreamCaptureModeRelaxed,
};
enum cudaStreamCaptureStatus {
  cudaStreamCaptureStatusNone,
  cudaStreamCaptureStatusActive,
};
enum cudaLaunchAttributeID { cudaLaunchAttributeClusterDimension };

using cudaStream_t = struct CUstream_st*;

struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  struct {
    struct {
      unsigned x, y, z;
    } clusterDim;
  } val;
};
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned numAttrs;
};
struct cudaFuncAttributes {
  int ptxVersion;
};

namespace emulator {

struct Device {
  int multiprocessors;
  int major;  // of the compute capability
  int max_cluster;
};
inline constexpr Device kDevices[] = {{4, 8, 0}, {4, 9, 16}, {40, 9, 8}};

// The index of the device. With an old driver, and while a stream is recorded,
// cudaStreamGetDevice does not tell, and it is the current one.
inline int DeviceId() {
  const char* const index = std::getenv("EMULATED_DEVICE");
  return index ? std::atoi(index) : 0;
}
inline bool HasOldDriver() { return std::getenv("EMULATED_OLD_DRIVER"); }
inline bool IsRecorded() { return std::getenv("EMULATED_RECORDING"); }

// Threads are recording graphs all the time, and no kernel has been loaded.
inline thread_local cudaStreamCaptureMode capture_mode =
    cudaStreamCaptureModeGlobal;
inline bool IsAllowed() { return capture_mode == cudaStreamCaptureModeRelaxed; }

// How many kernels have been launched.
inline std::atomic<int> launches = 0;

inline unsigned ClusterOf(const cudaLaunchConfig_t& config) {
  return config.numAttrs ? config.attrs[0].val.clusterDim.x : 1;
}

inline thread_local std::string last_error;

}  // namespace emulator

inline const char* cudaGetErrorName(cudaError_t) {
  return "cudaErrorLaunchFailure";
}
inline const char* cudaGetErrorString(cudaError_t) {
  return emulator::last_error.c_str();
}
inline cudaError_t cudaGetLastError() { return cudaSuccess; }

inline cudaError_t cudaGetDevice(int* device) {
  const bool is_current = emulator::HasOldDriver() || emulator::IsRecorded();
  *device = is_current ? emulator::DeviceId() : 0;
  return emulator::IsAllowed() ? cudaSuccess
                               : cudaErrorStreamCaptureUnsupported;
}
inline cudaError_t cudaSetDevice(int) { return cudaSuccess; }
inline cudaError_t cudaStreamIsCapturing(cudaStream_t,
                                         cudaStreamCaptureStatus* status) {
  *status = emulator::IsRecorded() ? cudaStreamCaptureStatusActive
                                   : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
inline cudaError_t cudaStreamGetDevice(cudaStream_t, int* device) {
  *device = -1;
  if (emulator::IsRecorded()) return cudaErrorStreamCaptureUnsupported;
  *device = emulator::HasOldDriver() ? -1 : emulator::DeviceId();
  return *device < 0 ? cudaErrorCallRequiresNewerDriver : cudaSuccess;
}
inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr name,
                                          int device) {
  *value = name == cudaDevAttrMultiProcessorCount
               ? emulator::kDevices[device].multiprocessors
               : emulator::kDevices[device].major;
  return cudaSuccess;
}
inline cudaError_t cudaThreadExchangeStreamCaptureMode(
    cudaStreamCaptureMode* mode) {
  std::swap(*mode, emulator::capture_mode);
  return cudaSuccess;
}
template <typename Args>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* count,
                                                          void (*)(Args),
                                                          int threads, size_t) {
  *count = 1024 / threads;
  return cudaSuccess;
}
inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes,
                                         const void*) {
  attributes->ptxVersion = 90;
  return cudaSuccess;
}
inline cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) {
  return cudaSuccess;
}
inline cudaError_t cudaOccupancyMaxActiveClusters(
    int* count, const void*, const cudaLaunchConfig_t* config) {
  const emulator::Device& device = emulator::kDevices[emulator::DeviceId()];
  const int cluster = emulator::ClusterOf(*config);
  if (cluster > device.max_cluster) return cudaErrorInvalidClusterSize;
  *count = std::max(1, device.multiprocessors / cluster);
  return cudaSuccess;
}

template <typename Args>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config,
                               void (*kernel)(Args), Args& args) {
  if (!emulator::IsAllowed()) return cudaErrorStreamCaptureUnsupported;
  const int max_cluster =
      std::max(1, emulator::kDevices[emulator::DeviceId()].max_cluster);
  if (emulator::ClusterOf(*config) > static_cast<unsigned>(max_cluster)) {
    emulator::last_error = "the device has no clusters of that size";
    return cudaErrorInvalidClusterSize;
  }
  ++emulator::launches;
  emulator::last_error =
      emulator::Run({config->gridDim, config->blockDim,
                     config->dynamicSmemBytes, emulator::ClusterOf(*config)},
                    [&] { kernel(args); });
  return emulator::last_error.empty() ? cudaSuccess : cudaErrorLaunchFailure;
}

#endif  // XLA_FFI_OPS_TESTS_CUDA_EMULATOR_INCLUDE_CUDA_RUNTIME_H_
