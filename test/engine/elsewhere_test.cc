// Planning for a machine that this is not, from its platform file; and engines on machines that somebody else made.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <fstream>

#include "partitiontuner/backend/devices.h"
#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/engine/engine.h"
#include "partitiontuner/platform/discover.h"
#include "test/testing/built_in.h"
#include "test/testing/onnx_bytes.h"
#include "test/testing/test_data.h"
#include "test/testing/test_machine.h"

namespace pt::testing::elsewhere_test {
namespace {

// A folder with y = relu(x) + x over float32[64] and platform files.
class Place {
 public:
  Place() {
    GraphParts graph;
    graph.inputs = {ValueInfo("x", 1, {"64"})};
    graph.outputs = {ValueInfo("y", 1, {"64"})};
    graph.nodes = {NodeBytes("Relu", {"x"}, {"r"}), NodeBytes("Add", {"r", "x"}, {"y"})};
    std::ofstream(model(), std::ios::binary) << ModelBytes(graph);
  }
  std::string model() const { return folder_.path() + "/model.onnx"; }
  std::string Write(const std::string& name, const Platform& platform) const {
    const std::string file = folder_.path() + "/" + name;
    std::ofstream(file) << WriteJson(ToJson(platform));
    return file;
  }
  std::string database() const { return folder_.path() + "/profile.db"; }

 private:
  TemporaryFolder folder_;
};

std::unique_ptr<Engine> EngineOf(const Place& place, const std::string& platform_file = "") {
  EngineOptions options;
  options.db_path = place.database();
  options.machine.plugins = {"none"};
  if (!platform_file.empty()) options.machine.platform_files = {platform_file};
  Result<std::unique_ptr<Engine>> engine = Engine::Make(options);
  if (!engine.ok()) FAIL(ToString(engine.error()));
  return std::move(engine).value();
}

// 96 cores that no machine of a test has.
Platform BigMachine() {
  Platform platform = MakeTestPlatform(96, false);
  platform.devices[0].fingerprint = "a machine with 96 cores";
  platform.devices[0].isa = HostInstructionSets();
  return platform;
}

TEST_CASE("PlatformFile, OfAnotherMachineIsPlannedForAndNotRunOn", "[engine]") {
  const Place place;
  const auto there = EngineOf(place, place.Write("big.json", BigMachine()));
  CHECK(PlatformFingerprint(there->machine().platform()) == PlatformFingerprint(BigMachine()));
  const auto model = there->Load(place.model(), {}).value();
  const auto widest = FindUnitClass(there->machine().platform(), "cpu/96");
  REQUIRE(widest.valid());
  CHECK(std::ranges::any_of(model->candidates, [&](const Candidate& c) { return c.unit_class == widest; }));
  const Plan plan = there->MakeDefaultPlan(*model).value();
  CHECK(PlatformFingerprint(plan.made_for.platform) == PlatformFingerprint(BigMachine()));

  for (const ErrorCode code :
       {there->MakeSession(*model, plan).error().code, there->MeasureModel(*model, {}, {}).error().code,
        there->machine().CheckRunsHere().error().code}) {
    CHECK(code == ErrorCode::kDeviceUnusable);
  }
  const std::string differences = there->machine().CheckRunsHere().error().message;
  CHECK(differences.find("big.json describes another machine") != std::string::npos);
  CHECK(differences.find("fingerprint of cpu: a machine with 96 cores, now ") != std::string::npos);

  const auto here = EngineOf(place);
  const auto same_model = here->Load(place.model(), {}).value();
  const auto session = here->MakeSession(*same_model, plan);
  REQUIRE_FALSE(session.ok());
  CHECK(session.error().code == ErrorCode::kStale);
  CHECK(session.error().message.find("a machine with 96 cores") != std::string::npos);
}

TEST_CASE("PlatformFile, OfThisMachineRunsHereWithItsSimulatedDevices", "[engine]") {
  const Place place;
  MachineOptions with_device;
  with_device.plugins = {"none"};
  with_device.platform_files = {std::string(PT_SOURCE_DIR) + "/profiles/sim-accelerator.json"};
  const Platform platform = Machine::Make(with_device).value()->platform();
  Platform elsewhere = platform;  // as written by a process that was given other cores of the same machine
  for (Resource& resource : elsewhere.resources) {
    if (resource.core) *resource.core += 1000;
  }
  const auto engine = EngineOf(place, place.Write("here.json", elsewhere));
  const Platform& adopted = engine->machine().platform();
  CHECK(engine->machine().CheckRunsHere().ok());
  CHECK(PlatformFingerprint(adopted) == PlatformFingerprint(platform));
  for (size_t i = 0; i < platform.resources.size(); ++i) CHECK(adopted.resources[i].core == platform.resources[i].core);

  const auto model = engine->Load(place.model(), {}).value();
  const auto session = engine->MakeSession(*model, engine->MakeDefaultPlan(*model).value()).value();
  std::vector<float> x(64, -2.0F), y(64);
  x[3] = 5;
  const LentTensor in{DataType::kFloat32, {64}, x.data(), 256}, out{DataType::kFloat32, {64}, y.data(), 256};
  REQUIRE(session->Run({&in, 1}, {&out, 1}).ok());
  CHECK(y[3] == 10);
  CHECK(y[4] == -2);
}

TEST_CASE("PlatformFile, OfAProcessorThatALibraryCannotSpeakForIsRefused", "[engine]") {
  if (!HasLibrary("onednn")) SKIP("this build has no library that asks its processor");
  const Place place;
  Platform platform = BigMachine();
  platform.devices[0].isa = "sve2";
  MachineOptions options;
  options.plugins = {"none"};
  options.platform_files = {place.Write("other.json", platform)};
  const auto refused = Machine::Make(options);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kDeviceUnusable);
  CHECK(refused.error().device == "onednn");
  CHECK(refused.error().message.find("(sve2)") != std::string::npos);
  options.libraries = {"reference"};
  CHECK(Machine::Make(options).ok());
}

TEST_CASE("PlatformFile, ThatContradictsTheOptionsIsRefused", "[engine]") {
  const Place place;
  MachineOptions options;
  options.plugins = {"none"};
  options.libraries = {"reference"};
  options.platform_files = {place.Write("big.json", BigMachine())};
  options.max_cores = 1;
  CHECK(Machine::Make(options).error().code == ErrorCode::kUsage);
  options.max_cores = 0;
  options.devices = {"cuda:0"};
  CHECK(Machine::Make(options).error().code == ErrorCode::kDeviceUnusable);
  options.devices = {};
  options.platform_files.push_back(std::string(PT_SOURCE_DIR) + "/profiles/sim-accelerator.json");
  CHECK(Machine::Make(options).error().code == ErrorCode::kUsage);
  Platform unknown = BigMachine();
  unknown.devices[0].kind = "abacus";
  options.platform_files = {place.Write("abacus.json", unknown)};
  const auto refused = Machine::Make(options);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kInvalidInput);
  CHECK(refused.error().message.find("\"abacus\"; expected one of cpu, simulated") != std::string::npos);
}

