// Session: runs on arrays.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <partitiontuner/support/closest_word.h>

#include <algorithm>

#include "arrays.h"
#include "errors.h"
#include "handles.h"

namespace nb = nanobind;

namespace pt::python {
namespace {

SessionHandle MakeSession(const ModelHandle& model, const PlanHandle& plan, const std::string& alone, uint32_t max_runs,
                          std::optional<uint64_t> run_bytes) {
  SessionOptions options;
  if (alone == "never") {
    options.alone = AloneRuns::kNever;
  } else if (alone == "always") {
    options.alone = AloneRuns::kAlways;
  } else if (alone != "auto") {
    Fail(ErrorCode::kUsage, "python.alone", "unknown alone \"" + alone + "\"; expected auto, never or always");
  }
  options.max_run_states = max_runs;
  if (run_bytes) options.run_bytes = *run_bytes;
  const nb::gil_scoped_release release;
  return {model.engine, model.model, Unwrap(model.engine->MakeSession(*model.model, plan.plan, options))};
}

std::vector<std::string> NamesOf(const Graph& graph, std::span<const ValueId> ids) {
  std::vector<std::string> names;
  for (const ValueId id : ids) names.push_back(graph.value(id).name);
  return names;
}

// Names that the model does not have.
void CheckNames(const nb::dict& given, const std::vector<std::string>& known, const char* what) {
  for (const auto& [key, value] : given) {
    if (!nb::isinstance<nb::str>(key)) {
      Fail(ErrorCode::kUsage, "python.name", std::string("names of ") + what + "s are str");
    }
    const std::string name = nb::cast<std::string>(key);
    if (std::ranges::find(known, name) != known.end()) continue;
    const std::vector<std::string_view> words(known.begin(), known.end());
    const std::string closest(ClosestWord(name, words));
    Fail(ErrorCode::kInvalidInput, "python.name", std::string("the model has no ") + what + " \"" + name + "\"",
         closest.empty() ? "" : "did you mean \"" + closest + "\"?");
  }
}

LentValues LendInputs(const Graph& graph, const nb::dict& given) {
  CheckNames(given, NamesOf(graph, graph.inputs()), "input");
  LentValues values;
  for (const ValueId id : graph.inputs()) {
    const Value& value = graph.value(id);
    if (!given.contains(value.name.c_str())) {
      Fail(ErrorCode::kInvalidInput, "python.input",
           "the input \"" + value.name + "\" is missing: " + ToString(value.type));
    }
    values.AddInput(value, given[value.name.c_str()]);
  }
  return values;
}

LentValues LendOutputs(const Graph& graph, const nb::dict& given) {
  CheckNames(given, NamesOf(graph, graph.outputs()), "output");
  LentValues values;
  for (const ValueId id : graph.outputs()) {
    const Value& value = graph.value(id);
    if (given.contains(value.name.c_str())) {
      values.AddOutput(value, given[value.name.c_str()]);
    } else {
      values.AddOutput(value);
    }
  }
  return values;
}

nb::tuple Run(const SessionHandle& self, const nb::dict& inputs, const nb::dict& outputs,
              std::optional<double> deadline_s) {
  const Graph& graph = self.session->graph();
  const LentValues in = LendInputs(graph, inputs), out = LendOutputs(graph, outputs);
  RunOptions options;
  if (deadline_s) options.deadline = std::chrono::nanoseconds(static_cast<int64_t>(*deadline_s * 1e9));
  std::optional<Result<RunReport>> report;
  {
    const nb::gil_scoped_release release;
    report.emplace(self.session->Run(in.tensors(), out.tensors(), options));
  }
  const RunReport done = Unwrap(*std::move(report));
  nb::dict results;
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    results[graph.value(graph.outputs()[i]).name.c_str()] = out.Output(i, done);
  }
  return nb::make_tuple(results, done);
}

}  // namespace

void BindSessions(nb::module_& module) {
  nb::class_<RunReport>(module, "RunReport", "What one run took.")
      .def_ro("wall_ns", &RunReport::wall_ns)
      .def_ro("makespan_ns", &RunReport::makespan_ns)
      .def_ro("simulated", &RunReport::simulated)
      .def_ro("alone", &RunReport::alone);
  nb::class_<SessionHandle>(module, "Session")
      .def("run", &Run, nb::arg("inputs"), nb::arg("outputs"), nb::arg("deadline").none());
  module.def("make_session", &MakeSession, nb::arg("model"), nb::arg("plan"), nb::arg("alone"), nb::arg("max_runs"),
             nb::arg("run_bytes").none());
}

}  // namespace pt::python
