// Runs the text of a CUDA kernel on the host: the compiler that builds the tests compiles it as C++, with a prelude
// that stands for what NVRTC brings, and block after block is run. So kernels are tested as they are, without a GPU.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plugins/cuda/programs.h"
#include "test/cuda/kernel_judge.h"

namespace pt::testing {

class HostKernel {
 public:
  // Watched kernels tell the judge of every access; they take twice the time to compile and many times to run. Others
  // tell it of barriers.
  enum class Build : uint8_t { kPlain, kWatched };

  // text: with the prelude of kernels. The error holds what the compiler says. The same text is compiled once in a
  // process. Thread-safe.
  static Result<std::shared_ptr<const HostKernel>> Compile(const std::string& text, Build build = Build::kPlain);
  // Many at once, in a small part of the time, for later calls of Compile.
  static Status CompileTogether(const std::vector<std::string>& texts, Build build = Build::kPlain);

  // One caller at a time. The blocks one after the other, the threads of a block in turns where they wait for each
  // other. left_out: the number of a barrier (host_source.h) at which no thread waits.
  void Run(uint32_t blocks, uint32_t threads, const cuda::Arguments& arguments, KernelJudge& judge,
           std::optional<uint32_t> left_out = std::nullopt) const;

  // Behind the prelude.
  const std::string& text() const { return text_; }

 private:
  struct Loaded;  // what was compiled together
  HostKernel(std::shared_ptr<const Loaded> loaded, size_t number, std::string text)
      : loaded_(std::move(loaded)), number_(number), text_(std::move(text)) {}

  const std::shared_ptr<const Loaded> loaded_;
  const size_t number_;
  const std::string text_;
};

}  // namespace pt::testing