TEST_CASE("Engine, WorksOnAMachineThatTheApplicationMade", "[engine]") {
  const Place place;
  Platform platform = DiscoverHost({1}).value();
  std::vector<std::unique_ptr<DeviceDriver>> drivers;
  drivers.push_back(MakeHostDriver(kHostDevice));
  std::vector<std::unique_ptr<Library>> libraries;
  libraries.push_back(MakeReferenceLibrary());
  const std::shared_ptr<Machine> machine =
      Machine::Assemble(std::move(platform), std::move(drivers), std::move(libraries)).value();
  EngineOptions options;
  options.db_path = "none";
  const auto first = Engine::Make(machine, options).value(), second = Engine::Make(machine, options).value();
  CHECK(&first->machine() == machine.get());
  CHECK(&second->machine() == machine.get());
  const auto model = first->Load(place.model(), {}).value();
  const auto session = first->MakeSession(*model, first->MakeDefaultPlan(*model).value()).value();
  std::vector<float> x(64, 3.0F), y(64);
  const LentTensor in{DataType::kFloat32, {64}, x.data(), 256}, out{DataType::kFloat32, {64}, y.data(), 256};
  REQUIRE(session->Run({&in, 1}, {&out, 1}).ok());
  CHECK(y == std::vector<float>(64, 6.0F));
  CHECK(Engine::Make(std::shared_ptr<Machine>(), options).error().code == ErrorCode::kUsage);
}

}  // namespace
}  // namespace pt::testing::elsewhere_test
