// tools/fleet: a folder of models, profiled by several tasks that share nothing but a folder.
#include <signal.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>

#include "partitiontuner/cost/profile.h"
#include "test/cli/tools.h"

namespace pt::testing::fleet_test {
namespace {

namespace fs = std::filesystem;

const std::string kFleet = std::string(PT_SOURCE_DIR) + "/tools/fleet/";
const std::string kProfiler = "PT_PROFILE=" + std::string(PT_BINARY_DIR) + "/bin/pt-profile";
const std::vector<std::string> kQuick = {"--max-time", "2ms", "--max-noise", "50%"};

// Eight models in two folders, some with operators of others.
class Zoo {
 public:
  Zoo() {
    place_.Branchy();
    for (const char* op : {"Relu", "Sigmoid", "Exp", "Sqrt"}) {
      place_.Write("zoo/" + std::string(op) + ".onnx", OneNodeModel(op, {"64", "64"}));
      place_.Write("zoo/deeper folder/" + std::string(op) + ".onnx", OneNodeModel(op, {"64", "32"}));
    }
    fs::rename(place_.path() + "/branchy", models() + "/branchy");
  }
  std::string models() const { return place_.path() + "/zoo"; }
  std::string results() const { return place_.path() + "/results"; }
  std::string path() const { return place_.path(); }
  void Write(const std::string& name, const std::string& bytes) const { place_.Write(name, bytes); }

  CommandResult Task(const std::string& shard, std::vector<std::string> environment = {}) const {
    CommandOptions options;
    options.environment = Joined({kProfiler}, environment);
    return RunCommand(Joined({kFleet + "profile-zoo", models(), results(), shard}, kQuick), options);
  }

  // That pt-profile finds nothing to measure in what was put together.
  void CheckComplete() const {
    const std::string whole = path() + "/whole.db";
    const CommandResult imported = RunTool("pt-profile", {"--import", results(), "--db", whole});
    INFO(imported.err);
    REQUIRE(imported.exit_code == 0);
    size_t models_seen = 0;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(models())) {
      if (entry.path().extension() != ".onnx") continue;
      CAPTURE(entry.path());
      const Json report = Parsed(RunTool("pt-profile", {entry.path().string(), "--db", whole, "--format", "json"}).out);
      CHECK(*report.find("measured")->as_int() == 0);
      CHECK(*report.find("missing")->as_int() == 0);
      ++models_seen;
    }
    CHECK(models_seen == 9);
  }

 private:
  Workplace place_;
};

TEST_CASE("Fleet, TasksOfAJobProfileAFolderOfModels", "[cli]") {
  const Zoo zoo;
  CHECK(zoo.Task("0/4").exit_code == 0);
  CHECK(zoo.Task("1/4").exit_code == 0);
  CHECK(zoo.Task("4", {"SLURM_ARRAY_TASK_ID=2"}).exit_code == 0);
  CHECK(zoo.Task("4", {"JOB_COMPLETION_INDEX=3"}).exit_code == 0);
  size_t rows = 0;
  for (int task = 0; task < 4; ++task) {
    const auto db = ProfileDb::Open(zoo.results() + "/task-" + std::to_string(task) + ".db");
    REQUIRE(db.ok());
    rows += db->All()->size();
  }
  zoo.CheckComplete();
  CHECK(ProfileDb::Open(zoo.path() + "/whole.db")->All()->size() == rows);  // nothing was measured twice
}

TEST_CASE("Fleet, ATaskThatDiedIsRunAgainAndNothingElseIsLost", "[cli]") {
  const Zoo zoo;
  zoo.Write("profiler", "#!/bin/sh\n[ $# -gt 0 ] && [ \"$(basename \"$1\")\" = Sqrt.onnx ] && kill -KILL $$\nexec " +
                            std::string(PT_BINARY_DIR) + "/bin/pt-profile \"$@\"\n");
  fs::permissions(zoo.path() + "/profiler", fs::perms::owner_all);
  CHECK(zoo.Task("0/2").exit_code == 0);
  const CommandResult died = zoo.Task("1/2", {"PT_PROFILE=" + zoo.path() + "/profiler"});
  CHECK(died.exit_code == 137);
  CHECK(died.err.find("Sqrt.onnx: pt-profile ended with 137") != std::string::npos);
  CHECK(zoo.Task("1/2").exit_code == 0);
  zoo.CheckComplete();
}

TEST_CASE("Fleet, AModelThatIsRefusedKeepsNoOtherBack", "[cli]") {
  const Zoo zoo;
  zoo.Write("zoo/0.onnx", "no model");
  for (const char* shard : {"0/2", "1/2"}) {
    const CommandResult result = zoo.Task(shard);
    CHECK(result.exit_code == 6);
    CHECK(result.err.find("0.onnx: pt-profile ended with 3") != std::string::npos);
  }
  fs::remove(zoo.models() + "/0.onnx");
  zoo.CheckComplete();
  CHECK(zoo.Task("2/2").exit_code == 6);  // there is none
}

TEST_CASE("Fleet, HostsOverSshHaveAPartEach", "[cli]") {
  const Zoo zoo;
  zoo.Write("ssh", "#!/bin/sh\n[ \"$1\" = down ] && exit 255\nexec sh -c \"$2\"\n");
  fs::permissions(zoo.path() + "/ssh", fs::perms::owner_all);
  CommandOptions options;
  options.environment = {kProfiler, "PT_SSH=" + zoo.path() + "/ssh"};
  const auto start = [&](const std::vector<std::string>& hosts) {
    return RunCommand(Joined(Joined({kFleet + "over-ssh", zoo.models(), zoo.results()}, hosts), Joined({"--"}, kQuick)),
                      options);
  };
  const CommandResult one_down = start({"up", "down"});
  CHECK(one_down.exit_code == 6);
  CHECK(one_down.err.find("down ended with 255") != std::string::npos);
  CHECK(start({"up", "too"}).exit_code == 0);
  zoo.CheckComplete();
}

}  // namespace
}  // namespace pt::testing::fleet_test
