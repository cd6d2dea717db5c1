#include "tools/pt-run/first_fault.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <tuple>
#include <utility>

#include "partitiontuner/engine/rounding_trials.h"
#include "partitiontuner/engine/run_buffers.h"
#include "partitiontuner/graph/chance.h"
#include "partitiontuner/plan/plan_precision.h"
#include "partitiontuner/support/caught.h"
#include "tools/pt-run/rounding_noise.h"

namespace pt::tools {
namespace {

// Which steps make and read the instances of a plan.
class StepIndex {
 public:
  explicit StepIndex(const Plan& plan) : plan_(plan), makers_(plan.instances.size()) {
    for (size_t s = 0; s < plan.steps.size(); ++s) {
      const Work& work = plan.steps[s].work;
      for (const InstanceId made : MadeBy(work)) makers_[made.index()] = StepId(s);
      if (const auto* run = std::get_if<RunGroup>(&work)) {
        steps_.emplace(plan.candidates[run->candidate.index()].nodes.front(), StepId(s));
      }
    }
  }

  static std::vector<InstanceId> MadeBy(const Work& work) {
    if (const auto* run = std::get_if<RunGroup>(&work)) return run->out;
    if (const auto* copy = std::get_if<Copy>(&work)) return {copy->to};
    return {std::get<Reorder>(work).to};
  }

  StepId StepOf(const Sighting& sighting) const { return steps_.at(sighting.node); }
  InstanceId InstanceOf(const Sighting& sighting) const {
    const RunGroup& run = std::get<RunGroup>(plan_.steps[StepOf(sighting).index()].work);
    return (sighting.made ? run.out : run.in)[sighting.index];
  }
  ValueId ValueOf(const Sighting& sighting) const { return plan_.instances[InstanceOf(sighting).index()].value; }
  StepId MakerOf(InstanceId instance) const { return makers_[instance.index()]; }  // invalid: the caller

  // Each value that steps make, in their order.
  std::vector<ValueId> ValuesInOrder() const {
    std::vector<ValueId> values;
    std::set<ValueId> known;
    for (const Step& step : plan_.steps) {
      for (const InstanceId made : MadeBy(step.work)) {
        const ValueId value = plan_.instances[made.index()].value;
        if (known.insert(value).second) values.push_back(value);
      }
    }
    return values;
  }

 private:
  const Plan& plan_;
  std::vector<StepId> makers_;      // by instance
  std::map<NodeId, StepId> steps_;  // by the first node of their group
};

// Runs of the reference library, whose values are looked at.
class ReferenceRuns {
 public:
  using See = std::function<void(ValueId, const TensorView&)>;

  static Result<std::unique_ptr<ReferenceRuns>> Make(const ReadyModel& ready, const RunFlags& flags) {
    auto runs = std::make_unique<ReferenceRuns>();
    ModelOptions options = ready.options;
    options.precision = Precision();
    options.keep_loaded = false;
    PT_ASSIGN(RoundingTrials trials, RoundingTrials::Make(ready.file, options, flags.common.threads));
    if (trials.model()->graph_hash != ready.model->graph_hash) {
      return MakeError(ErrorCode::kInternal, "bisect.graph", "the reference library has another graph of the model");
    }
    runs->trials_.emplace(std::move(trials));
    runs->session_.flush_denormals = flags.session_options(false).flush_denormals;
    return runs;
  }

  // Each value once: as it is made, or as it is read first where no kernel makes it.
  Result<std::vector<Datum>> Run(uint64_t trial, const std::vector<Datum>& inputs, const CancelToken& cancel,
                                 const See& see) {
    PT_ASSIGN(const RoundingTrials::Trial opened, trials_->Open(trial, session_, &probes_));
    const std::shared_ptr<const Plan> plan = opened.session->plan();
    const StepIndex index(*plan);
    std::mutex mutex;
    std::set<ValueId> seen;
    probes_.LookAt(*trials_->model()->graph, [&](const Sighting& sighting, const TensorView& view) {
      const ValueId value = index.ValueOf(sighting);
      const std::lock_guard lock(mutex);
      if (seen.insert(value).second) see(value, view);
    });
    return RunData(*opened.session, inputs, {.cancel = &cancel});
  }

