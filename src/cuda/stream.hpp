// The stream for all work on a device. There is one for each device, created on first use.
#pragma once

#include "nvidia/cudart.hpp"

namespace deepbench::cuda {

class Stream {
 public:
  // The stream of device `device`, which becomes the calling thread's current device.
  static Stream& of(int device);

  nvidia::cudaStream_t get() const { return stream_; }
  int device() const { return device_; }
  void make_current() const;  // makes its device the calling thread's current one
  void synchronize() const;   // throws plugin::Error for any error of the device so far

 private:
  explicit Stream(int device);
  int device_;
  nvidia::cudaStream_t stream_ = nullptr;
};

}  // namespace deepbench::cuda
