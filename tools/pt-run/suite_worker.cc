// The child process of pt-run --suite: runs the cases that come as lines on standard input, answers
// each with a line on descriptor 3. A crash ends this process only.
#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "partitiontuner/onnx/tensor_proto.h"
#include "tools/pt-run/data_sets.h"
#include "tools/pt-run/rounding_noise.h"
#include "tools/pt-run/suite_case.h"
#include "tools/pt-run/suite_process.h"

namespace pt::tools {
namespace {

// The tests of single operators in the ONNX project are folders named test_...; whole networks are
// judged as outputs are by default.
bool IsOperatorTest(const std::string& name) {
  const size_t slash = name.rfind('/');
  return name.substr(slash == std::string::npos ? 0 : slash + 1).starts_with("test_");
}

std::string OneLine(const Error& error) {
  std::string text = error.message;
  if (text.find(error.node) == std::string::npos) text += " (" + error.node + ")";
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

CaseResult Refused(const Error& error) {
  return {error.code == ErrorCode::kUnsupported ? CaseOutcome::kUnsupported : CaseOutcome::kError, OneLine(error)};
}

// arange(n)/n in the input's type.
Result<std::vector<Datum>> LightInputs(const Graph& graph) {
  std::vector<Datum> inputs;
  for (const ValueId id : graph.inputs()) {
    const Value& value = graph.value(id);
    const auto dims = value.type.static_dims();
    if (!dims || value.type.type != DataType::kFloat32) {
      return MakeError(ErrorCode::kUnsupported, "suite.light_input",
                       "input \"" + value.name + "\" is " + ToString(value.type) + ", light cases need float32");
    }
    size_t count = 1;
    for (const int64_t dim : *dims) count *= static_cast<size_t>(dim);
    std::vector<float> values(count);
    for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i) / static_cast<float>(count);
    inputs.emplace_back(Tensor::Float32(*dims, values));
  }
  return inputs;
}

CaseResult Judged(const std::shared_ptr<const ReadyModel>& ready, const std::vector<Datum>& inputs,
                  const std::vector<ExpectedTensor>& expected, bool operator_test, const RunFlags& flags) {
  const Result<RunOutputs> outputs = RunOnce(*ready, inputs, nullptr);
  if (!outputs.ok()) return Refused(outputs.error());
  const auto verdicts = JudgeOutputs(*ready, outputs->values, expected, operator_test, flags, [&] {
    return MeasureRoundingNoise({{ready, inputs}}, {}, flags, CancelToken());
  });
  if (!verdicts.ok()) return {CaseOutcome::kError, OneLine(verdicts.error())};
  for (const OutputVerdict& verdict : *verdicts) {
    if (!verdict.comparison.equal)
      return {CaseOutcome::kFail, "output " + verdict.name + ": " + verdict.comparison.reason};
  }
  if (!outputs->twin_equal) return {CaseOutcome::kFail, "differs from the sequential twin"};
  return {CaseOutcome::kPass, ""};
}

CaseResult RunLightCase(Engine& engine, const SuiteCase& suite_case, const RunFlags& flags, const Console& console) {
  const auto options = ModelOptionsOf(flags.common);
  if (!options.ok()) return Refused(options.error());
  const auto file = OpenModel(suite_case.model, options->load);
  if (!file.ok()) return Refused(file.error());
  const auto ready = MakeReady(engine, **file, *options, flags, true, console);
  if (!ready.ok()) return Refused(ready.error());
  const auto inputs = LightInputs(*(*ready)->model->graph);
  if (!inputs.ok()) return Refused(inputs.error());
  auto tensor = LoadTensorProto(suite_case.light_output);
  if (!tensor.ok()) return {CaseOutcome::kError, OneLine(tensor.error())};
  std::vector<ExpectedTensor> expected(1);
  expected[0].dims = tensor->dims();
  expected[0].tensor = std::move(*tensor);
  if ((*ready)->model->graph->outputs().size() != 1) return {CaseOutcome::kError, "more outputs than expected ones"};
  return Judged(*ready, *inputs, expected, false, flags);
}

CaseResult RunCase(Engine& engine, const SuiteCase& suite_case, RunFlags flags, const Console& console) {
  flags.common.models = {suite_case.model};
  if (suite_case.data_sets.empty()) return RunLightCase(engine, suite_case, flags, console);
  DataSets sets(engine, flags, true, console);
  for (const std::string& folder : suite_case.data_sets) {
    const ModelFolder of_model{"", folder};
    const Result<DataSet> data = sets.Read({&of_model, 1});
    CaseResult result = data.ok()
                            ? Judged(sets.ready(), data->inputs, data->expected, IsOperatorTest(suite_case.name), flags)
                            : Refused(data.error());
    if (result.outcome == CaseOutcome::kPass) continue;
    if (suite_case.data_sets.size() > 1) result.reason = folder.substr(folder.rfind('/') + 1) + ": " + result.reason;
    return result;
  }
  return {CaseOutcome::kPass, ""};
}

bool Answer(const Json& json) {
  const std::string line = WriteJson(json, -1) + "\n";
  for (size_t sent = 0; sent < line.size();) {
    const ssize_t written = write(kAnswerDescriptor, line.data() + sent, line.size() - sent);
    if (written < 0) return false;
    sent += static_cast<size_t>(written);
  }
  return true;
}

}  // namespace

int ServeSuite(const RunFlags& flags, Console& console) {
  const Result<std::unique_ptr<Engine>> engine = MakeEngine(flags.common);
  if (!engine.ok()) {
    Answer(ToJson(engine.error()));
    return static_cast<int>(engine.error().code);
  }
  Answer(Json::MakeObject());  // ready
  for (std::string line; std::getline(std::cin, line);) {
    const auto json = ParseJson(line, "case");
    const auto suite_case = json.ok() ? SuiteCaseFromJson(*json) : Result<SuiteCase>(json.error());
    if (!suite_case.ok()) return console.Fail(suite_case.error());
    if (!Answer(ToJson(RunCase(**engine, *suite_case, flags, console)))) return 1;
  }
  return 0;
}

}  // namespace pt::tools
