// Sessions where a control group's quota pays for fewer cores than the machine has.
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "lib/exec/workers.h"
#include "test/exec/session_setting.h"

namespace pt::testing::quota_test {
namespace {

// Files as the system shows them to a process in a group with a quota.
class GroupFiles {
 public:
  explicit GroupFiles(const std::string& name) : root_(std::filesystem::path(PT_BINARY_DIR) / name) {
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_ / "proc/self");
    std::filesystem::create_directories(root_ / "sys/fs/cgroup/box");
    std::ofstream(root_ / "proc/self/cgroup") << "0::/box\n";
  }
  ~GroupFiles() { std::filesystem::remove_all(root_); }
  GroupFiles(const GroupFiles&) = delete;
  GroupFiles& operator=(const GroupFiles&) = delete;

  std::string root() const { return root_.string(); }
  void Grant(const std::string& quota) { std::ofstream(root_ / "sys/fs/cgroup/box/cpu.max") << quota << " 100000\n"; }

 private:
  std::filesystem::path root_;
};

Plan PlanOnAllCores(const Setting& setting, uint32_t cores) {
  const std::string all = "cpu[0-" + std::to_string(cores - 1) + "]";
  return MakeTestPlan(*setting.graph, *setting.machine, setting.Everywhere(all));
}

bool RunsAlone(Session& session) {
  std::vector<Buffer> inputs = MakeBuffers(session.graph(), session.graph().inputs(), 1);
  std::vector<Buffer> outputs = MakeBuffers(session.graph(), session.graph().outputs(), -1000);
  const Result<RunReport> report = session.Run(Lend(inputs), Lend(outputs), {});
  REQUIRE(report.ok());
  return report->alone;
}

}  // namespace

TEST_CASE("Quota, WhereItPaysForOneCoreTheCallerRunsAloneAndNobodySpins", "[exec]") {
  Setting setting(2, false);
  setting.graph = Diamond();
  Workers& workers = setting.machine->workers();
  workers.ReadQuota();
  const bool crowded = workers.crowded();
  GroupFiles files("test-quota-one");
  workers.SetRoot(files.root());
  files.Grant("150000");
  const Plan plan = PlanOnAllCores(setting, 2);
  const std::unique_ptr<Session> session = setting.Create(plan);
  CHECK(workers.crowded());
  CHECK(RunsRight(*session, 3));
  CHECK(RunsAlone(*session));
  CHECK_FALSE(RunsAlone(*setting.Create(plan, {.alone = AloneRuns::kNever})));
  // A plan that comes later is held to the quota of its time.
  files.Grant("max");
  REQUIRE(session->Replace(plan).ok());
  CHECK((crowded || !workers.crowded()));
  CHECK_FALSE(RunsAlone(*session));
  CHECK(RunsRight(*session, 4));
}

TEST_CASE("Quota, OfSomeCoresKeepsWaitsShortAndThePlanAsItIs", "[exec]") {
  Setting setting(4, false);
  setting.graph = Diamond();
  Workers& workers = setting.machine->workers();
  GroupFiles files("test-quota-some");
  workers.SetRoot(files.root());
  files.Grant("350000");
  const std::unique_ptr<Session> session = setting.Create(PlanOnAllCores(setting, 4));
  CHECK(workers.paid_cores() == 3);
  CHECK(workers.crowded());
  CHECK_FALSE(RunsAlone(*session));
  CHECK(RunsRight(*session, 2));
}

}  // namespace pt::testing::quota_test
