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
#include <stdexcept>
#include <string>
#include <tuple>

#include "xla_ffi_ops/cuda/row_threads.cuh"

namespace xla_ffi_ops {

// Throws an error that names what failed.
inline void CheckCuda(const char* what, cudaError_t error) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // Or it would be reported to whoever asks next.
  throw std::runtime_error(std::string(what) + ": " + cudaGetErrorName(error) +
                           ": " + cudaGetErrorString(error));
}

// Makes the device that `stream` belongs to the current one while it lives.
class StreamDevice {
 public:
  explicit StreamDevice(cudaStream_t stream) {
    CheckCuda("cudaGetDevice", cudaGetDevice(&previous_));
    id_ = previous_;
#if CUDART_VERSION >= 12080  // Before, XLA's choice of the device is trusted.
    CheckCuda("cudaStreamGetDevice", cudaStreamGetDevice(stream, &id_));
#endif
    if (id_ != previous_) CheckCuda("cudaSetDevice", cudaSetDevice(id_));
  }
  ~StreamDevice() {
    if (id_ != previous_) cudaSetDevice(previous_);
  }
  StreamDevice(const StreamDevice&) = delete;
  StreamDevice& operator=(const StreamDevice&) = delete;

  int id() const { return id_; }

 private:
  int id_ = 0;
  int previous_ = 0;
};

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
  // While this thread records a graph, CUDA refuses whatever might disturb the
  // recording unless it is told that it does not.
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  cudaThreadExchangeStreamCaptureMode(&mode);
  int value = 0;
  const cudaError_t error = compute(&value);
  cudaThreadExchangeStreamCaptureMode(&mode);
  CheckCuda("device query", error);
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

// How many clusters of the shape run on the device at once; 0 if it cannot run
// one, or if the kernel was compiled for devices that have none.
inline int ActiveClusters(const StreamDevice& device, const void* kernel,
                          const LaunchShape& shape) {
  const auto key =
      std::tuple(device.id(), kernel, shape.cluster,
                 shape.block.x * shape.block.y, shape.shared_bytes);
  return internal::Cached(key, [&](int* count) {
    *count = 0;
    int major = 0;
    cudaError_t error = cudaDeviceGetAttribute(
        &major, cudaDevAttrComputeCapabilityMajor, device.id());
    if (error != cudaSuccess) return error;
    cudaFuncAttributes attributes;
    error = cudaFuncGetAttributes(&attributes, kernel);
    if (error != cudaSuccess) return error;
    if (major < 9 || attributes.ptxVersion < 90) return cudaSuccess;
    error = cudaFuncSetAttribute(
        kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    if (error != cudaSuccess) return error;
    const internal::LaunchConfig config(shape, nullptr);
    if (cudaOccupancyMaxActiveClusters(count, kernel, &config) != cudaSuccess) {
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
