// What a plan says of itself: what it was made for, what it promises, how it was found.
#include "lib/plan/plan_fields.h"
#include "partitiontuner/platform/platform_fields.h"

namespace pt {

void Fields(FieldVisitor& v, BudgetReport& budget) {
  v.Field("max_error", budget.max_error, FieldNote("the budget").Within(kNotNegative));
  v.Field("calibration_error", budget.calibration_error,
          FieldNote("on the data by which was chosen what is lowered").Within(kNotNegative));
  v.Field("confirmation_error", budget.confirmation_error,
          FieldNote("on data that was not used for choosing").Within(kNotNegative));
  v.Field("calibration_sets", budget.calibration_sets, "how many sets of inputs the former data has");
  v.Field("confirmation_sets", budget.confirmation_sets, "and the latter");
  v.Field("groups", budget.groups, "steps that run a group");
  v.Field("lowered_groups", budget.lowered_groups, "those of them in less than fp32");
  v.Field("fp32_ns", budget.fp32_ns, FieldNote("the predicted makespan of the plan in fp32").Within(kPlanTime));
  v.Field("plans", budget.plans, "made before this one was chosen");
}

void Fields(FieldVisitor& v, SegmentReport& segments) {
  v.Field("count", segments.segments, "how many segments the timeline launches as one");
  v.Field("steps", segments.steps, "in all of them");
  v.Field("launch_ns", segments.launch_ns, FieldNote("of the cores that launch them, all together").Within(kPlanTime));
  v.Field("unknown", segments.unknown,
          "devices that record, but of which the profile does not say what launching a segment takes: their steps "
          "count as launched one by one");
}

void Fields(FieldVisitor& v, PlanReport& report, std::optional<size_t> steps) {
  v.Field("critical_path", report.critical_path, FieldNote("steps").Below(steps));
  v.Field("busy", report.busy, "by unit: the share of the makespan that it is busy");
  v.Field(
      "baselines_ns", report.baselines_ns,
      "by planner: its predicted makespan; `search` is there where its gain was too little and the plan is a single "
      "device's. Of a plan for several models also what they take without it: `in-turns`, one after the other, and "
      "`side-by-side`, each with its share of the cores (since 1.9)");
  v.Field("gap", report.gap, "makespan / lower bound - 1");
  v.Field("stopped_by", report.stopped_by, "why the search stopped: `done`, `effort`, `time`, `interrupted`");
  v.Field("tight_bound", report.tight_bound,
          FieldNote("which of the bounds `lower_bound_ns` is, for instance `L3 area`").Since("1.5").Optional());
  v.Field("reference_ns", report.reference_ns,
          FieldNote("what the reference work took when the steps were measured, the mean weighted by their times")
              .Since("1.4")
              .Optional()
              .Within(kNotNegative));
  v.Field("hand_over_ns", report.hand_over_ns,
          FieldNote("what a hand-over between cores of the host took as the plan's costs were measured")
              .Since("1.6")
              .Optional()
              .Within(kNotNegative));
  v.Field("segments", report.segments,
          FieldNote("steps that are recorded and launched as one; absent where there are none and nothing is unknown")
              .Since("1.7")
              .Optional());
  v.Field(
      "error_budget", report.budget,
      FieldNote("of a plan made within an error budget: how far it is from the plan in fp32, the largest difference "
                "by the largest magnitude of each output")
          .Since("1.3")
          .Optional());
}

void Fields(FieldVisitor& v, NamedModel& model) {
  v.Field("name", model.name, "in front of the names of its values, nodes and dims, with a `/` between");
  v.Field("file", model.file, "as it was called when the plan was made");
  v.Field("hash", model.hash, "of its graph as loaded, weights included");
}

void Fields(FieldVisitor& v, MadeFor& made_for) {
  v.Object("tool", "what made it", [&] {
    std::string name = "partitiontuner";
    v.Field("name", name, FieldNote("`partitiontuner`").ForPeople());
    v.Field("version", made_for.tool_version, "of the program");
    v.Field("libraries", made_for.libraries, "versions of the libraries by their names");
  });
  v.Object("model", "the network", [&] {
    v.Field("hash", made_for.model_hash, "of the file");
    v.Field("graph_hash", made_for.graph_hash, "of the planned graph and the version of the passes");
    v.Field("opset", made_for.opset, "of the standard's operators");
    v.Field("input_dims", made_for.input_dims, "by name of the input");
    v.Field("models", made_for.models,
            FieldNote("of a plan for several networks: each of them, in their order").Since("1.9").Optional());
  });
  v.Object(
      "platform", FieldNote("the machine").Optional(), [&] { Fields(v, made_for.platform); },
      made_for.platform.devices.empty());
  v.Object("profile", "where the costs come from", [&] {
    v.Field("hash", made_for.profile_hash, "of the measurements");
    v.Field("samples", made_for.profile_samples, "how many measurements");
  });
  v.Field(
      "settings", made_for.settings,
      "objective, seed, effort, precision and the like; `nan` is `keep` where only candidates that keep NaN were "
      "allowed: the checker holds the plan to it (since 1.8). Of a plan that was made for a rate of requests "
      "(objective `rate`): `rate` (a second), `arrivals`, `p99_ns`, and how they run, `alone` (always or never) and "
      "`in_flight`");
}

}  // namespace pt
