// The built tools, and small models to run them on.
#pragma once

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "partitiontuner/support/json.h"
#include "test/testing/command.h"
#include "test/testing/onnx_bytes.h"
#include "test/testing/test_data.h"

namespace pt::testing {

// PT_BINARY_DIR/bin/NAME.
inline CommandResult RunTool(const std::string& name, std::vector<std::string> arguments,
                             const CommandOptions& options = {}) {
  arguments.insert(arguments.begin(), std::string(PT_BINARY_DIR) + "/bin/" + name);
  return RunCommand(arguments, options);
}

inline std::string FloatFile(const std::vector<int64_t>& dims, const std::vector<float>& values) {
  return FloatTensor("", dims, values).bytes();
}

// A model of one node from x to y, both float32 of these dims (numbers or names).
inline std::string OneNodeModel(const std::string& op, const std::vector<std::string>& dims,
                                const std::string& domain = "") {
  GraphParts graph;
  graph.inputs = {ValueInfo("x", 1, dims)};
  graph.outputs = {ValueInfo("y", 1, dims)};
  graph.nodes = {NodeBytes(op, {"x"}, {"y"}, {}, "", domain)};
  ModelParts model;
  model.graph = GraphBytes(graph);
  if (!domain.empty()) model.opsets.emplace_back(domain, 1);
  return ModelBytes(model);
}

inline std::vector<std::string> Joined(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// A folder of one test, with models in it.
class Workplace {
 public:
  const std::string& path() const { return folder_.path(); }
  std::string Write(const std::string& name, const std::string& bytes) const {
    const std::filesystem::path file = std::filesystem::path(path()) / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << bytes;
    return file.string();
  }
  // The shipped example network.
  std::string Branchy() const {
    const std::string folder = path() + "/branchy", model = folder + "/model.onnx";
    RunTool("pt-make-example", {folder});
    return model;
  }
  // y = relu(x) + 1 over 2x3, with a test_data_set_0 whose expected output is off by `error` in one
  // element.
  std::string ReluPlusOne(const std::string& folder, float error = 0) const {
    GraphParts graph;
    graph.inputs = {ValueInfo("x", 1, {"2", "3"})};
    graph.outputs = {ValueInfo("y", 1, {"2", "3"})};
    graph.initializers = {FloatTensor("one", {1}, {1})};
    graph.nodes = {NodeBytes("Relu", {"x"}, {"r"}), NodeBytes("Add", {"r", "one"}, {"y"})};
    const std::string data = folder + "/test_data_set_0/";
    Write(data + "input_0.pb", FloatFile({2, 3}, {-1, 0, 1, 2, 3, -4}));
    Write(data + "output_0.pb", FloatFile({2, 3}, {1, 1, 2, 3, 4 + error, 1}));
    return Write(folder + "/model.onnx", ModelBytes(graph));
  }

 private:
  TemporaryFolder folder_;
};

// pt-run of the model with nothing but the library that lies, and how (test/testing/plugins).
inline CommandResult RunLying(const Workplace& place, const std::string& model, const std::string& lie,
                              const std::vector<std::string>& more) {
  const std::string plugins = place.path() + "/plugins";
  std::filesystem::create_directories(plugins);
  std::filesystem::copy_file(std::string(PT_BINARY_DIR) + "/test-plugins/lies.so", plugins + "/lies.so",
                             std::filesystem::copy_options::overwrite_existing);
  CommandOptions options;
  options.environment = {"PT_TEST_LIE=" + lie};
  return RunTool(
      "pt-run",
      Joined({model, "--db", "none", "--threads", "1", "--plugin-path", plugins, "--libraries", "test-plugin"}, more),
      options);
}

// What a tool printed as JSON.
inline Json Parsed(const std::string& text) {
  INFO(text);
  const auto json = ParseJson(text, "output");
  REQUIRE(json.ok());
  return *json;
}

}  // namespace pt::testing
