// Our plugin in a program that has an OpenVINO of its own: a copy of the same version under another path, the same
// under another name as another version would have, and one that says that it is another version.
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>

#include "partitiontuner/support/file.h"
#include "plugins/openvino/runtime.h"
#include "test/testing/command.h"
#include "test/testing/test_data.h"

namespace pt::openvino::two_copies_test {
namespace {

namespace fs = std::filesystem;
using testing::CommandResult;

// "2026.4.1" of the one that the plugin was built with.
std::string VersionHere() {
  const std::string build = Runtime::Version();
  return build.substr(0, build.find('-'));
}

// "libopenvino.so.2641".
std::string NameHere() {
  for (const auto& entry : fs::directory_iterator(PT_OPENVINO_LIBRARIES)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("libopenvino.so")) return name;
  }
  FAIL("there is no OpenVINO in " PT_OPENVINO_LIBRARIES);
  return "";
}

// The same with another last digit.
std::string Other(std::string text) {
  text.back() = text.back() == '0' ? '1' : '0';
  return text;
}

void Replace(std::string& bytes, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = bytes.find(from, at)) != std::string::npos; at += to.size()) {
    bytes.replace(at, from.size(), to);
  }
}

// A copy of what a program needs that reads a model and runs it on the CPU device. Names and versions keep their
// lengths, so that the objects stay whole.
class Copy {
 public:
  explicit Copy(const std::string& library = NameHere(), const std::string& version = VersionHere()) {
    const std::string here = NameHere();
    for (const auto& entry : fs::directory_iterator(PT_OPENVINO_LIBRARIES)) {
      const std::string name = entry.path().filename().string();
      const bool needed = name == here || name.starts_with("libopenvino_c.so") || name.starts_with("libtbb") ||
                          name.starts_with("libopenvino_onnx_frontend.so") || name == "libopenvino_intel_cpu_plugin.so";
      if (!needed) continue;
      std::string bytes = ReadFile(entry.path().string(), 0).value();
      if (name.starts_with("libopenvino")) {
        Replace(bytes, here, library);
        Replace(bytes, VersionHere(), version);
      }
      std::ofstream(fs::path(folder_.path()) / (name == here ? library : name), std::ios::binary) << bytes;
    }
  }

  // What the program prints.
  std::string Run(const char* scope, const char* order) const {
    const CommandResult result =
        testing::RunCommand({std::string(PT_BINARY_DIR) + "/bin/test_two_copies", folder_.path(), scope, order,
                             std::string(PT_BINARY_DIR) + "/plugins"});
    INFO(result.out << result.err);
    CHECK(result.exit_code == 0);
    return result.out;
  }

 private:
  testing::TemporaryFolder folder_;
};

TEST_CASE("TwoCopies, OneOfTheSameNameThatIsThereFirstServesBoth", "[openvino]") {
  const Copy copy;
  for (const char* scope : {"local", "global"}) {
    INFO(scope);
    CHECK(copy.Run(scope, "first") == "theirs works\nours works\ntheirs works\n");
  }
}

TEST_CASE("TwoCopies, OneOfTheSameNameThatComesLaterLeavesOursAsItIs", "[openvino]") {
  CHECK(Copy().Run("local", "last") == "ours works\ntheirs works\nours works\ntheirs works\n");
}

TEST_CASE("TwoCopies, OneOfAnotherNameLivesBesideOurs", "[openvino]") {
  const Copy copy(Other(NameHere()));
  for (const char* order : {"first", "last"}) {
    INFO(order);
    const std::string before = std::string(order) == "last" ? "ours works\n" : "";
    CHECK(copy.Run("local", order) == before + "theirs works\nours works\ntheirs works\n");
  }
}

TEST_CASE("TwoCopies, AnotherVersionThatStandsBeforeOursIsRefused", "[openvino]") {
  const std::string other = Other(VersionHere());
  const Copy copy(Other(NameHere()), other);
  const std::string text = copy.Run("global", "first");
  CHECK(text.find("ours refused") != std::string::npos);
  CHECK(text.find("OpenVINO " + other) != std::string::npos);
  CHECK(text.find("ours works") == std::string::npos);
  CHECK(copy.Run("local", "first") == "theirs works\nours works\ntheirs works\n");
}

}  // namespace
}  // namespace pt::openvino::two_copies_test
