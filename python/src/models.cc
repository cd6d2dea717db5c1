// Engine and Model: what a machine is, what a file holds, and measuring it.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "callbacks.h"
#include "errors.h"
#include "handles.h"

namespace nb = nanobind;

namespace pt::python {
namespace {

using Strings = std::vector<std::string>;

EngineHandle MakeEngine(const std::string& db, uint32_t threads, Strings libraries, Strings devices, Strings platforms,
                        Strings plugins) {
  EngineOptions options;
  options.db_path = db;
  options.machine.max_cores = threads;
  options.machine.libraries = std::move(libraries);
  options.machine.devices = std::move(devices);
  options.machine.platform_files = std::move(platforms);
  options.machine.plugins = std::move(plugins);
  const nb::gil_scoped_release release;
  return {Unwrap(Engine::Make(options))};
}

using Dims = std::map<std::string, int64_t>;
using Shapes = std::map<std::string, std::vector<int64_t>>;

ModelHandle LoadModel(const EngineHandle& engine, const std::string& path, Dims dims, Shapes shapes,
                      std::map<std::string, double> constants, const Strings& given, const std::string& precision,
                      bool keep_nan) {
  ModelOptions options;
  options.dims = std::move(dims);
  options.shapes = std::move(shapes);
  options.constants = {constants.begin(), constants.end()};
  options.load.given_inputs.insert(given.begin(), given.end());
  options.keep_nan = keep_nan;
  options.precision = Unwrap(PrecisionFromText(precision));
  const nb::gil_scoped_release release;
  return {engine.engine, Unwrap(engine.engine->Load(path, options))};
}

ModelHandle LoadForPlan(const EngineHandle& engine, const std::string& path, const PlanHandle& plan) {
  const nb::gil_scoped_release release;
  return {engine.engine, Unwrap(engine.engine->Load(path, Unwrap(OptionsOf(plan.plan))))};
}

MeasureReport Measure(const ModelHandle& model, std::optional<double> budget_s, double max_noise,
                      const std::string& refresh, const nb::object& progress) {
  CancelToken cancel;
  Raised raised;
  MeasureOptions options;
  options.max_noise = max_noise;
  options.refresh = refresh;
  options.cancel = &cancel;
  if (budget_s) options.budget = std::chrono::nanoseconds(static_cast<int64_t>(*budget_s * 1e9));
  const auto tell = [&](const MeasureProgress& now) {
    const bool goes_on = raised.Guard([&] {
      if (!progress.is_none()) progress(now);
    });
    if (!goes_on) cancel.Cancel();
  };
  std::optional<Result<MeasureReport>> report;
  {
    const nb::gil_scoped_release release;
    report.emplace(model.engine->MeasureModel(*model.model, options, tell));
  }
  raised.Rethrow();
  return Unwrap(*std::move(report));
}

// A value of the interface: name, element type, dims (numbers, names, or nothing where they are unknown).
nb::tuple Describe(const Value& value) {
  nb::list dims;
  for (const Dim& dim : value.type.dims) {
    if (dim.known()) {
      dims.append(dim.value);
    } else if (dim.name.empty()) {
      dims.append(nb::none());
    } else {
      dims.append(dim.name);
    }
  }
  const std::string kind = value.type.other.empty() ? "tensor" : value.type.other;
  return nb::make_tuple(value.name, kind, std::string(DataTypeName(value.type.type)),
                        value.type.ranked ? nb::object(nb::tuple(dims)) : nb::none());
}

nb::list DescribeAll(const Graph& graph, std::span<const ValueId> ids) {
  nb::list all;
  for (const ValueId id : ids) all.append(Describe(graph.value(id)));
  return all;
}

double Seconds(std::chrono::nanoseconds time) { return static_cast<double>(time.count()) * 1e-9; }

}  // namespace

void BindModels(nb::module_& module) {
  nb::class_<EngineHandle>(module, "Engine").def_prop_ro("units", [](const EngineHandle& self) {
    nb::list names;
    for (const Unit& unit : self.engine->machine().platform().units) names.append(unit.name);
    return names;
  });
  module.def("make_engine", &MakeEngine);

  nb::class_<ModelHandle>(module, "Model")
      .def_prop_ro("inputs",
                   [](const ModelHandle& self) { return DescribeAll(*self.model->graph, self.model->graph->inputs()); })
      .def_prop_ro(
          "outputs",
          [](const ModelHandle& self) { return DescribeAll(*self.model->graph, self.model->graph->outputs()); })
      .def_prop_ro("nodes", [](const ModelHandle& self) { return self.model->graph->nodes().size(); })
      .def("measure", &Measure, nb::arg("budget").none(), nb::arg("max_noise"), nb::arg("refresh"),
           nb::arg("progress").none());
  module.def("load_model", &LoadModel);
  module.def("load_model_for_plan", &LoadForPlan);

  nb::class_<MeasureProgress>(module, "Progress", "How far measuring has come.")
      .def_ro("done", &MeasureProgress::done)
      .def_ro("total", &MeasureProgress::total)
      .def_ro("reused", &MeasureProgress::reused)
      .def_ro("failed", &MeasureProgress::failed)
      .def_ro("current", &MeasureProgress::current)
      .def_ro("ns", &MeasureProgress::ns)
      .def_ro("noise", &MeasureProgress::noise)
      .def_prop_ro("elapsed", [](const MeasureProgress& self) { return Seconds(self.elapsed); })
      .def_prop_ro("left", [](const MeasureProgress& self) { return Seconds(self.left); });

  nb::class_<MeasureReport>(module, "ProfileReport", "What measuring a model came to.")
      .def_ro("needed", &MeasureReport::needed)
      .def_ro("measured", &MeasureReport::measured)
      .def_ro("reused", &MeasureReport::reused)
      .def_ro("failed", &MeasureReport::failed)
      .def_ro("missing", &MeasureReport::missing)
      .def_ro("noisy", &MeasureReport::noisy)
      .def_ro("median_noise", &MeasureReport::median_noise)
      .def_ro("worst_noise", &MeasureReport::worst_noise)
      .def_ro("interrupted", &MeasureReport::interrupted)
      .def_ro("out_of_budget", &MeasureReport::out_of_budget);
}

}  // namespace pt::python
