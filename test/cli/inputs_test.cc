// What the tools are told of a model's inputs and its data: inputs with a default, links, databases that are not there.
#include <sys/stat.h>
#include <unistd.h>

#include "test/cli/tools.h"

namespace pt::testing::inputs_test {
namespace {

// y = x * k over 2; k has the default 10.
std::string Scaled() {
  GraphParts graph;
  graph.inputs = {ValueInfo("x", 1, {"2"}), ValueInfo("k", 1, {})};
  graph.outputs = {ValueInfo("y", 1, {"2"})};
  graph.initializers = {FloatTensor("k", {}, {10})};
  graph.nodes = {NodeBytes("Mul", {"x", "k"}, {"y"})};
  return ModelBytes(graph);
}

TEST_CASE("Tools, AnInputWithADefaultIsGivenByNameOrPositionOrLeftOut", "[cli]") {
  const Workplace place;
  const std::string model = place.Write("model.onnx", Scaled());
  const std::string both = place.path() + "/both", one = place.path() + "/one";
  for (const auto& [folder, result] :
       {std::pair(both, std::vector<float>{3, 6}), std::pair(one, std::vector<float>{10, 20})}) {
    place.Write(folder.substr(place.path().size() + 1) + "/input_0.pb", FloatFile({2}, {1, 2}));
    place.Write(folder.substr(place.path().size() + 1) + "/output_0.pb", FloatFile({2}, result));
  }
  const std::string three = place.Write("both/input_1.pb", FloatFile({}, {3}));
  const auto verify = [&](const std::vector<std::string>& arguments) {
    return RunTool("pt-run", Joined({model, "--db", "none"}, arguments));
  };
  CHECK(verify({"--verify", both}).exit_code == 0);
  CHECK(verify({"--verify", one}).exit_code == 0);
  CHECK(verify({"--verify", "reference", "--input", both}).exit_code == 0);

  // A plan for the model whose k is given keeps it an input: its default where nothing is said of it.
  const std::string plan = place.path() + "/plan.json", out = place.path() + "/out", db = place.path() + "/profile.db";
  const std::vector<std::string> given = {model, "--db", db, "--input", "k=@" + three};
  REQUIRE(RunTool("pt-profile", Joined(given, {"-q", "--max-time", "2ms"})).exit_code == 0);
  REQUIRE(RunTool("pt-plan", Joined(given, {"-q", "-o", plan})).exit_code == 0);
  CHECK(verify({"--plan", plan, "--verify", both}).exit_code == 0);
  CHECK(verify({"--plan", plan, "--verify", one}).exit_code == 0);
  CHECK(verify({"--constant", "k=3", "--verify", both}).exit_code == 0);

  const CommandResult unknown = verify({"--iterations", "1", "--input", "w=@" + three});
  CHECK(unknown.exit_code == 2);
  CHECK(unknown.err.find("no such input") != std::string::npos);
}

TEST_CASE("PtRun, DimsComeWithThePlan", "[cli]") {
  const Workplace place;
  const std::string model = place.Write("model.onnx", OneNodeModel("Relu", {"batch", "4"}));
  const std::string plan = place.path() + "/plan.json", db = place.path() + "/profile.db";
  const std::vector<std::string> sized = {model, "--db", db, "--dim", "batch=3", "-q"};
  REQUIRE(RunTool("pt-profile", Joined(sized, {"--max-time", "2ms"})).exit_code == 0);
  REQUIRE(RunTool("pt-plan", Joined(sized, {"-o", plan})).exit_code == 0);
  CHECK(RunTool("pt-run", {model, "--db", "none", "--plan", plan, "--iterations", "1"}).exit_code == 0);
  CHECK(RunTool("pt-run", {model, "--db", "none", "--plan", plan, "--verify", "reference"}).exit_code == 0);
  CHECK(RunTool("pt-plan", {model, "--db", "none", "--check", plan}).exit_code == 0);
  // What is said wins, and then the plan does not fit.
  CHECK(RunTool("pt-run", {model, "--db", "none", "--plan", plan, "--dim", "batch=2"}).exit_code == 7);
  // So does a plan of another model.
  const std::string other = place.Write("other.onnx", OneNodeModel("Relu", {"5"}));
  CHECK(RunTool("pt-run", {other, "--db", "none", "--plan", plan}).exit_code == 7);
}

TEST_CASE("Tools, ADatabaseThatIsNotThereIsNamedAndNotMade", "[cli]") {
  const Workplace place;
  const std::string model = place.Write("model.onnx", OneNodeModel("Relu", {"2", "4"})), db = place.path() + "/no.db";
  for (const char* tool : {"pt-plan", "pt-run"}) {
    const CommandResult refused = RunTool(tool, {model, "--db", db});
    CHECK(refused.exit_code == 3);
    CHECK(refused.err.find("there is no database " + db) != std::string::npos);
    CHECK(refused.err.find("pt-profile " + model + " --db " + db) != std::string::npos);
  }
  CHECK(RunTool("pt-profile", {"--validate", "--db", db}).exit_code == 3);
  CHECK_FALSE(std::filesystem::exists(db));
  // The default one need not be there.
  CommandOptions fresh;
  fresh.environment = {"HOME=" + place.path(), "XDG_CACHE_HOME="};
  CHECK(RunTool("pt-run", {model, "--iterations", "1"}, fresh).exit_code == 0);
  CHECK(RunTool("pt-plan", {model}, fresh).exit_code == 6);
  CHECK_FALSE(std::filesystem::exists(place.path() + "/.cache"));
}

TEST_CASE("Tools, SuggestedCommandsMeanTheSameModelAndMachine", "[cli]") {
  const Workplace place;
  const std::string model = place.Write("my model.onnx", OneNodeModel("Relu", {"batch", "4"}));
  const std::string db = place.path() + "/profile.db";
  place.Write("profile.db", "");
  const std::vector<std::string> call = {model, "--db",        db,         "--shape", "x=2x4", "--threads",
                                         "1",   "--libraries", "reference"};
  const std::string command = "pt-profile '" + model + "' --shape x=2x4 --libraries reference --threads 1 --db " + db;
  const CommandResult unplanned = RunTool("pt-plan", Joined(call, {"--no-estimates"}));
  INFO(unplanned.err);
  CHECK(unplanned.exit_code == 6);
  CHECK(unplanned.err.find(command) != std::string::npos);
  const CommandResult unmeasured = RunTool("pt-run", Joined(call, {"--iterations", "1"}));
  INFO(unmeasured.err);
  CHECK(unmeasured.err.find(command) != std::string::npos);
}

TEST_CASE("PtPlan, ChecksOfAnotherModelsPlanDoNotAdviseToOverwriteIt", "[cli]") {
  const Workplace place;
  const std::string model = place.Write("model.onnx", OneNodeModel("Relu", {"2", "4"}));
  const std::string other = place.Write("other.onnx", OneNodeModel("Relu", {"3", "4"}));
  const std::string plan = place.path() + "/other.ptplan.json", db = place.path() + "/profile.db";
  REQUIRE(RunTool("pt-profile", {model, "--db", db, "-q", "--max-time", "2ms"}).exit_code == 0);
  REQUIRE(RunTool("pt-plan", {model, "--db", db, "-q", "-o", plan}).exit_code == 0);
  CommandOptions here;
  here.folder = place.path();
  const CommandResult check = RunTool("pt-plan", {"other.onnx", "--db", "none", "--check", "other.ptplan.json"}, here);
  CHECK(check.exit_code == 7);
  INFO(check.out);
  CHECK(check.out.find("-o other-2.ptplan.json") != std::string::npos);
}

TEST_CASE("Tools, TypingErrorsAreAnsweredByWhatWasMeant", "[cli]") {
  const Workplace place;
  const std::string model = place.Write("model.onnx", OneNodeModel("Relu", {"2", "4"}));
  const auto answer = [&](const std::string& tool, const std::vector<std::string>& arguments) {
    const CommandResult result = RunTool(tool, Joined({model, "--db", "none"}, arguments));
    CHECK((result.exit_code == 2 || result.exit_code == 5));
    return result.err;
  };
  CHECK(answer("pt-profile", {"--bugdet", "10s"}).find("unknown flag --bugdet; did you mean --budget?") !=
        std::string::npos);
  CHECK(answer("pt-run", {"--planner", "serach"}).find("did you mean 'search'?") != std::string::npos);
  CHECK(answer("pt-run", {"--devices", "cpi"}).find("did you mean 'cpu'?") != std::string::npos);
  CHECK(answer("pt-run", {"--shape", "X=2x4"}).find("no such input") != std::string::npos);
  CHECK(answer("pt-run", {"--format", "jsn"}).find("did you mean \"json\"?") != std::string::npos);
}

TEST_CASE("Tools, MoreCoresThanThereAreAreRefused", "[cli]") {
  const Workplace place;
  const std::string model = place.Write("model.onnx", OneNodeModel("Relu", {"2", "4"}));
  for (const char* tool : {"pt-profile", "pt-plan", "pt-run"}) {
    const CommandResult refused = RunTool(tool, {model, "--db", "none", "--threads", "30000"});
    CHECK(refused.exit_code == 2);
    CHECK(refused.err.find("--threads 30000") != std::string::npos);
    CHECK(RunTool(tool, {model, "--db", "none", "--threads", "0"}).exit_code == 2);
  }
}

TEST_CASE("Tools, OutputsThatCannotBeWrittenAreSaidBeforeTheWork", "[cli]") {
  const Workplace place;
  for (const char* tool : {"pt-profile", "pt-plan"}) {
    // The model is not even looked at.
    const CommandResult refused = RunTool(tool, {"/nowhere.onnx", "-o", place.path() + "/no/such/file.json"});
    CHECK(refused.exit_code == 3);
    CHECK(refused.err.find("there is no folder") != std::string::npos);
    CHECK(RunTool(tool, {"/nowhere.onnx", "-o", place.path()}).err.find("it is a folder") != std::string::npos);
  }
}

TEST_CASE("Tools, LinksAndFoldersOfExternalDataAreAllowedByFlags", "[cli]") {
  const Workplace place;
  GraphParts parts;
  parts.inputs = {ValueInfo("x", 1, {"4"})};
  parts.initializers = {ExternalTensor("w", 1, {4}, {{"location", "data"}})};
  parts.nodes = {NodeBytes("Add", {"x", "w"}, {"y"})};
  parts.outputs = {ValueInfo("y", 1, {"4"})};
  const std::string model = place.Write("model/model.onnx", ModelBytes(parts));
  place.Write("model/real", std::string(16, '\0'));
  place.Write("elsewhere/data", std::string(16, '\0'));
  REQUIRE(::symlink("real", (place.path() + "/model/data").c_str()) == 0);
  const auto run = [&](const std::vector<std::string>& arguments) {
    return RunTool("pt-run", Joined({model, "--db", "none", "--iterations", "1"}, arguments));
  };
  const CommandResult refused = run({});
  CHECK(refused.exit_code == 3);
  CHECK(refused.err.find("--allow-links") != std::string::npos);
  CHECK(run({"--allow-links"}).exit_code == 0);
  CHECK(run({"--external-data", place.path() + "/elsewhere"}).exit_code == 0);
  CHECK(run({"--allow-links", "--external-limit", "16"}).exit_code == 0);
  CHECK(run({"--allow-links", "--external-limit", "15"}).exit_code == 11);
}

}  // namespace
}  // namespace pt::testing::inputs_test
