// One run of a model on given inputs, and what its outputs were worth.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "partitiontuner/engine/test_data.h"
#include "tools/common/inputs.h"
#include "tools/pt-run/run_flags.h"

namespace pt::tools {

// A model planned and ready. The session's plan is the one run; twin is its sequential form, when
// asked for.
struct ReadyModel {
  ModelFile file;        // that it was made from
  ModelOptions options;  // and with
  std::shared_ptr<const Model> model;
  ChosenPlan plan;
  std::unique_ptr<Session> session, twin;
  std::optional<std::chrono::nanoseconds> deadline;  // of each run
};
// What cannot run is refused here, before any run: kUnsupported then names the operator, type or
// shape.
Result<std::shared_ptr<const ReadyModel>> MakeReady(Engine& engine, const ModelFile& file, ModelOptions options,
                                                    const RunFlags& flags, bool suite, const Console& console);

// The model of the flags, and the inputs that they give or have drawn.
struct GivenRun {
  std::shared_ptr<const ReadyModel> ready;
  GivenInputs data;
  std::vector<Tensor> inputs;
};
Result<GivenRun> MakeGivenRun(Engine& engine, const RunFlags& flags, const Console& console);

struct RunOutputs {
  std::vector<Datum> values;
  bool twin_equal = true;  // true without a twin
};
Result<RunOutputs> RunOnce(const ReadyModel& ready, const std::vector<Datum>& inputs, const CancelToken* cancel);

struct OutputVerdict {
  std::string name;
  Tolerance tolerance;
  std::string reason;           // why this tolerance
  bool hangs_on_noise = false;  // it may be wider where roundings alone change the output by more
  bool by_noise = false;        // it is
  Comparison comparison;
};
// What a value of the graph is held to: by --rtol and --atol, or by what is inside. operator_test: of ONNX's own tests.
Result<OutputVerdict> VerdictFor(const Graph& graph, ValueId value, MathMode math, bool operator_test,
                                 const RunFlags& flags);
// Widens it where roundings alone change the value by `noise`; largest: the greatest magnitude in it.
void AllowNoise(double noise, DataType type, double largest, OutputVerdict& verdict);

// By output: how far roundings alone change it (rounding_noise.h).
using NoiseOfOutputs = std::function<Result<std::vector<double>>()>;
// One verdict an output. --rtol and --atol replace the tolerance's. Where neither is given, an output that is quantised
// on the way and lies beyond its tolerance is judged by the noise, which is asked for then, and once.
Result<std::vector<OutputVerdict>> JudgeOutputs(const ReadyModel& ready, const std::vector<Datum>& outputs,
                                                const std::vector<ExpectedTensor>& expected, bool operator_test,
                                                const RunFlags& flags, const NoiseOfOutputs& noise);

// "fp32 math: 0.0001 of the largest magnitude".
std::string ToleranceText(const OutputVerdict& verdict);
// Of one that is not equal: "element 3 is 1.5, expected 1, 1.1 times the tolerance; --rtol and --atol set another".
std::string DifferenceText(const OutputVerdict& verdict, const RunFlags& flags);

// What outputs of other runs should be.
std::vector<ExpectedTensor> ExpectedFrom(std::span<const Datum> values);

bool AllEqual(const std::vector<OutputVerdict>& verdicts);

}  // namespace pt::tools
