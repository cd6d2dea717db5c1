// Plan: making one, reading and writing it, and its picture.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <partitiontuner/plan/draw_timelines.h>
#include <partitiontuner/plan/plan_json.h>
#include <partitiontuner/support/file.h>

#include "callbacks.h"
#include "errors.h"
#include "handles.h"

namespace nb = nanobind;

namespace pt::python {
namespace {

// Planners ask in every loop whether to go on; Python is asked a few times a second.
class Asking {
 public:
  explicit Asking(const nb::object& progress) : progress_(progress), next_(Clock::now() + kEvery) {}

  bool Ends(int64_t best_ns) {
    if (ended_ || Clock::now() < next_) return ended_;
    next_ = Clock::now() + kEvery;
    const bool goes_on = raised_.Guard([&] {
      if (progress_.is_none()) return;
      const nb::object best = best_ns > 0 ? nb::cast(static_cast<double>(best_ns) * 1e-9) : nb::none();
      stopped_ = progress_(best).ptr() == Py_False;
    });
    return ended_ = !goes_on || stopped_;
  }
  Raised& raised() { return raised_; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kEvery{100};
  const nb::object& progress_;
  Clock::time_point next_;
  bool ended_ = false, stopped_ = false;
  Raised raised_;
};

PlanHandle Keep(const ModelHandle& model, Plan plan) {
  std::string json = WriteJson(ToJson(plan, *model.model->graph)) + "\n";
  return {std::move(plan), std::move(json), model.engine, model.model};
}

PlanHandle MakePlan(const ModelHandle& model, const std::string& planner, uint64_t effort, uint64_t seed,
                    std::optional<double> time_limit_s, bool allow_estimates, bool default_plan, bool always_split,
                    const nb::object& progress) {
  Asking asking(progress);
  PlanningWatch watch([&] { return asking.Ends(watch.best_ns()); });
  PlanOptions options;
  options.planner = planner;
  options.effort = effort;
  options.seed = seed;
  if (time_limit_s) options.time_limit = std::chrono::nanoseconds(static_cast<int64_t>(*time_limit_s * 1e9));
  options.allow_estimates = allow_estimates;
  options.default_plan = default_plan;
  options.margin = always_split ? SplitMargin::kNone : SplitMargin::kUncertainty;
  options.watch = &watch;
  std::optional<Result<Plan>> plan;
  {
    const nb::gil_scoped_release release;
    plan.emplace(model.engine->MakePlan(*model.model, options));
  }
  asking.raised().Rethrow();
  return Keep(model, Unwrap(*std::move(plan)));
}

PlanHandle ReadPlan(const std::string& path) {
  const nb::gil_scoped_release release;
  Plan plan = Unwrap(LoadPlan(path));
  return {std::move(plan), Unwrap(ReadFile(path, Limits().plan_bytes)), nullptr, nullptr};
}

PlanHandle ParsePlan(std::string text) {
  const nb::gil_scoped_release release;
  Plan plan = Unwrap(PlanFromJson(Unwrap(ParseJson(text, "the text", Limits())), "the text"));
  return {std::move(plan), std::move(text), nullptr, nullptr};
}

std::optional<std::string> Svg(const PlanHandle& self) {
  if (!self.model) return std::nullopt;
  const DrawnPlan drawn = {self.plan.planner, &self.plan};
  return TimelinesSvg(*self.model->graph, self.engine->machine().platform(), {&drawn, 1}, self.model->path);
}

}  // namespace

void BindPlans(nb::module_& module) {
  nb::class_<PlanHandle>(module, "Plan")
      .def_ro("json", &PlanHandle::json)
      .def_prop_ro("planner", [](const PlanHandle& self) { return self.plan.planner; })
      .def_prop_ro("complete", [](const PlanHandle& self) { return self.plan.complete; })
      .def_prop_ro("makespan_ns", [](const PlanHandle& self) { return self.plan.makespan.ns; })
      .def_prop_ro("lower_bound_ns", [](const PlanHandle& self) { return self.plan.lower_bound_ns; })
      .def_prop_ro("steps", [](const PlanHandle& self) { return self.plan.steps.size(); })
      .def("save",
           [](const PlanHandle& self, const std::string& path) {
             const nb::gil_scoped_release release;
             Unwrap(WriteFileAtomically(path, self.json));
           })
      .def("svg", &Svg);
  module.def("make_plan", &MakePlan, nb::arg("model"), nb::arg("planner"), nb::arg("effort"), nb::arg("seed"),
             nb::arg("time_limit").none(), nb::arg("allow_estimates"), nb::arg("default_plan"), nb::arg("always_split"),
             nb::arg("progress").none());
  module.def("read_plan", &ReadPlan);
  module.def("parse_plan", &ParsePlan);
}

}  // namespace pt::python
