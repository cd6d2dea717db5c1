// Session: runs on arrays.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "errors.h"
#include "handles.h"
#include "named_values.h"

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

nb::tuple Run(const SessionHandle& self, const nb::dict& inputs, const nb::dict& outputs,
              std::optional<double> deadline_s) {
  const Graph& graph = self.session->graph();
  const LentValues in = LendInputs(graph, inputs, LentValues::Inputs::kLent), out = LendOutputs(graph, outputs);
  const RunOptions options{.deadline = DeadlineOf(deadline_s)};
  std::optional<Result<RunReport>> report;
  {
    const nb::gil_scoped_release release;
    report.emplace(self.session->Run(in.tensors(), out.tensors(), options));
  }
  const RunReport done = Unwrap(*std::move(report));
  return nb::make_tuple(OutputsByName(graph, out, done), done);
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
