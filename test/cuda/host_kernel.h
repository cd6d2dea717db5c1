// Runs the text of a CUDA kernel on the host: the compiler that builds the tests compiles it as C++, with a prelude
// that stands for what NVRTC brings, and block after block is run. So kernels are tested as they are, without a GPU.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "plugins/cuda/programs.h"

namespace pt::testing {

class HostKernel {
 public:
  // The error holds what the compiler says. The same text is compiled once in a process. Thread-safe.
  static Result<std::shared_ptr<const HostKernel>> Compile(const std::string& text);
  ~HostKernel();
  HostKernel(const HostKernel&) = delete;
  HostKernel& operator=(const HostKernel&) = delete;

  // One caller at a time. The blocks one after the other. The threads of a block take turns at its barriers, those of a
  // kernel without barriers run to their end one after the other.
  void Run(uint32_t blocks, uint32_t threads, const cuda::Arguments& arguments) const;

 private:
  using Function = void (*)(unsigned blocks, unsigned threads, const cuda::Arguments*);
  static Result<std::shared_ptr<const HostKernel>> CompileAnew(const std::string& text);
  HostKernel(void* handle, Function run) : handle_(handle), run_(run) {}

  void* const handle_;
  const Function run_;
};

}  // namespace pt::testing
