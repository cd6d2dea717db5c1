// Which shared objects the ONNX Runtime plugin takes, and what it says of the others.
#include "plugins/onnxruntime/loading.h"

#include <dlfcn.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>

#include "partitiontuner/exec/machine.h"
#include "plugins/onnxruntime/runtime.h"
#include "test/testing/test_data.h"

namespace pt::onnxruntime::loading_test {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

std::string Fake(const std::string& name) { return std::string(PT_BINARY_DIR) + "/test-plugins/" + name; }

// The message of the refusal, which must be one.
std::string WhyNot(const std::string& place) {
  const auto runtime = LoadRuntime(place);
  REQUIRE_FALSE(runtime.ok());
  CHECK(runtime.error().code == ErrorCode::kDeviceUnusable);
  CHECK(runtime.error().hint.find(kPlaceVariable) != std::string::npos);
  return runtime.error().message;
}

bool Says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_CASE("LoadRuntime, TakesAFileOrAFolder", "[onnxruntime]") {
  const fs::path file = PT_ONNXRUNTIME_LIBRARY;
  for (const fs::path& place : {file, file.parent_path()}) {
    const auto runtime = LoadRuntime(place.string());
    INFO((runtime.ok() ? "" : ToString(runtime.error())));
    REQUIRE(runtime.ok());
    CHECK(runtime->version.starts_with("1."));
    CHECK(runtime->api != nullptr);
  }
}

TEST_CASE("LoadRuntime, SaysWhyThereIsNone", "[onnxruntime]") {
  const TemporaryFolder folder;
  CHECK(Says(WhyNot(folder.path()), "no libonnxruntime.so in the folder"));
  CHECK(Says(WhyNot(folder.path() + "/absent.so"), "No such file"));
  std::ofstream(folder.path() + "/libonnxruntime.so.1") << "no shared object";
  CHECK(Says(WhyNot(folder.path()), "cannot be loaded"));
  CHECK(Says(WhyNot(Fake("no_onnxruntime.so")), "no OrtGetApiBase"));
}

TEST_CASE("LoadRuntime, RefusesAnOlderOneThanItNeeds", "[onnxruntime]") {
  const std::string why = WhyNot(Fake("old_onnxruntime.so"));
  CHECK(Says(why, "1.17.3 is older than 1." + std::to_string(kOldestApi)));
}

// The headers may be newer than the shared object: it is asked for what it has.
TEST_CASE("LoadRuntime, AsksForTheNewestApiThatBothHave", "[onnxruntime]") {
  const auto oldest = LoadRuntime(Fake("oldest_onnxruntime.so"));
  INFO((oldest.ok() ? "" : ToString(oldest.error())));
  REQUIRE(oldest.ok());
  CHECK(oldest->version == "1.18.0");
  CHECK(oldest->api_version == kOldestApi);
  CHECK(LoadRuntime(PT_ONNXRUNTIME_LIBRARY).value().api_version == ORT_API_VERSION);
}

// The plugin is listed with that reason, and named it is an error.
TEST_CASE("OnnxRuntimePlugin, IsRefusedWithTheReasonOfTheRuntime", "[onnxruntime]") {
  setenv(kPlaceVariable, Fake("old_onnxruntime.so").c_str(), 1);
  MachineOptions options;
  options.plugin_paths = {std::string(PT_BINARY_DIR) + "/plugins"};
  const auto machine = Machine::Make(options);
  options.plugins = {"onnxruntime"};
  const auto named = Machine::Make(options);
  unsetenv(kPlaceVariable);
  REQUIRE(machine.ok());
  const auto plugin = std::ranges::find((*machine)->plugins(), "onnxruntime", &PluginReport::name);
  REQUIRE(plugin != (*machine)->plugins().end());
  CHECK(Says(plugin->refused, "1.17.3 is older"));
  REQUIRE_FALSE(named.ok());
  CHECK(named.error().code == ErrorCode::kDeviceUnusable);
  CHECK(Says(named.error().message, "1.17.3 is older"));
}

// From the file to a stream of the device that a run of the tools would use.
TEST_CASE("OnnxRuntimePlugin, AFileMakesAProviderADevice", "[onnxruntime]") {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/ort.json";
  std::ofstream(file) << R"({"version": 1, "kind": "onnxruntime", "provider": "CPU", "streams": 3})";
  MachineOptions options;
  options.plugin_paths = {std::string(PT_BINARY_DIR) + "/plugins"};
  options.plugins = {"onnxruntime"};
  options.platform_files = {file};
  const auto machine = Machine::Make(options);
  INFO((machine.ok() ? "" : ToString(machine.error())));
  REQUIRE(machine.ok());
  const DeviceId device = FindDevice((*machine)->platform(), "onnxruntime:CPU");
  REQUIRE(device.valid());
  CHECK((*machine)->library("onnxruntime")->Serves((*machine)->platform(), device));
  DeviceDriver& driver = (*machine)->driver(device);
  CHECK(driver.MakeStream().value()->Synchronize(std::chrono::seconds(30)).value());
  std::ofstream(file) << R"({"version": 1, "kind": "onnxruntime", "provider": "CUDA"})";
  const auto refused = Machine::Make(options);
  REQUIRE_FALSE(refused.ok());
  CHECK(Says(refused.error().message, "there is no provider CUDA, only"));
}

// A program with an ONNX Runtime of its own, which all that it loads can see, has both side by side.
TEST_CASE("LoadRuntime, AnotherOneInTheProcessDoesNotMatter", "[onnxruntime]") {
  const TemporaryFolder folder;
  const std::string copy = folder.path() + "/libonnxruntime.so.1";
  fs::copy_file(PT_ONNXRUNTIME_LIBRARY, copy);
  void* const theirs = dlopen(copy.c_str(), RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
  REQUIRE(theirs != nullptr);
  const auto their_base = reinterpret_cast<const OrtApiBase* (*)()>(dlsym(theirs, "OrtGetApiBase"));
  const OrtApi* const their_api = their_base()->GetApi(ORT_API_VERSION);
  OrtEnv* environment = nullptr;
  REQUIRE(their_api->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "theirs", &environment) == nullptr);
  auto ours = LoadRuntime(PT_ONNXRUNTIME_LIBRARY);
  REQUIRE(ours.ok());
  CHECK(ours->api != their_api);
  // Ours has an environment and threads of its own, and ends before theirs.
  const auto runtime = std::make_shared<const OrtRuntime>(std::move(*ours));
  const auto providers = runtime->Providers();
  REQUIRE(providers.ok());
  CHECK(std::ranges::count(*providers, "CPUExecutionProvider") == 1);
  their_api->ReleaseEnv(environment);
}

}  // namespace
}  // namespace pt::onnxruntime::loading_test
