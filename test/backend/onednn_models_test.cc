// Real models: whatever the oneDNN library offers for any of their nodes equals the reference
// library, on the values that really occur there.
#include <set>

#include "partitiontuner/candidate/signature.h"
#include "partitiontuner/onnx/load_onnx.h"
#include "partitiontuner/transform/passes.h"
#include "test/backend/onednn_lab.h"
#include "test/testing/test_data.h"

namespace pt::onednn_lab::onednn_models_test {
namespace {

void CheckModel(const std::string& path) {
  Result<Graph> loaded = LoadOnnx(path);
  if (!loaded.ok()) FAIL(ToString(loaded.error()));
  ShapeOverrides ones;
  for (ValueId input : loaded->inputs()) {
    const Value& value = loaded->value(input);
    if (value.type.is_static()) continue;
    for (const Dim& dim : value.type.dims) ones.inputs[value.name].push_back(dim.known() ? dim.value : 1);
  }
  Result<Graph> sized = InferShapes(*loaded, ones);
  if (!sized.ok()) FAIL(ToString(sized.error()));
  Result<Graph> planned = Simplify(*sized, {EvaluateNode, [](const Graph& graph) { return InferShapes(graph); }, {}});
  if (!planned.ok()) FAIL(ToString(planned.error()));
  Lab lab(std::move(*planned));
  std::set<std::string> seen;
  size_t failed = 0;
  for (const Candidate& candidate : lab.AllCandidates()) {
    const std::string key =
        WorkSignature(lab.graph(), candidate.nodes) + candidate.variant + std::to_string(candidate.unit_class.value);
    if (!seen.insert(key).second) continue;
    const double error = lab.Error(candidate, lab.Run(candidate));
    if (error < 1e-4) continue;
    ++failed;
    WARN(lab.OperatorsOf(candidate) << " " << candidate.variant << " from "
                                    << NodeLabel(lab.graph(), candidate.nodes[0]) << ": relative error " << error);
  }
  CHECK(failed == 0);
  CHECK(seen.size() > 20);
}

}  // namespace

TEST_CASE("OneDnn, CandidatesOfRealModelsEqualTheReference", "[backend][slow]") {
  for (const char* model : {"mobilenetv2-fp32", "ultraface-rfb-320", "yolox-nano", "nanodet-m-320", "blazeface-back",
                            "fsanet-1x1", "kws-m-fp32", "ms-conv-add-relu", "super-resolution-10"}) {
    DYNAMIC_SECTION(model) {
      const std::string folder = testing::TestDataFolder(std::string("models/") + model);
      if (folder.empty()) SKIP("no shared test data: " << model << " is not tested");
      CheckModel(folder + "/model.onnx");
    }
  }
}

}  // namespace pt::onednn_lab::onednn_models_test
