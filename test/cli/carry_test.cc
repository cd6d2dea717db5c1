// pt-run --carry: runs in a row in which outputs become inputs.
#include <catch2/catch_test_macros.hpp>

#include "partitiontuner/engine/npy.h"
#include "test/cli/tools.h"

namespace pt::testing::carry_test {
namespace {

// total = before + the sum of the rows of x; y = total * total.
std::string SummingModel(const Workplace& place) {
  GraphParts graph;
  graph.inputs = {ValueInfo("x", 1, {"rows", "2"}), ValueInfo("before=1", 1, {"2"}), ValueInfo("code", 7, {"2"})};
  graph.outputs = {ValueInfo("y", 1, {"2"}), ValueInfo("total", 1, {"2"})};
  graph.initializers = {Int64Tensor("rows_axis", {1}, {0})};
  graph.nodes = {NodeBytes("ReduceSum", {"x", "rows_axis"}, {"s"}, {IntAttribute("keepdims", 0)}),
                 NodeBytes("Cast", {"code"}, {"c"}, {IntAttribute("to", 1)}),
                 NodeBytes("Add", {"before=1", "s"}, {"t"}), NodeBytes("Add", {"t", "c"}, {"total"}),
                 NodeBytes("Mul", {"total", "total"}, {"y"})};
  return place.Write("model.onnx", ModelBytes(graph));
}

// Twelve sets whose inputs have one to three rows. Only the state of the first one is what belongs there.
void WriteSequence(const Workplace& place) {
  float total = 5;
  for (int set = 0; set < 12; ++set) {
    const std::string folder = "test_data_set_" + std::to_string(set) + "/";
    const int64_t rows = 1 + set % 3;
    const auto x = static_cast<float>(set + 1);
    total += x * static_cast<float>(rows);
    place.Write(folder + "input_0.pb", FloatFile({rows, 2}, std::vector<float>(static_cast<size_t>(2 * rows), x)));
    place.Write(folder + "input_1.pb", FloatFile({2}, set == 0 ? std::vector<float>{5, 5} : std::vector<float>{-7, 9}));
    place.Write(folder + "input_2.pb", Int64Tensor("", {2}, {0, 0}).bytes());
    place.Write(folder + "output_0.pb", FloatFile({2}, {total * total, total * total}));
    place.Write(folder + "output_1.pb", FloatFile({2}, {total, total}));
  }
}

}  // namespace

TEST_CASE("PtRun, CarryVerifiesASequenceWithItsOwnState", "[cli]") {
  const Workplace place;
  const std::string model = SummingModel(place);
  WriteSequence(place);
  const std::vector<std::string> verify = {model, "--db", "none", "--verify", place.path()};
  const CommandResult pass = RunTool("pt-run", Joined(verify, {"--carry", "total=before=1", "--twin"}));
  INFO(pass.out << pass.err);
  CHECK(pass.exit_code == 0);
  CHECK(pass.out.ends_with("PASS\n"));
  CHECK(pass.out.find("test_data_set_10\n") > pass.out.find("test_data_set_9\n"));
  CHECK(RunTool("pt-run", verify).exit_code == 8);  // each set by itself
}

TEST_CASE("PtRun, CarryRunsAsManyTimesInARowAsAsked", "[cli]") {
  const Workplace place;
  const std::string model = SummingModel(place);
  const std::string x = place.Write("x.pb", FloatFile({1, 2}, {1, 10})),
                    before = place.Write("before.pb", FloatFile({2}, {100, 1000})),
                    code = place.Write("code.pb", Int64Tensor("", {2}, {0, 1}).bytes());
  const std::string db = place.path() + "/profile.db";
  REQUIRE(RunTool("pt-profile", {model, "--dim", "rows=1", "--db", db}).exit_code == 0);
  const std::vector<std::string> carry = {model, "--db", db, "--carry", "total=before=1"};
  const std::vector<std::string> run = Joined(carry, {"--input", "x=@" + x, "--input", "code=@" + code, "--iterations",
                                                      "7", "--save-outputs", place.path() + "/out"});
  const auto total = [&] {
    const auto tensor = LoadNpy(place.path() + "/out/output_1.npy");
    REQUIRE(tensor.ok());
    return std::vector<float>{tensor->values<float>()[0], tensor->values<float>()[1]};
  };
  const CommandResult zeros = RunTool("pt-run", run);
  INFO(zeros.err);
  REQUIRE(zeros.exit_code == 0);
  CHECK(total() == std::vector<float>{7, 77});
  REQUIRE(RunTool("pt-run", Joined(run, {"--input", "before=1=@" + before})).exit_code == 0);
  CHECK(total() == std::vector<float>{107, 1077});
  REQUIRE(RunTool("pt-run", Joined(run, {"--dispatch", "operator"})).exit_code == 0);
  CHECK(total() == std::vector<float>{7, 77});

  const std::vector<std::string> verify =
      Joined(carry, {"--dim", "rows=3", "--verify", "reference", "--format", "json"});
  const Json four = Parsed(RunTool("pt-run", verify).out);
  CHECK(*four.find("pass")->as_bool());
  CHECK(four.find("data_sets")->as_array()->size() == 4);
  const Json six = Parsed(RunTool("pt-run", Joined(verify, {"--iterations", "6"})).out);
  CHECK(six.find("data_sets")->as_array()->size() == 6);
  const CommandResult compared = RunTool(
      "pt-run", Joined(carry, {"--dim", "rows=1", "--iterations", "3", "--compare", "dispatch:path,single:cpu"}));
  INFO(compared.err);
  CHECK(compared.exit_code == 0);
}

TEST_CASE("PtRun, CarryOfWhatDoesNotFitIsAUsageError", "[cli]") {
  const Workplace place;
  const std::string model = SummingModel(place);
  const auto refused = [&](const std::vector<std::string>& arguments, const std::string& why) {
    const CommandResult result =
        RunTool("pt-run", Joined({model, "--db", "none", "--dim", "rows=1", "--iterations", "1"}, arguments));
    INFO(result.err);
    CHECK(result.exit_code == 2);
    CHECK(result.err.find(why) != std::string::npos);
  };
  refused({"--carry", "nothing=before=1"}, "its outputs: y, total");
  refused({"--carry", "total=nothing"}, "its inputs: x, before=1, code");
  refused({"--carry", "total=x"}, "the output is float32[2], the input float32[1,2]");
  refused({"--carry", "total=code"}, "the input int64[2]");
  refused({"--carry", "total=before=1", "--carry", "y=before=1"}, "another output is carried into this input");
  refused({"--carry", "total"}, "is not OUT=IN");
  refused({"--carry", "total="}, "is not OUT=IN");
  refused({"--carry", "total=before=1", "--concurrency", "2"}, "--concurrency");
  refused({"--carry", "total=before=1", "--suite", place.path()}, "--suite");
  refused({"--carry", "total=before=1", "--rewrite", "requests=2"}, "--rewrite requests=2");
}

}  // namespace pt::testing::carry_test