 private:
  std::optional<RoundingTrials> trials_;
  SessionOptions session_;
  ValueProbes probes_{nullptr};
};

class FaultFinder {
 public:
  FaultFinder(const std::shared_ptr<const ReadyModel>& ready, const std::vector<Datum>& inputs, ValueProbes& probes,
              const RunFlags& flags, const CancelToken& cancel)
      : ready_(ready),
        graph_(*ready->model->graph),
        plan_(ready->plan.plan),
        index_(plan_),
        inputs_(inputs),
        probes_(probes),
        flags_(flags),
        cancel_(cancel) {
    const Graph& loaded = *ready->model->loaded;
    for (size_t v = 0; v < loaded.values().size(); ++v) {
      if (!loaded.values()[v].name.empty()) loaded_values_.emplace(loaded.values()[v].name, ValueId(v));
    }
  }

  Result<FaultReport> Find() {
    PT_ASSIGN(reference_, ReferenceRuns::Make(*ready_, flags_));
    FaultReport report;
    const std::vector<ValueId> values = index_.ValuesInOrder();
    report.values = values.size();
    for (size_t begin = 0; begin < values.size() && !report.first;) {
      const size_t end = PartEnd(values, begin);
      PT_CHECK_OK(JudgePart(std::span(values).subspan(begin, end - begin)));
      report.first = FirstBeyond();
      begin = end;
    }
    if (!report.first) {
      PT_ASSIGN(report.first, FirstOutputBeyond());
    }
    std::set<ValueId> compared;
    for (const Judged& judged : judged_) compared.insert(judged.value.value);
    report.compared = compared.size();
    if (report.first) report.inputs = InputsOf(report.first->step);
    if (!report.first) report.worst = Worst();
    return report;
  }

 private:
  struct Judged {
    JudgedValue value;
    InstanceId instance;
    bool made = false;             // else read
    std::optional<Tensor> tensor;  // what it is, where noise may excuse it
  };

  static constexpr uint64_t kShare = 2;  // of the memory of one run goes to what is expected

  size_t PartEnd(const std::vector<ValueId>& values, size_t begin) const {
    const uint64_t most = flags_.run_bytes == 0 ? UINT64_MAX : flags_.run_bytes / kShare;
    uint64_t bytes = 0;
    size_t end = begin;
    for (; end < values.size(); ++end) {
      const ValueType& type = graph_.value(values[end]).type;
      const std::optional<std::vector<int64_t>> dims = type.static_dims();
      const Result<int64_t> count = dims ? TensorByteCount(type.type, *dims) : Result<int64_t>(int64_t{0});
      const uint64_t more = count.ok() ? static_cast<uint64_t>(*count) : 0;
      if (end > begin && more > most - bytes) break;
      bytes += std::min(more, most - bytes);
    }
    return end;
  }

  // By the name in the model's file; a value that passes have made by the planned graph.
  Result<OutputVerdict> ToleranceFor(ValueId value) const {
    const MathMode math = LoosestMath(plan_);
    const auto named = loaded_values_.find(graph_.value(value).name);
    Result<OutputVerdict> verdict = named != loaded_values_.end()
                                        ? VerdictFor(*ready_->model->loaded, named->second, math, false, flags_)
                                        : VerdictFor(graph_, value, math, false, flags_);
    if (verdict.ok()) verdict->name = graph_.value(value).name;
    return verdict;
  }

  Status JudgePart(std::span<const ValueId> values) {
    expected_.clear();
    verdicts_.clear();
    for (const ValueId value : values) {
      PT_ASSIGN(OutputVerdict verdict, ToleranceFor(value));
      verdicts_.emplace(value, std::move(verdict));
    }
    Status kept;
    PT_ASSIGN(expected_outputs_, reference_->Run(0, inputs_, cancel_, [&](ValueId value, const TensorView& view) {
      if (verdicts_.contains(value)) Keep(value, view, kept);
    }));
    PT_CHECK_OK(kept);
    PT_CHECK_OK(RunPlan());
    return ExcuseByNoise();
  }

