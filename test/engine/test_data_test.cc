#include "partitiontuner/engine/test_data.h"

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>

#include "test/testing/test_data.h"

namespace pt::test_data_test {
namespace {

const std::string kScalar("\x10\x01\x22\x04\0\0\x80\x3f", 8);  // TensorProto of one float32, 1.0

class Folder {
 public:
  const std::string& path() const { return folder_.path(); }
  void Write(const std::string& name, const std::string& bytes) {
    std::ofstream(path() + "/" + name, std::ios::binary) << bytes;
  }

 private:
  testing::TemporaryFolder folder_;
};

TEST_CASE("TestData, InputsComeInOrderAndMayNotBeMissing", "[engine]") {
  Folder folder;
  folder.Write("input_0.pb", kScalar);
  folder.Write("input_2.pb", kScalar);
  const auto one = LoadTestInputs(folder.path(), 1);
  REQUIRE(one.ok());
  CHECK((*one)[0].values<float>()[0] == 1.0f);
  const auto three = LoadTestInputs(folder.path(), 3);
  REQUIRE(!three.ok());
  CHECK(three.error().code == ErrorCode::kInvalidInput);
  CHECK(ToString(three.error()).find("input_1.pb") != std::string::npos);
}

TEST_CASE("TestData, MissingOrBrokenExpectedOutputIsAnError", "[engine]") {
  Folder folder;
  folder.Write("output_0.pb", kScalar);
  REQUIRE(LoadExpectedOutputs(folder.path(), 1).ok());
  CHECK(!LoadExpectedOutputs(folder.path(), 2).ok());
  folder.Write("output_1.sample.json", R"({"name": "y", "shape": [2, 3], "stride": 4, "values": [0.5, 1]})");
  const auto both = LoadExpectedOutputs(folder.path(), 2);
  REQUIRE(both.ok());
  CHECK((*both)[1].sample == std::vector<double>{0.5, 1});
  CHECK((*both)[1].dims == std::vector<int64_t>{2, 3});
  for (const char* broken : {"", "{}", R"({"name": "y", "shape": [-2], "stride": 4, "values": [1]})",
                             R"({"name": "y", "shape": [2], "stride": 0, "values": [1]})",
                             R"({"name": "y", "shape": [2], "stride": 1, "values": []})",
                             R"({"name": "y", "shape": [2], "stride": 1, "values": ["1"]})"}) {
    folder.Write("output_1.sample.json", broken);
    const auto result = LoadExpectedOutputs(folder.path(), 2);
    REQUIRE(!result.ok());
    CHECK(result.error().code == ErrorCode::kInvalidInput);
  }
  folder.Write("output_1.pb", "garbage");  // the whole tensor counts where both are there
  CHECK(!LoadExpectedOutputs(folder.path(), 2).ok());
}

TEST_CASE("TestData, SetsAreFoundSorted", "[engine]") {
  Folder folder;
  for (const char* name : {"test_data_set_1", "test_data_set_0", "other"}) {
    std::filesystem::create_directory(folder.path() + "/" + name);
  }
  folder.Write("test_data_set_2", "a file");
  const auto sets = FindTestDataSets(folder.path());
  REQUIRE(sets.size() == 2);
  CHECK(sets[0].ends_with("test_data_set_0"));
  CHECK(FindTestDataSets(folder.path() + "/absent").empty());
  for (const char* name : {"test_data_set_10", "test_data_set_02", "test_data_set_9b", "test_data_set"}) {
    std::filesystem::create_directory(folder.path() + "/" + name);
  }
  std::vector<std::string> names;
  for (const std::string& set : FindTestDataSets(folder.path())) {
    names.push_back(set.substr(folder.path().size() + 1));
  }
  CHECK(names == std::vector<std::string>{"test_data_set", "test_data_set_0", "test_data_set_1", "test_data_set_02",
                                          "test_data_set_9b", "test_data_set_10"});
}

}  // namespace
}  // namespace pt::test_data_test
