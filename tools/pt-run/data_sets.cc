#include "tools/pt-run/data_sets.h"

namespace pt::tools {

Result<DataSet> DataSets::Read(const std::string& folder) {
  PT_ASSIGN(ModelOptions options, ModelOptionsOf(flags_.common));
  const Result<GivenInputs> given = ReadInputs({folder});
  if (given.ok()) AddDims(*given, options);
  if (!ready_ || options.input_dims != dims_) {
    Result<ReadyModel> made = MakeReady(engine_, options, flags_.common.model, flags_, suite_, console_);
    if (!made.ok()) {
      const bool blame_model = given.ok() || made.error().code == ErrorCode::kUnsupported;
      return blame_model ? made.error() : given.error();
    }
    ready_ = std::move(*made);
    dims_ = options.input_dims;
  }
  if (!given.ok()) return given.error();
  const Graph& graph = *ready_->model->graph;
  DataSet data;
  data.name = folder;
  PT_ASSIGN(data.inputs, DataSetInputs(*ready_->model, *given, folder));
  const uint32_t requests = ready_->model->rewrites.requests;
  PT_ASSIGN(const auto expected, LoadExpectedOutputs(folder, graph.outputs().size() / requests));
  for (uint32_t i = 0; i < requests; ++i) data.expected.insert(data.expected.end(), expected.begin(), expected.end());
  return data;
}

}  // namespace pt::tools
