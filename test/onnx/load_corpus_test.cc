// Every real model there is: it loads, or says why not.
#include <catch2/catch_test_macros.hpp>
#include <filesystem>

#include "partitiontuner/onnx/infer_shapes.h"
#include "test/testing/loading.h"
#include "test/testing/test_data.h"

namespace pt::load_corpus_test {
namespace {
namespace fs = std::filesystem;

ShapeOverrides AllOnes(const Graph& graph) {
  ShapeOverrides overrides;
  for (ValueId id : graph.inputs()) {
    const Value& input = graph.value(id);
    if (!input.type.ranked || input.type.is_static()) continue;
    std::vector<int64_t> dims;
    for (const Dim& d : input.type.dims) dims.push_back(d.known() ? d.value : 1);
    overrides.inputs[input.name] = dims;
  }
  return overrides;
}

TEST_CASE("LoadOnnx, RealModelsLoadAtOneOpset", "[onnx][slow]") {
  const std::string folder = testing::TestDataFolder("models");
  if (folder.empty()) SKIP("no model corpus; set PARTITIONTUNER_TEST_DATA");
  int models = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!entry.is_directory() || entry.path().filename().string().starts_with("onnx-suite")) continue;
    for (const std::string& path : testing::ModelsBelow(entry.path().string())) {
      INFO(path);
      LoadReport report;
      const auto graph = LoadOnnx(path, {}, &report);
      INFO((graph.ok() ? "" : ToString(graph.error())));
      REQUIRE(graph.ok());
      CHECK(graph->opset() == kTargetOpset);
      CHECK(report.warnings.empty());
      const auto specialised = InferShapes(*graph, AllOnes(*graph));
      REQUIRE(specialised.ok());
      CHECK(UnresolvedDims(*specialised).empty());
      CHECK(specialised->nodes().size() == graph->nodes().size());
      ++models;
    }
  }
  CHECK(models >= 29);
}

TEST_CASE("LoadOnnx, NetworksWithFixedInputsAreStaticThroughout", "[onnx][slow]") {
  const std::string folder = testing::TestDataFolder("models");
  if (folder.empty()) SKIP("no model corpus; set PARTITIONTUNER_TEST_DATA");
  for (const char* name : {"mnist-8", "mobilenetv2-fp32", "super-resolution-10", "ultraface-rfb-320", "yolox-nano",
                           "nanodet-m-320", "blazeface-back", "ppocr-v3-det", "kws-m-fp32", "ms-conv-add-relu",
                           "ms-simplified-ssd", "fsanet-1x1", "basic-pitch"}) {
    INFO(name);
    const auto graph = LoadOnnx(folder + "/" + name + "/model.onnx");
    REQUIRE(graph.ok());
    const auto specialised = InferShapes(*graph, AllOnes(*graph));
    REQUIRE(specialised.ok());
    for (const Value& value : specialised->values()) {
      INFO(value.name << " " << ToString(value.type));
      CHECK(value.type.is_static());
    }
  }
}

TEST_CASE("LoadOnnx, SuitesLoadOrSayWhyNot", "[onnx][slow]") {
  const std::string folder = testing::TestDataFolder("models");
  if (folder.empty()) SKIP("no model corpus; set PARTITIONTUNER_TEST_DATA");
  int loaded = 0, refused = 0;
  for (const char* suite : {"onnx-suite-node", "onnx-suite-simple", "onnx-suite-light"}) {
    for (const std::string& path : testing::ModelsBelow(folder + "/" + suite)) {
      INFO(path);
      const auto graph = LoadOnnx(path);
      if (graph.ok()) {
        ++loaded;
      } else {
        CHECK(graph.error().code == ErrorCode::kUnsupported);
        ++refused;
      }
    }
  }
  CHECK(loaded >= 1510);
  CHECK(refused <= 1);
}

}  // namespace
}  // namespace pt::load_corpus_test
