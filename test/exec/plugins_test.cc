// Plugins: what they bring to a machine, why they are refused, and that nothing they throw leaves them as an exception.
// The shared objects are built from test/testing/plugins/test_plugin.cc.
#include <dlfcn.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "lib/exec/plugin_guard.h"
#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/exec/machine.h"
#include "partitiontuner/graph/graph_text.h"
#include "partitiontuner/onnx/infer_shapes.h"
#include "test/testing/kernel_bench.h"
#include "test/testing/run_candidate.h"
#include "test/testing/telling_library.h"
#include "test/testing/test_data.h"
#include "test/testing/test_machine.h"

namespace pt::testing::plugins_test {
namespace {

namespace fs = std::filesystem;

std::string ObjectOf(const std::string& plugin) {
  return std::string(PT_BINARY_DIR) + "/test-plugins/" + plugin + ".so";
}

// A folder that holds just these plugins.
class Folder {
 public:
  explicit Folder(const std::vector<std::string>& plugins) {
    for (const std::string& plugin : plugins) fs::copy_file(ObjectOf(plugin), file(plugin + ".so"));
  }
  void Write(const std::string& name, const std::string& text) const { std::ofstream(file(name)) << text; }
  std::string file(const std::string& name) const { return folder_.path() + "/" + name; }
  const std::string& path() const { return folder_.path(); }
  MachineOptions Options(std::vector<std::string> named = {}) const {
    MachineOptions options;
    options.max_cores = 1;
    options.plugin_paths = {folder_.path()};
    options.plugins = std::move(named);
    return options;
  }

 private:
  TemporaryFolder folder_;
};

bool IsLoaded(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (handle != nullptr) dlclose(handle);
  return handle != nullptr;
}

Graph SmallGraph() { return ParseGraph("input x float32[4]\ny = Relu(x)\noutput y\n").value(); }

TEST_CASE("Plugin, BringsItsLibraryAndItsDevice", "[exec][plugin]") {
  const Folder folder({"good"});
  const auto machine = Machine::Make(folder.Options()).value();
  REQUIRE(machine->plugins().size() == 1);
  const PluginReport& report = machine->plugins()[0];
  CHECK(report.name == "good");
  CHECK(report.refused == "");
  CHECK(report.libraries == std::vector<std::string>{"test-plugin"});
  CHECK(report.device_kinds == std::vector<std::string>{"widget"});
  CHECK(machine->library("test-plugin") != nullptr);
  const DeviceId widget = FindDevice(machine->platform(), "widget:0");
  REQUIRE(widget.valid());
  CHECK(machine->driver(widget).id() == widget);
  const auto candidates = EnumerateCandidates(SmallGraph(), machine->platform(), machine->libraries());
  CHECK(std::ranges::any_of(candidates, [](const Candidate& c) { return c.library == "test-plugin"; }));
  CHECK(machine->CheckPlugins().ok());
}

TEST_CASE("Plugin, StaysLoadedAsLongAsTheMachine", "[exec][plugin]") {
  const Folder folder({"good"});
  auto machine = Machine::Make(folder.Options()).value();
  CHECK(IsLoaded(folder.file("good.so")));
  machine.reset();
  CHECK_FALSE(IsLoaded(folder.file("good.so")));
}

TEST_CASE("Plugin, IsRefusedWithTheReason", "[exec][plugin]") {
  struct Case {
    std::string plugin, id, reason;
  };
  for (const Case& c : {Case{"no_entry", "plugin.entry", "exports no function pt_plugin_v1"},
                        Case{"other_abi", "plugin.abi", "version 2 of the plugin interface"},
                        Case{"other_build", "plugin.build", "a compiler of old"},
                        Case{"no_device", "plugin.no_device", "finds no device"},
                        Case{"broken_device", "widget.driver", "the widget's driver is too old"},
                        Case{"taken_name", "plugin.name", "library 'reference' has a name that is taken"},
                        Case{"throws_at_once", "plugin.exception", "threw out of its entry: not today"}}) {
    INFO(c.plugin);
    const Folder folder({c.plugin});
    const auto machine = Machine::Make(folder.Options());
    REQUIRE(machine.ok());  // nobody asked for it, so it is a line in a list
    REQUIRE((*machine)->plugins().size() == 1);
    CHECK((*machine)->plugins()[0].name == c.plugin);
    CHECK((*machine)->plugins()[0].refused.find(c.reason) != std::string::npos);
    CHECK((*machine)->library("test-plugin") == nullptr);
    CHECK((*machine)->platform().devices.size() == 1);

    const auto named = Machine::Make(folder.Options({c.plugin}));
    REQUIRE_FALSE(named.ok());
    CHECK(named.error().id == c.id);
    CHECK(named.error().device == c.plugin);
    CHECK(named.error().message.find(c.reason) != std::string::npos);
  }
}

TEST_CASE("Plugin, AbsentOrUnreadableFilesAreTyped", "[exec][plugin]") {
  const Folder folder({"good"});
  folder.Write("text.so", "no shared object");
  const auto absent = Machine::Make(folder.Options({"elsewhere"}));
  REQUIRE_FALSE(absent.ok());
  CHECK(absent.error().code == ErrorCode::kDeviceUnusable);
  CHECK(absent.error().id == "plugin.absent");
  CHECK(absent.error().message.find(folder.path()) != std::string::npos);
  const auto unreadable = Machine::Make(folder.Options({"text"}));
  REQUIRE_FALSE(unreadable.ok());
  CHECK(unreadable.error().code == ErrorCode::kDeviceUnusable);
  CHECK(unreadable.error().id == "plugin.load");
  CHECK(unreadable.error().file == folder.file("text.so"));
  CHECK(Machine::Make(folder.Options({"good"})).ok());
  CHECK(Machine::Make(folder.Options({"none"})).value()->plugins().empty());
}

TEST_CASE("Plugin, OfANameThatWasFoundBeforeIsRefused", "[exec][plugin]") {
  const Folder folder({"good"});
  fs::copy_file(ObjectOf("good"), folder.file("later.so"));
  const auto machine = Machine::Make(folder.Options()).value();
  REQUIRE(machine->plugins().size() == 2);
  CHECK(std::ranges::count_if(machine->plugins(), [](const PluginReport& r) { return r.refused.empty(); }) == 1);
}

TEST_CASE("Plugin, WhatItThrowsIsAnError", "[exec][plugin]") {
  const Folder folder({"throws"});
  const auto machine = Machine::Make(folder.Options({"throws"})).value();
  const Graph graph = SmallGraph();
  CHECK(EnumerateCandidates(graph, machine->platform(), machine->libraries()).size() > 0);
  const Status status = machine->CheckPlugins();
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code == ErrorCode::kInternal);
  CHECK(status.error().message.find("candidates are out") != std::string::npos);

