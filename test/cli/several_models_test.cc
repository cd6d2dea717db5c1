// Several models on one command line: pt-profile, pt-plan and pt-run of two networks as one.
#include <catch2/catch_test_macros.hpp>
#include <filesystem>

#include "test/cli/tools.h"

namespace pt::testing::several_models_test {
namespace {

// y = x * weight over 4x4, with data.
std::string Scaling(const Workplace& place, const std::string& folder, float weight) {
  std::vector<float> x, y;
  for (int i = 0; i < 16; ++i) x.push_back(static_cast<float>(i)), y.push_back(static_cast<float>(i) * weight);
  GraphParts graph;
  graph.inputs = {ValueInfo("x", 1, {"rows", "4"})};
  graph.outputs = {ValueInfo("y", 1, {"rows", "4"})};
  graph.initializers = {FloatTensor("w", {4, 4}, {weight, 0, 0, 0, 0, weight, 0, 0, 0, 0, weight, 0, 0, 0, 0, weight})};
  graph.nodes = {NodeBytes("MatMul", {"x", "w"}, {"y"})};
  place.Write(folder + "/test_data_set_0/input_0.pb", FloatFile({4, 4}, x));
  place.Write(folder + "/test_data_set_0/output_0.pb", FloatFile({4, 4}, y));
  return place.Write(folder + "/scaling.onnx", ModelBytes(graph));
}

bool Says(const CommandResult& result, const std::string& text) {
  return (result.out + result.err).find(text) != std::string::npos;
}

// Two models in folders of their own, a profile of both of few samples, and a plan for them.
struct Pair {
  Pair() : relu(place.ReluPlusOne("relu")), scaling(Scaling(place, "scaling", 2)), db(place.path() + "/profile.db") {
    data = {"--input", "scaling=" + place.path() + "/scaling/test_data_set_0"};
    plan = place.path() + "/both.ptplan.json";
    profiled = RunTool("pt-profile", Joined(Joined({relu, scaling, "--db", db, "--max-time", "2ms"}, data), {"-q"}));
    INFO(profiled.out << profiled.err);
    REQUIRE(profiled.exit_code == 0);
    planned = RunTool("pt-plan", Joined({relu, scaling, "--db", db, "-o", plan, "--format", "json"}, data));
    INFO(planned.out << planned.err);
    REQUIRE(planned.exit_code == 0);
  }
  std::string DataOf(const std::string& folder) const { return place.path() + "/" + folder + "/test_data_set_0"; }
  CommandResult Run(const std::vector<std::string>& models, const std::vector<std::string>& more) const {
    return RunTool("pt-run", Joined(Joined(models, {"--plan", plan, "--db", db, "--iterations", "3"}), more));
  }

