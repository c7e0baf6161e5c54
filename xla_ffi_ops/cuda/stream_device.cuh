// SPDX-License-Identifier: Apache-2.0
// What comes before all other calls of CUDA's runtime library.
#ifndef XLA_FFI_OPS_CUDA_STREAM_DEVICE_CUH_
#define XLA_FFI_OPS_CUDA_STREAM_DEVICE_CUH_

#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

namespace xla_ffi_ops {

// Throws an error that names what failed.
inline void CheckCuda(const char* what, cudaError_t error) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // Or it would be reported to whoever asks next.
  throw std::runtime_error(std::string(what) + ": " + cudaGetErrorName(error) +
                           ": " + cudaGetErrorString(error));
}

// Allows all of CUDA's functions while it lives. While a thread records a
// graph, CUDA refuses calls that might disturb the recording, unless the thread
// says that they do not. The first call of any function may be such a call, as
// it may load kernels.
class RelaxedCapture {
 public:
  RelaxedCapture() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~RelaxedCapture() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

// Makes the device that `stream` belongs to the current one while it lives.
// A function that launches kernels makes one before it calls CUDA.
class StreamDevice {
 public:
  explicit StreamDevice(cudaStream_t stream) {
    CheckCuda("cudaGetDevice", cudaGetDevice(&previous_));
    id_ = previous_;
#if CUDART_VERSION >= 12080
    // A stream that records a graph does not tell: to ask ends the recording.
    cudaStreamCaptureStatus status;
    CheckCuda("cudaStreamIsCapturing", cudaStreamIsCapturing(stream, &status));
    if (status == cudaStreamCaptureStatusNone) {
      const cudaError_t error = cudaStreamGetDevice(stream, &id_);
      if (error == cudaErrorCallRequiresNewerDriver) {
        cudaGetLastError();  // Or it would be reported to whoever asks next.
        id_ = previous_;
      } else {
        CheckCuda("cudaStreamGetDevice", error);
      }
    }
#endif  // Else XLA's choice of the device is trusted, as with an old driver.
    if (id_ != previous_) CheckCuda("cudaSetDevice", cudaSetDevice(id_));
  }
  ~StreamDevice() {
    if (id_ != previous_) cudaSetDevice(previous_);
  }
  StreamDevice(const StreamDevice&) = delete;
  StreamDevice& operator=(const StreamDevice&) = delete;

  int id() const { return id_; }

 private:
  RelaxedCapture relaxed_;
  int id_ = 0;
  int previous_ = 0;
};

}  // namespace xla_ffi_ops

#endif  // XLA_FFI_OPS_CUDA_STREAM_DEVICE_CUH_
