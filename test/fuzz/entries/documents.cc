// Profiles, platforms and workloads.
#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/cost/profile.h"
#include "partitiontuner/plan/check_plan.h"
#include "partitiontuner/planner/workload.h"
#include "partitiontuner/platform/discover.h"
#include "partitiontuner/support/hash.h"
#include "test/fuzz/entries/entries.h"
#include "test/fuzz/entry.h"
#include "test/testing/test_machine.h"

namespace pt::testing {
namespace {

void ExpectIsRefusal(const Error& error) { Expect(error.code != ErrorCode::kInternal, ToString(error)); }

}  // namespace

void ProfileEntry(std::string_view bytes) {
  const Result<Json> json = ParseJson(bytes, "profile");
  if (!json.ok() || json->as_object() == nullptr) return;
  Json whole = Json::MakeObject();
  for (const auto& [key, value] : *json->as_object()) {
    if (key != "digest") whole.Set(key, value);
  }
  whole.Set("digest", ToHex(HashText(WriteJson(whole, -1))));
  const Result<Profile> profile = ProfileFromJson(whole, "profile");
  if (!profile.ok()) return ExpectIsRefusal(profile.error());
  const Result<Json> text = ParseJson(ProfileText(*profile), "profile");
  Expect(text.ok(), "a profile that was read is written as what is no JSON");
  const Result<Profile> again = ProfileFromJson(*text, "profile");
  Expect(again.ok() && *again == *profile, "a profile differs once it is written and read");
}

void PlatformEntry(std::string_view bytes) {
  const Result<Json> json = ParseJson(bytes, "platform");
  if (!json.ok()) return;
  if (const Result<Platform> platform = PlatformFromJson(*json, "platform"); platform.ok()) {
    Expect(CheckPlatform(*platform).ok(), "a platform that was read is not valid");
    const Result<Platform> again = PlatformFromJson(ToJson(*platform), "platform");
    Expect(again.ok(), again.ok() ? "" : "a platform cannot be read once it is written: " + ToString(again.error()));
    Expect(PlatformFingerprint(*again) == PlatformFingerprint(*platform), "a platform differs once written and read");
  } else {
    ExpectIsRefusal(platform.error());
  }
  Platform host = MakeTestPlatform(2, false);
  const Status added = AddSimulatedDevice(host, *json, "platform");
  if (!added.ok()) return ExpectIsRefusal(added.error());
  const Status valid = CheckPlatform(host);
  Expect(valid.ok(), valid.ok() ? "" : "a simulated device makes the machine invalid: " + ToString(valid.error()));
}

void WorkloadEntry(std::string_view bytes) {
  const Result<Json> json = ParseJson(bytes, "workload");
  if (!json.ok()) return;
  const Result<Workload> workload = WorkloadFromJson(*json, "workload");
  if (!workload.ok()) return ExpectIsRefusal(workload.error());
  if (workload->graph.nodes().size() > 100 || workload->platform.units.size() > 20) return;
  PlanningProblem problem = workload->problem();
  problem.effort = 10;
  for (const char* name : {"heft", "search"}) {
    const Result<Plan> plan = FindPlanner(name).value()->make_plan(problem, nullptr);
    if (!plan.ok()) ExpectIsRefusal(plan.error());
  }
}

}  // namespace pt::testing
