// A network measured, planned and run on a CUDA device, as the tools would.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/cost/profiled_costs.h"
#include "partitiontuner/exec/judge_plan.h"
#include "partitiontuner/planner/planner.h"
#include "partitiontuner/profiler/measure.h"
#include "partitiontuner/version.h"
#include "test/cuda/cuda_machine.h"
#include "test/testing/lock_folder.h"
#include "test/testing/test_data.h"

namespace pt::testing::profile_test {
namespace {

constexpr const char* kNetwork =
    "input x float32[8,16]\n"
    "const w float32[16,32] random 1\n"
    "const b float32[32] random 2\n"
    "const v float32[32,4] random 3\n"
    "h = Gemm(x, w, b) : float32[8,32]\n"
    "r = Relu(h) : float32[8,32]\n"
    "g = Sigmoid(r) : float32[8,32]\n"
    "m = Mul(r, g) : float32[8,32]\n"
    "o = MatMul(m, v) : float32[8,4]\n"
    "y = Softmax(o) : float32[8,4]\n"
    "output y\n";

// Branches that meet: convolutions in both layouts, with what follows them.
constexpr const char* kConvolutions =
    "input x float32[2,4,8,8]\n"
    "const u float32[8,4,3,3] random 1\n"
    "const v float32[8,8,1,1] random 2\n"
    "const w float32[12,16,3,3] random 3\n"
    "const b float32[8] random 4\n"
    "const c float32[12] random 5\n"
    "const d float32[12,4,1,1] random 6\n"
    "a = Conv(x, u, b) pads=[1,1,1,1] : float32[2,8,8,8]\n"
    "r = Relu(a) : float32[2,8,8,8]\n"
    "p = MaxPool(r) kernel_shape=[3,3] pads=[1,1,1,1] : float32[2,8,8,8]\n"
    "q = Conv(r, v, b) : float32[2,8,8,8]\n"
    "s = Relu(q) : float32[2,8,8,8]\n"
    "j = Concat(p, s) axis=1 : float32[2,16,8,8]\n"
    "k = Conv(j, w, c) pads=[1,1,1,1] : float32[2,12,8,8]\n"
    "l = Conv(x, d, c) : float32[2,12,8,8]\n"
    "m = Add(k, l) : float32[2,12,8,8]\n"
    "n = Relu(m) : float32[2,12,8,8]\n"
    "y = GlobalAveragePool(n) : float32[2,12,1,1]\n"
    "output y\n";

bool IsOnHost(const Platform& platform, const Candidate& candidate) {
  return platform.unit_class(candidate.unit_class).on_host();
}

MeasureOptions Fast() {
  MeasureOptions fast;
  fast.max_time_per_key = std::chrono::milliseconds(5);
  fast.max_noise = 0.5;
  fast.watch_hand_overs = false;
  return fast;
}

// most_groups: steps that compute, in the plan that is found.
void CheckNetwork(const char* text, int64_t most_groups) {
  const CudaLab lab;
  {
    const CudaMachine machine(lab, text);
    const OwnLockFolder locks;
    const TemporaryFolder folder;
    ProfileDb db = ProfileDb::Open(folder.path() + "/profile.db").value();
    const Graph& graph = *machine.graph;
    const Platform measured = MeasuredPlatform(*machine.machine);
    std::vector<Candidate> candidates = EnumerateCandidates(graph, measured, machine.machine->libraries());
    // The fake device is slow on the wall clock; so that it is used all the same, the host gets nothing.
    std::erase_if(candidates, [&](const Candidate& candidate) { return IsOnHost(measured, candidate); });
    const MeasureOptions fast = Fast();
    const auto report = MeasureProfile(graph, candidates, *machine.machine, db, fast, {});
    if (!report.ok()) FAIL(ToString(report.error()));
    CHECK(lab.gpu.pageable_copies() == 0);
    CHECK(report->measured > 0);
    CHECK(report->failed == 0);
    CHECK(report->missing == 0);

    Profile profile;
    profile.measurements = db.All().value();
    ProfiledCostsOptions options;
    options.library_versions = LibraryVersions(*machine.machine);
    options.allow_estimates = false;
    options.candidates = candidates;
    const auto costs = MakeProfiledCosts(graph, measured, std::move(profile), options);
    for (const Candidate& candidate : candidates) {
      if (!costs->OfStep(candidate).run) continue;
      CHECK(costs->OfStep(candidate).demand > 0.99);  // the fake device does one thing after the other
      CHECK(costs->OfStep(candidate).overhead.provenance == Provenance::kMeasured);
    }
    auto plan = FindPlanner("search").value()->make_plan({graph, measured, candidates, *costs}, nullptr);
    if (!plan.ok()) FAIL(ToString(plan.error()));
    plan->made_for.tool_version = kVersion;
    plan->made_for.libraries = LibraryVersions(machine.machine->libraries());
    plan->made_for.graph_hash = ToHex(GraphHash(graph));
    plan->made_for.platform = machine.machine->platform();
    // A launch takes the fake device a microsecond whatever it does, so fewer kernels than nodes are the faster plan.
    const auto groups = std::ranges::count_if(
        plan->steps, [](const Step& step) { return std::holds_alternative<RunGroup>(step.work); });
    CHECK(groups <= most_groups);
    const auto session = machine.Create(*plan);
    for (int run = 0; run < 2; ++run) CHECK(FaultOf(*session, static_cast<float>(run)) == "");
  }
  CHECK(lab.gpu.Violations().empty());
  CHECK(lab.gpu.Alive() == "");
}

}  // namespace

TEST_CASE("CudaProfile, ANetworkIsMeasuredPlannedAndRunOnTheDevice", "[cuda]") { CheckNetwork(kNetwork, 4); }

TEST_CASE("CudaProfile, AClockThatChangesWhileItIsMeasuredIsTold", "[cuda]") {
  CudaLab lab;
  const CudaMachine machine(lab, "input x float32[64]\ny = Relu(x) : float32[64]\noutput y\n");
  const OwnLockFolder locks;
  const TemporaryFolder folder;
  ProfileDb db = ProfileDb::Open(folder.path() + "/profile.db").value();
  const Platform measured = MeasuredPlatform(*machine.machine);
  const std::vector<Candidate> candidates = EnumerateCandidates(*machine.graph, measured, machine.machine->libraries());
  const auto slow_down = [&](const MeasureProgress& progress) {
    if (progress.unit_class == "cuda:0") lab.gpu.SetState(1410, 2619, 84, nvmlClocksThrottleReasonSwPowerCap);
  };
  const auto report = MeasureProfile(*machine.graph, candidates, *machine.machine, db, Fast(), slow_down);
  if (!report.ok()) FAIL(ToString(report.error()));
  REQUIRE(report->devices.size() == 1);
  const DeviceStates& states = report->devices.front();
  CHECK(states.device == "cuda:0");
  CHECK(states.first == DeviceState{1980, 2619, 40, {}});
  CHECK(states.last == DeviceState{1410, 2619, 84, {"power cap"}});
  CHECK(FaultOf(states) == "its clock changed between 1410 and 1980 MHz; it was throttled: power cap");
}

// Each convolution with the Relu behind it is one step.
TEST_CASE("CudaProfile, ConvolutionsAreMeasuredPlannedAndRunOnTheDevice", "[cuda]") { CheckNetwork(kConvolutions, 9); }

}  // namespace pt::testing::profile_test
