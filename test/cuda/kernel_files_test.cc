// Compiled kernels in files: what is whole is used again, what is not is compiled anew.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>

#include "partitiontuner/support/file.h"
#include "test/cuda/cuda_lab.h"
#include "test/testing/test_data.h"

namespace pt::testing::kernel_files_test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCase = "input x float32[8]\na = Abs(x)\ny = Exp(a)\noutput y\n";

// Runs the case in what counts as a process of its own; how many kernels it compiled.
size_t CompiledBy(const FakeGpuOptions& options) {
  const CudaLab lab(options);
  CheckGroup(lab, *cuda::MakeOwnKernelsLibrary(), kCase);
  CHECK(lab.gpu.Violations().empty());
  return lab.gpu.compiled();
}

std::vector<fs::path> FilesIn(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  return files;
}

}  // namespace

TEST_CASE("CudaKernelFiles, AnotherProcessCompilesNothing", "[cuda]") {
  const TemporaryFolder folder;
  const FakeGpuOptions options{.kernel_folder = folder.path() + "/deeper/kernels"};
  CHECK(CompiledBy(options) == 1);
  CHECK(CompiledBy(options) == 0);
  FakeGpuOptions other = options;
  other.architecture = 80;
  CHECK(CompiledBy(other) == 1);
  other = options;
  other.driver_version += 10;
  CHECK(CompiledBy(other) == 1);
  CHECK(FilesIn(options.kernel_folder).size() == 3);
  CHECK(CompiledBy({}) == 1);  // without a folder
}

TEST_CASE("CudaKernelFiles, AFileThatWasChangedIsCompiledAnew", "[cuda]") {
  const TemporaryFolder folder;
  const FakeGpuOptions options{.kernel_folder = folder.path()};
  CHECK(CompiledBy(options) == 1);
  const fs::path file = FilesIn(folder.path()).at(0);
  const std::string whole = ReadFile(file.string(), 0).value();
  const size_t step = std::max<size_t>(whole.size() / 60, 1);
  std::vector<std::string> damaged = {"", whole + "x", "partitiontuner CUDA kernel 1\n"};
  for (size_t at = 0; at < whole.size(); at += step) {
    damaged.push_back(whole.substr(0, at));
    damaged.push_back(whole);
    damaged.back()[at] = static_cast<char>(damaged.back()[at] ^ 1);
  }
  for (const std::string& content : damaged) {
    REQUIRE(WriteFileAtomically(file.string(), content).ok());
    if (CompiledBy(options) != 1) FAIL("a damaged file was believed:\n" << content);
    CHECK(ReadFile(file.string(), 0).value() == whole);  // and written anew
  }
}

TEST_CASE("CudaKernelFiles, AFolderThatCannotBeWrittenIsNoFault", "[cuda]") {
  const TemporaryFolder folder;
  const std::string taken = folder.path() + "/a-file";
  REQUIRE(WriteFileAtomically(taken, "no folder").ok());
  CHECK(CompiledBy({.kernel_folder = taken}) == 1);
  CHECK(CompiledBy({.kernel_folder = taken + "/below"}) == 1);
}

}  // namespace pt::testing::kernel_files_test