  void Keep(ValueId value, const TensorView& view, Status& status) try {
    std::optional<Tensor> tensor = DenseTensor(view, graph_.value(value).type.type);
    if (!tensor) return;
    ExpectedTensor& expected = expected_[value];
    expected.dims = tensor->dims();
    expected.tensor = std::move(tensor);
  } catch (...) {
    status = Caught("bisect", "keep a value", "pt-run");
  }

  Status RunPlan() {
    Status judged;
    std::mutex mutex;
    probes_.LookAt(graph_, [&](const Sighting& sighting, const TensorView& view) {
      Result<std::optional<Judged>> one = Judge(sighting, view);
      const std::lock_guard lock(mutex);
      if (!one.ok()) {
        judged = one.error();
      } else if (*one) {
        judged_.push_back(**std::move(one));
      }
    });
    const RunOptions options{.deadline = flags_.deadline ? ready_->deadline : std::nullopt, .cancel = &cancel_};
    PT_ASSIGN(outputs_, RunData(*ready_->session, inputs_, options));
    return judged;
  }

  // Nothing where there is nothing to compare with.
  Result<std::optional<Judged>> Judge(const Sighting& sighting, const TensorView& view) const try {
    const InstanceId instance = index_.InstanceOf(sighting);
    const StepId maker = index_.MakerOf(instance);
    const ValueId value = plan_.instances[instance.index()].value;
    const auto expected = expected_.find(value);
    if (!maker.valid() || expected == expected_.end()) return std::optional<Judged>();
    const std::optional<Tensor> tensor = DenseTensor(view, graph_.value(value).type.type);
    if (!tensor) return std::optional<Judged>();
    Judged judged{{value, maker, sighting.made ? StepId() : index_.StepOf(sighting), false, false, verdicts_.at(value)},
                  instance,
                  sighting.made,
                  std::nullopt};
    OutputVerdict& verdict = judged.value.verdict;
    verdict.comparison = CompareTensors(expected->second, *tensor, verdict.tolerance);
    if (!verdict.comparison.equal && DependsOnChance(graph_, value)) {
      verdict.comparison = CompareKinds(expected->second, *tensor);
      verdict.reason = "drawn at random: type and dims alone";
    }
    if (!verdict.comparison.equal && verdict.hangs_on_noise) judged.tensor = *tensor;
    return std::optional(std::move(judged));
  } catch (...) {
    return Caught("bisect", "compare a value", "pt-run");
  }

  // What is quantised on the way may differ by what roundings alone make of it.
  Status ExcuseByNoise() {
    std::map<ValueId, double> noise;
    for (const Judged& judged : judged_) {
      if (judged.tensor) noise.emplace(judged.value.value, 0);
    }
    Status status;
    for (uint64_t trial = 1; trial <= kRoundingTrials && !noise.empty(); ++trial) {
      const auto see = [&](ValueId value, const TensorView& view) {
        const auto at = noise.find(value);
        if (at != noise.end()) AddNoise(value, view, at->second, status);
      };
      PT_ASSIGN(const std::vector<Datum> shaken, reference_->Run(trial, inputs_, cancel_, see));
      (void)shaken;
    }
    for (Judged& judged : judged_) {
      if (!judged.tensor) continue;
      const ValueId value = judged.value.value;
      OutputVerdict& verdict = judged.value.verdict;
      AllowNoise(noise.at(value), graph_.value(value).type.type, verdict.comparison.largest, verdict);
      verdict.comparison = CompareTensors(expected_.at(value), *judged.tensor, verdict.tolerance);
      judged.tensor.reset();
    }
    return status;
  }

  void AddNoise(ValueId value, const TensorView& view, double& noise, Status& status) const try {
    const std::optional<Tensor> shaken = DenseTensor(view, graph_.value(value).type.type);
    if (shaken) noise = std::max(noise, NoiseBetween(Datum(*expected_.at(value).tensor), Datum(*shaken)));
  } catch (...) {
    status = Caught("bisect", "compare a value", "pt-run");
  }

