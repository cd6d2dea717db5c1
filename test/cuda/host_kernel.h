// Runs the text of a CUDA kernel on the host: the compiler that builds the tests compiles it as C++, with a prelude
// that stands for what NVRTC brings, and block after block is run. So kernels are tested as they are, without a GPU.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "plugins/cuda/programs.h"

namespace pt::testing {

class HostKernel {
 public:
  // text: with the prelude of kernels. The error holds what the compiler says. The same text is compiled once in a
  // process. Thread-safe.
  static Result<std::shared_ptr<const HostKernel>> Compile(const std::string& text);
  // Many at once, in a small part of the time, for later calls of Compile.
  static Status CompileTogether(const std::vector<std::string>& texts);

  // One caller at a time. The blocks one after the other. The threads of a block take turns at its barriers, those of a
  // kernel without barriers run to their end one after the other.
  void Run(uint32_t blocks, uint32_t threads, const cuda::Arguments& arguments) const;

 private:
  struct Loaded;  // what was compiled together
  HostKernel(std::shared_ptr<const Loaded> loaded, size_t number) : loaded_(std::move(loaded)), number_(number) {}

  const std::shared_ptr<const Loaded> loaded_;
  const size_t number_;
};

}  // namespace pt::testing