  const Library* library = machine->library("test-plugin");
  REQUIRE(library != nullptr);
  const NodeId node(0u);
  const std::vector<Candidate> candidates = library->CandidatesFor(graph, machine->platform(), {&node, 1}, Precision());
  REQUIRE_FALSE(candidates.empty());
  CompileContext context{machine->platform(), machine->driver(kHostDevice), nullptr, machine->weights(), nullptr};
  const auto kernel = library->Compile(graph, candidates[0], {}, {}, context);
  REQUIRE_FALSE(kernel.ok());
  CHECK(kernel.error().id == "plugin.exception");
  CHECK(kernel.error().message.find("Library::Compile") != std::string::npos);
}

TEST_CASE("ExamplePlugin, ComputesSoftsignOnEveryClassOfUnits", "[exec][plugin]") {
  const Folder folder({"softsign"});
  MachineOptions options = folder.Options({"softsign"});
  options.max_cores = 0;
  const auto machine = Machine::Make(options).value();
  const Library* library = machine->library("softsign");
  REQUIRE(library != nullptr);
  const Graph graph = ParseGraph("input x float32[3,5,7]\ny = Softsign(x) : float32[3,5,7]\noutput y\n").value();
  const std::vector<Tensor> inputs = {RandomTensor(DataType::kFloat32, {3, 5, 7}, 1)};
  size_t classes = 0;
  for (const Candidate& candidate : library->Candidates(graph, machine->platform(), Precision())) {
    const uint32_t width = machine->platform().unit_class(candidate.unit_class).cores;
    const auto outputs = RunCandidate(graph, machine->platform(), *library, candidate, inputs, width);
    REQUIRE(outputs.ok());
    const std::span<const float> x = inputs[0].values<float>(), y = (*outputs)[0].values<float>();
    REQUIRE(y.size() == 3 * 5 * 7);
    for (size_t i = 0; i < y.size(); ++i) CHECK(y[i] == x[i] / (1 + std::fabs(x[i])));
    ++classes;
  }
  CHECK(classes == machine->platform().unit_classes.size());
}

TEST_CASE("Machine, UsesTheDevicesThatWereNamed", "[exec][plugin]") {
  const Folder folder({"good"});
  MachineOptions options = folder.Options();
  options.devices = {"cpu"};
  CHECK(Machine::Make(options).value()->platform().devices.size() == 1);
  options.devices = {"cpu", "widget:0"};
  CHECK(Machine::Make(options).value()->platform().devices.size() == 2);
  options.devices = {"widget:1"};
  const auto refused = Machine::Make(options);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kDeviceUnusable);
  CHECK(refused.error().message.find("cpu, widget:0") != std::string::npos);
}

TEST_CASE("Machine, DescriptionsReachTheKindTheyName", "[exec][plugin]") {
  const Folder folder({"good"});
  folder.Write("widget.json", R"({"kind": "widget"})");
  folder.Write("unheard.json", R"({"kind": "abacus"})");
  MachineOptions options = folder.Options();
  options.platform_files = {folder.file("widget.json")};
  const auto machine = Machine::Make(options).value();
  CHECK(machine->platform().device(FindDevice(machine->platform(), "widget:0")).fingerprint == "widget 1");
  options.platform_files = {folder.file("unheard.json")};
  const auto refused = Machine::Make(options);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kInvalidInput);
  CHECK(refused.error().message.find("\"abacus\"; expected one of cpu, simulated, widget") != std::string::npos);
}

TEST_CASE("GuardedLibrary, PassesEveryQuestionOn", "[exec][plugin]") {
  const Graph graph = InferShapes(*ParseGraph("input x float32[4]\ny = Relu(x)\noutput y\n")).value();
  const Platform platform = MakeTestPlatform(1, false);
  KernelBench bench(platform);
  const auto faults = std::make_shared<FaultLog>();
  const auto guarded = MakeGuardedLibrary("test", std::make_unique<TellingLibrary>(), faults);
  CHECK(guarded->name() == "telling");
  CHECK(guarded->version() == "told");
  CHECK(NotPassedOn(*guarded, graph, platform, bench.context) == std::vector<std::string>{});
  CHECK(faults->first().ok());
}

TEST_CASE("SplitFolders, DropsEmptyOnes", "[exec][plugin]") {
  CHECK(SplitFolders("").empty());
  CHECK(SplitFolders("/a:/b c") == std::vector<std::string>{"/a", "/b c"});
  CHECK(SplitFolders(":/a::") == std::vector<std::string>{"/a"});
}

}  // namespace
}  // namespace pt::testing::plugins_test