  std::optional<JudgedValue> FirstBeyond() const {
    std::set<InstanceId> made;
    for (const Judged& judged : judged_) {
      if (judged.made) made.insert(judged.instance);
    }
    // A value is wrong from the step on that made it, unless it was right there.
    const auto changed = [&](const Judged& judged) { return !judged.made && made.contains(judged.instance); };
    const auto order = [&](const Judged& judged) {
      return std::tuple(changed(judged) ? judged.value.reader : judged.value.step, !changed(judged), judged.instance,
                        judged.value.reader);
    };
    const Judged* first = nullptr;
    for (const Judged& judged : judged_) {
      if (judged.value.verdict.comparison.equal) continue;
      if (first == nullptr || order(judged) < order(*first)) first = &judged;
    }
    if (first == nullptr) return std::nullopt;
    JudgedValue value = first->value;
    value.changed = changed(*first);
    return value;
  }

  Result<std::optional<JudgedValue>> FirstOutputBeyond() const {
    std::vector<ExpectedTensor> expected = ExpectedFrom(expected_outputs_);
    const auto noise = [&] { return MeasureRoundingNoise({{ready_, inputs_}}, {}, flags_, cancel_); };
    PT_ASSIGN(std::vector<OutputVerdict> verdicts, JudgeOutputs(*ready_, outputs_, expected, false, flags_, noise));
    for (size_t i = 0; i < verdicts.size(); ++i) {
      if (verdicts[i].comparison.equal) continue;
      JudgedValue output;
      output.value = graph_.outputs()[i];
      output.is_output = true;
      output.verdict = std::move(verdicts[i]);
      output.step = LastMakerOf(output.value);
      return std::optional(std::move(output));
    }
    return std::optional<JudgedValue>();
  }

  // Of what the caller gets; invalid where that is what the caller gave, or constant.
  StepId LastMakerOf(ValueId value) const {
    StepId last;
    for (size_t i = 0; i < plan_.instances.size(); ++i) {
      const StepId maker = index_.MakerOf(InstanceId(i));
      if (plan_.instances[i].value != value || !maker.valid()) continue;
      if (!last.valid() || last < maker) last = maker;
    }
    return last;
  }

  // Of each value that the step reads: as it reads it, else as it was made.
  std::vector<JudgedValue> InputsOf(StepId step) const {
    std::vector<JudgedValue> inputs;
    const auto* run = step.valid() ? std::get_if<RunGroup>(&plan_.steps[step.index()].work) : nullptr;
    if (run == nullptr) return inputs;
    for (const InstanceId instance : run->in) {
      const auto of = [&](const auto& is_meant) {
        return std::ranges::find_if(judged_, [&](const Judged& j) { return j.instance == instance && is_meant(j); });
      };
      auto found = of([&](const Judged& judged) { return judged.value.reader == step; });
      if (found == judged_.end()) found = of([](const Judged& judged) { return judged.made; });
      if (found != judged_.end()) inputs.push_back(found->value);
    }
    return inputs;
  }

  std::optional<JudgedValue> Worst() const {
    const auto worst = std::ranges::max_element(
        judged_, {}, [](const Judged& judged) { return judged.value.verdict.comparison.of_tolerance; });
    return worst == judged_.end() ? std::nullopt : std::optional(worst->value);
  }

  const std::shared_ptr<const ReadyModel> ready_;
  const Graph& graph_;
  const Plan& plan_;
  const StepIndex index_;
  const std::vector<Datum>& inputs_;
  ValueProbes& probes_;
  const RunFlags& flags_;
  const CancelToken& cancel_;
  std::map<std::string, ValueId> loaded_values_;
  std::unique_ptr<ReferenceRuns> reference_;
  std::map<ValueId, ExpectedTensor> expected_;  // of the part that is judged
  std::map<ValueId, OutputVerdict> verdicts_;   // likewise, without a comparison
  std::vector<Judged> judged_;                  // of all parts
  std::vector<Datum> expected_outputs_, outputs_;
};

}  // namespace

Result<FaultReport> FindFirstFault(const std::shared_ptr<const ReadyModel>& ready, const std::vector<Datum>& inputs,
                                   ValueProbes& probes, const RunFlags& flags, const CancelToken& cancel) {
  return FaultFinder(ready, inputs, probes, flags, cancel).Find();
}

}  // namespace pt::tools