  Workplace place;
  std::string relu, scaling, db, plan;
  std::vector<std::string> data;
  CommandResult profiled, planned;
};

TEST_CASE("SeveralModels, ArePlannedTogetherAndComparedWithThemApart", "[cli]") {
  const Pair pair;
  const Json report = Parsed(pair.planned.out);
  CHECK(*report.find("model")->as_string() == pair.relu + " + " + pair.scaling);
  REQUIRE(report.find("baselines_ns")->find("in-turns") != nullptr);
  CHECK(*report.find("baselines_ns")->find("in-turns")->as_int() > 0);
  const CommandResult table = RunTool("pt-plan", Joined({pair.relu, pair.scaling, "--db", pair.db, "-v"}, pair.data));
  INFO(table.out << table.err);
  CHECK(Says(table, "in-turns"));
  CHECK(Says(table, " together: "));
  CHECK(Says(table, "scaling/y"));
}

TEST_CASE("SeveralModels, ThePlanFindsThemAndTheirDims", "[cli]") {
  const Pair pair;
  const CommandResult named = pair.Run({pair.relu, pair.scaling}, {"--format", "json"});
  INFO(named.out << named.err);
  REQUIRE(named.exit_code == 0);
  const CommandResult found = pair.Run({}, {"--format", "json"});
  INFO(found.out << found.err);
  REQUIRE(found.exit_code == 0);
  CHECK(*Parsed(found.out).find("steps")->as_int() == *Parsed(named.out).find("steps")->as_int());
  CHECK(RunTool("pt-plan", {"--check", pair.plan, "--db", pair.db}).exit_code == 0);
}

TEST_CASE("SeveralModels, AreFoundBesideAPlanThatMoved", "[cli]") {
  const Pair pair;
  const std::string folder = pair.place.path() + "/elsewhere", plan = folder + "/both.ptplan.json";
  std::filesystem::create_directories(folder);
  for (const std::string& file : {pair.relu, pair.scaling, pair.plan}) {
    std::filesystem::rename(file, folder + "/" + std::filesystem::path(file).filename().string());
  }
  const CommandResult found = RunTool("pt-run", {"--plan", plan, "--db", "none", "--iterations", "2"});
  INFO(found.out << found.err);
  CHECK(found.exit_code == 0);
  std::filesystem::remove(folder + "/scaling.onnx");
  const CommandResult lost = RunTool("pt-run", {"--plan", plan, "--db", "none"});
  CHECK(lost.exit_code == 3);
  CHECK(Says(lost, "the plan's model scaling was "));
}

TEST_CASE("SeveralModels, AreVerifiedEachByItsData", "[cli]") {
  const Pair pair;
  const std::string relu = "model=" + pair.DataOf("relu"), scaling = "scaling=" + pair.DataOf("scaling");
  const CommandResult pass = pair.Run({}, {"--verify", scaling + "," + relu, "--twin"});
  INFO(pass.out << pass.err);
  CHECK(pass.exit_code == 0);
  CHECK(Says(pass, "pass  model/y"));
  CHECK(Says(pass, "pass  scaling/y"));
  CHECK(pair.Run({}, {"--verify", "reference"}).exit_code == 0);
  CHECK(RunTool("pt-run", Joined({pair.relu, pair.scaling, "--db", "none", "--verify", "reference"}, pair.data))
            .exit_code == 0);

  pair.place.ReluPlusOne("relu", 0.5);
  const CommandResult fail = pair.Run({}, {"--verify", relu + "," + scaling});
  CHECK(fail.exit_code == 8);
  CHECK(Says(fail, "FAIL  model/y"));
  const CommandResult some = pair.Run({}, {"--verify", relu});
  CHECK(some.exit_code == 2);
  CHECK(Says(some, "no data of model scaling"));
  CHECK(pair.Run({}, {"--verify", "other=" + pair.DataOf("relu")}).exit_code == 2);
}

TEST_CASE("SeveralModels, OthersThanThePlansAreRefused", "[cli]") {
  const Pair pair;
  const std::vector<std::string> check = {"--check", pair.plan, "--db", pair.db};
  const CommandResult turned = RunTool("pt-plan", Joined(Joined({pair.scaling, pair.relu}, pair.data), check));
  CHECK(turned.exit_code == 7);
  CHECK(Says(turned, "models: plan made for model, scaling, now scaling, model"));
  CHECK(pair.Run({pair.scaling, pair.relu}, {}).exit_code == 7);
  CHECK(pair.Run({pair.relu}, {}).exit_code == 7);

  Scaling(pair.place, "scaling", 3);
  const CommandResult changed = RunTool("pt-plan", check);
  CHECK(changed.exit_code == 7);
  CHECK(Says(changed, "model scaling: "));
  const CommandResult run = pair.Run({}, {});
  CHECK(run.exit_code == 7);
  CHECK(Says(run, "model scaling: "));
}

TEST_CASE("SeveralModels, NamesAreChosenAndTellInputsApart", "[cli]") {
  const Workplace place;
  const std::string first = Scaling(place, "a", 1), second = Scaling(place, "b", 2);
  const std::string data = place.path() + "/a/test_data_set_0";
  const auto verify = [&](const std::vector<std::string>& words) {
    return RunTool("pt-run", Joined(words, {"--db", "none", "--verify", "reference"}));
  };
  CHECK(verify({"query=" + first, "key=" + second, "--input", "query=" + data, "--dim", "key/rows=2"}).exit_code == 0);
  CHECK(verify({first, second, "--input", "scaling=" + data, "--shape", "scaling-2/x=3x4"}).exit_code == 0);

  const CommandResult open = verify({"query=" + first, "key=" + second, "--input", "query=" + data});
  CHECK(open.exit_code == 2);
  CHECK(Says(open, "--dim key/rows=N"));
  const CommandResult whose = verify({first, second, "--input", data});
  CHECK(whose.exit_code == 2);
  CHECK(Says(whose, "--input NAME=DIR"));
  const CommandResult unknown = verify({first, second, "--input", "other=" + data});
  CHECK(unknown.exit_code == 2);
  CHECK(Says(unknown, "no model is called \"other\""));
  CHECK(Says(verify({"a=" + first, "a=" + second}), "two models are called \"a\""));
  CHECK(verify({"a=" + first}).exit_code == 2);
  CHECK(verify({first, "--input", "scaling=" + data}).exit_code == 2);
}

TEST_CASE("SeveralModels, WhatWorksOnOneSaysSo", "[cli]") {
  const Workplace place;
  const std::string first = Scaling(place, "a", 1), second = Scaling(place, "b", 2);
  for (const std::vector<std::string>& flags :
       {std::vector<std::string>{"--annotate", place.path() + "/noted.onnx"},
        std::vector<std::string>{"--export", "ort-streams", "-o", place.path() + "/streams.json"}}) {
    const CommandResult refused = RunTool("pt-plan", Joined({first, second, "--db", "none"}, flags));
    CHECK(refused.exit_code == 2);
    CHECK(Says(refused, "works on one model, and 2 were given"));
  }
}

TEST_CASE("SeveralModels, SizesAndRequestsAreMeasuredAsOfOne", "[cli]") {
  const Workplace place;
  const std::string first = Scaling(place, "a", 1), second = Scaling(place, "b", 2);
  const CommandResult sizes =
      RunTool("pt-run", {"a=" + first, "b=" + second, "--db", "none", "--iterations", "2", "--dim", "b/rows=2",
                         "--shape-set", "a/rows=1", "--shape-set", "a/rows=3"});
  INFO(sizes.out << sizes.err);
  CHECK(sizes.exit_code == 0);
  const std::string data = place.path() + "/a/test_data_set_0";
  const CommandResult twice =
      RunTool("pt-run", {first, second, "--db", "none", "--input", "scaling=" + data, "--input", "scaling-2=" + data,
                         "--rewrite", "requests=2", "--verify", "reference"});
  INFO(twice.out << twice.err);
  CHECK(twice.exit_code == 0);
}

}  // namespace
}  // namespace pt::testing::several_models_test
