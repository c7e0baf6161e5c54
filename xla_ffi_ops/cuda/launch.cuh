// SPDX-License-Identifier: Apache-2.0
// Launches of kernels. Nothing here allocates or waits, so a launch can be
// recorded in a CUDA graph.
#ifndef XLA_FFI_OPS_CUDA_LAUNCH_CUH_
#define XLA_FFI_OPS_CUDA_LAUNCH_CUH_

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <tuple>

#include "xla_ffi_ops/cuda/stream_device.cuh"

namespace xla_ffi_ops {

inline int64_t CeilDiv(int64_t a, int64_t b) { return a / b + (a % b != 0); }

struct LaunchShape {
  dim3 grid;
  dim3 block;
  size_t shared_bytes = 0;
  int cluster = 1;  // how many blocks along x share their shared memory
};

namespace internal {

struct LaunchConfig : cudaLaunchConfig_t {
  LaunchConfig(const LaunchShape& shape, cudaStream_t launch_stream)
      : cudaLaunchConfig_t{} {
    gridDim = shape.grid;
    blockDim = shape.block;
    dynamicSmemBytes = shape.shared_bytes;
    stream = launch_stream;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = shape.cluster;
    attribute.val.clusterDim.y = 1;
    attribute.val.clusterDim.z = 1;
    attrs = &attribute;
    numAttrs = shape.cluster > 1 ? 1 : 0;
  }
  LaunchConfig(const LaunchConfig&) = delete;

  cudaLaunchAttribute attribute{};
};

// A value for each key, computed once. Other threads wait meanwhile.
template <typename Key, typename Compute>
int Cached(const Key& key, Compute compute) {
  static std::mutex mutex;
  static std::map<Key, int> values;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = values.find(key);
  if (found != values.end()) return found->second;
  int value = 0;
  CheckCuda("device query", compute(&value));
  return values[key] = value;
}

}  // namespace internal

inline int DeviceAttribute(const StreamDevice& device, cudaDeviceAttr name) {
  return internal::Cached(std::tuple(device.id(), name), [&](int* value) {
    return cudaDeviceGetAttribute(value, name, device.id());
  });
}

inline int Multiprocessors(const StreamDevice& device) {
  return DeviceAttribute(device, cudaDevAttrMultiProcessorCount);
}

// How many clusters of the shape (or blocks, where a cluster is one) run on the
// device at once; 0 if it cannot run one, or if the kernel was compiled for
// devices that have none.
template <typename Args>
int64_t ActiveClusters(const StreamDevice& device, void (*kernel)(Args),
                       const LaunchShape& shape) {
  const auto function = reinterpret_cast<const void*>(kernel);
  const int threads = shape.block.x * shape.block.y;
  const auto key = std::tuple(device.id(), function, shape.cluster, threads,
                              shape.shared_bytes);
  if (shape.cluster == 1) {
    // The runtime's count ignores hardware barriers. Each block needs one, and
    // some devices have only 16 for each multiprocessor.
    constexpr int kMaxBlocks = 16;
    const int blocks = internal::Cached(key, [&](int* count) {
      return cudaOccupancyMaxActiveBlocksPerMultiprocessor(
          count, kernel, threads, shape.shared_bytes);
    });
    return int64_t{Multiprocessors(device)} * std::min(blocks, kMaxBlocks);
  }
  return internal::Cached(key, [&](int* count) {
    *count = 0;
    int major = 0;
    cudaError_t error = cudaDeviceGetAttribute(
        &major, cudaDevAttrComputeCapabilityMajor, device.id());
    if (error != cudaSuccess) return error;
    cudaFuncAttributes attributes;
    error = cudaFuncGetAttributes(&attributes, function);
    if (error != cudaSuccess) return error;
    if (major < 9 || attributes.ptxVersion < 90) return cudaSuccess;
    error = cudaFuncSetAttribute(
        function, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    if (error != cudaSuccess) return error;
    const internal::LaunchConfig config(shape, nullptr);
    if (cudaOccupancyMaxActiveClusters(count, function, &config) !=
        cudaSuccess) {
      cudaGetLastError();  // A size that the device does not have.
      *count = 0;
    }
    return cudaSuccess;
  });
}

// Enqueues kernel(args). `name` is for the error.
template <typename Args>
void Launch(const char* name, void (*kernel)(Args), const LaunchShape& shape,
            cudaStream_t stream, Args args) {
  const internal::LaunchConfig config(shape, stream);
  CheckCuda(name, cudaLaunchKernelEx(&config, kernel, args));
}

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_CUDA_LAUNCH_CUH_
