// The checking library: proposes what the tested library proposes; each kernel runs it, then the oracle node by
// node on the same inputs, and fails the run where they differ. Host devices only.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "partitiontuner/backend/devices.h"
#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/backend/nan.h"
#include "partitiontuner/graph/linear_quantisation.h"

namespace pt {
namespace {

template <typename T>
bool WithinSteps(const TensorView& actual, const TensorView& expected, uint64_t count, int64_t steps) {
  const T *a = static_cast<const T*>(actual.data), *e = static_cast<const T*>(expected.data);
  return std::equal(a, a + count, e, [&](T x, T y) { return std::abs(int64_t{x} - int64_t{y}) <= steps; });
}

// Compares dense float32 arrays (all floats come as such), quantised bytes by steps, or any others byte by byte: ""
// when equal enough.
std::string Difference(const TensorView& actual, const TensorView& expected, double tolerance, int64_t steps) {
  const uint64_t bytes = BytesOf(expected.layout).value();
  if (steps > 0 && IsByte(expected.layout.type)) {
    const bool within = expected.layout.type == DataType::kInt8 ? WithinSteps<int8_t>(actual, expected, bytes, steps)
                                                                : WithinSteps<uint8_t>(actual, expected, bytes, steps);
    return within ? "" : "elements differ by more than " + std::to_string(steps);
  }
  if (expected.layout.type != DataType::kFloat32) {
    return bytes == 0 || std::memcmp(actual.data, expected.data, bytes) == 0 ? "" : "elements differ";
  }
  const auto* a = static_cast<const float*>(actual.data);
  const auto* e = static_cast<const float*>(expected.data);
  const size_t count = bytes / sizeof(float);
  float largest = 0;
  for (size_t i = 0; i < count; ++i) largest = std::isfinite(e[i]) ? std::max(largest, std::fabs(e[i])) : largest;
  const float allowed = static_cast<float>(tolerance) * largest;
  for (size_t i = 0; i < count; ++i) {
    const bool same = std::isnan(e[i]) ? std::isnan(a[i]) : a[i] == e[i] || std::fabs(a[i] - e[i]) <= allowed;
    if (!same) {
      return "element " + std::to_string(i) + " is " + std::to_string(a[i]) + " instead of " + std::to_string(e[i]);
    }
  }
  return "";
}

// A kernel of the oracle with the values it reads and writes, as indices into the checker's own tensors.
struct OracleStep {
  std::unique_ptr<Kernel> kernel;
  std::vector<size_t> in, out;
};

struct Comparison {
  size_t expected;  // own tensor of the oracle's result
  size_t actual;    // own tensor that the tested output is reordered into
  size_t output;    // of the candidate
  double tolerance;
  int64_t steps;
};

struct Check {
  std::string label;
  std::unique_ptr<Kernel> tested;
  std::vector<TensorLayout> own;                             // the oracle's world: dense and row-major
  std::vector<std::unique_ptr<Kernel>> to_own, from_tested;  // reorders of the inputs, of the outputs
  std::vector<size_t> inputs;                                // own tensor of each candidate input
  std::vector<OracleStep> steps;
  std::vector<Comparison> comparisons;
  DeviceDriver* driver = nullptr;
};

class BoundCheck final : public BoundKernel {
 public:
  static Result<std::unique_ptr<BoundKernel>> Make(std::shared_ptr<const Check> check, TensorSlots in, TensorSlots out,
                                                   std::span<std::byte> scratch) {
    auto bound = std::unique_ptr<BoundCheck>(new BoundCheck(std::move(check)));
    const Check& c = *bound->check_;
    for (const TensorLayout& layout : c.own) {
      PT_ASSIGN(const uint64_t bytes, BytesOf(layout));
      PT_ASSIGN(void* data, bound->Allocate(bytes));
      bound->own_.push_back({data, layout});
    }
    const std::vector<const TensorView*> own = SlotsOf(bound->own_);
    const auto pick = [&](const std::vector<size_t>& indices) {
      std::vector<const TensorView*> slots;
      for (size_t i : indices) slots.push_back(own[i]);
      return slots;
    };
    PT_ASSIGN(bound->tested_, c.tested->Bind(in, out, scratch));
    for (size_t i = 0; i < c.to_own.size(); ++i) {
      PT_CHECK_OK(bound->Add(*c.to_own[i], in.subspan(i, 1), pick({c.inputs[i]}), bound->to_own_));
    }
    for (const OracleStep& step : c.steps) {
      PT_CHECK_OK(bound->Add(*step.kernel, pick(step.in), pick(step.out), bound->oracle_));
    }
    for (size_t i = 0; i < c.comparisons.size(); ++i) {
      const Comparison& comparison = c.comparisons[i];
      PT_CHECK_OK(bound->Add(*c.from_tested[i], out.subspan(comparison.output, 1), pick({comparison.actual}),
                             bound->from_tested_));
    }
    return std::unique_ptr<BoundKernel>(std::move(bound));
  }

  Status Enqueue(const RunContext& run) noexcept override {
    // Inputs first: the tested kernel may write in place.
    for (const auto& kernel : to_own_) PT_CHECK_OK(kernel->Enqueue(run));
    PT_CHECK_OK(tested_->Enqueue(run));
    for (const auto& kernel : oracle_) PT_CHECK_OK(kernel->Enqueue(run));
    for (const auto& kernel : from_tested_) PT_CHECK_OK(kernel->Enqueue(run));
    for (const Comparison& comparison : check_->comparisons) {
      const std::string difference =
          Difference(own_[comparison.actual], own_[comparison.expected], comparison.tolerance, comparison.steps);
      if (difference.empty()) continue;
      return MakeError(ErrorCode::kMismatch, "checking.mismatch",
                       check_->label + ": output " + std::to_string(comparison.output) + ": " + difference);
    }
    return {};
  }

 private:
  explicit BoundCheck(std::shared_ptr<const Check> check) : check_(std::move(check)) {}

  Result<void*> Allocate(uint64_t bytes) {
    PT_ASSIGN(std::unique_ptr<DeviceBuffer> buffer, check_->driver->Allocate(std::max<uint64_t>(1, bytes)));
    void* data = buffer->data();
    buffers_.push_back(std::move(buffer));
    return data;
  }
  Status Add(const Kernel& kernel, TensorSlots in, TensorSlots out, std::vector<std::unique_ptr<BoundKernel>>& to) {
    const uint64_t bytes = kernel.scratch_bytes();
    PT_ASSIGN(void* scratch, Allocate(bytes));
    PT_ASSIGN(std::unique_ptr<BoundKernel> bound,
              kernel.Bind(in, out, {static_cast<std::byte*>(scratch), static_cast<size_t>(bytes)}));
    to.push_back(std::move(bound));
    return {};
  }

  std::shared_ptr<const Check> check_;
  std::vector<std::unique_ptr<DeviceBuffer>> buffers_;
  std::vector<TensorView> own_;
  std::unique_ptr<BoundKernel> tested_;
  std::vector<std::unique_ptr<BoundKernel>> to_own_, oracle_, from_tested_;
};

class CheckKernel final : public Kernel {
 public:
  explicit CheckKernel(std::shared_ptr<const Check> check) : check_(std::move(check)) {}
  uint64_t scratch_bytes() const override { return check_->tested->scratch_bytes(); }
  Result<std::unique_ptr<BoundKernel>> Bind(TensorSlots in, TensorSlots out,
                                            std::span<std::byte> scratch) const override {
    return BoundCheck::Make(check_, in, out, scratch);
  }

 private:
  std::shared_ptr<const Check> check_;
};

class CheckingLibrary final : public Library, public TellsOfNan {
 public:
  CheckingLibrary(std::unique_ptr<Library> tested, std::unique_ptr<Library> oracle)
      : tested_(std::move(tested)), oracle_(std::move(oracle)), name_("checking:" + std::string(tested_->name())) {}

  std::string_view name() const override { return name_; }
  std::string version() const override { return tested_->version() + " against " + oracle_->version(); }
  bool Serves(const Platform& platform, DeviceId device) const override {
    return tested_->Serves(platform, device) && oracle_->Serves(platform, device);
  }
  Precision Modes(const Platform& platform) const override { return tested_->Modes(platform); }
  std::vector<Candidate> Candidates(const Graph& graph, const Platform& platform,
                                    const Precision& precision) const override {
    return Renamed(tested_->Candidates(graph, platform, precision));
  }
  std::vector<Candidate> AgnosticCandidates(const Graph& graph, const Platform& platform,
                                            std::span<const Candidate> so_far) const override {
    return Renamed(tested_->AgnosticCandidates(graph, platform, so_far));
  }
  std::vector<Candidate> CandidatesFor(const Graph& graph, const Platform& platform, std::span<const NodeId> nodes,
                                       const Precision& precision) const override {
    return Renamed(tested_->CandidatesFor(graph, platform, nodes, precision));
  }
  Result<Candidate> Describe(const Graph& graph, const Platform& platform, const Candidate& asked) const override {
    PT_ASSIGN(Candidate described, tested_->Describe(graph, platform, AsTested(asked)));
    described.library = name_;
    return described;
  }
  std::optional<std::string> WhyUnsupported(const Graph& graph, NodeId node) const override {
    std::optional<std::string> why = tested_->WhyUnsupported(graph, node);
    return why ? why : oracle_->WhyUnsupported(graph, node);
  }

  Result<std::unique_ptr<Kernel>> Compile(const Graph& graph, const Candidate& candidate,
                                          std::span<const TensorLayout> in, std::span<const TensorLayout> out,
                                          CompileContext& context) const override {
    auto check = std::make_shared<Check>();
    check->label = name_ + " " + NodeLabel(graph, candidate.nodes.back());
    check->driver = &context.device;
    PT_ASSIGN(check->tested, tested_->Compile(graph, AsTested(candidate), in, out, context));
    std::map<ValueId, size_t> own;  // where the oracle keeps each value
    const std::vector<ValueId> inputs = GroupInputs(graph, candidate.nodes);
    for (size_t i = 0; i < inputs.size(); ++i) {
      PT_ASSIGN(const size_t at, Own(graph, inputs[i], own, *check));
      check->inputs.push_back(at);
      PT_ASSIGN(std::unique_ptr<Kernel> reorder, oracle_->CompileReorder(in[i], check->own[at], context));
      check->to_own.push_back(std::move(reorder));
    }
    for (NodeId id : candidate.nodes) PT_CHECK_OK(AddOracleStep(graph, candidate, id, own, context, *check));
    const std::vector<ValueId> outputs = GroupOutputs(graph, candidate.nodes);
    for (size_t i = 0; i < outputs.size(); ++i) {
      size_t expected = own.at(outputs[i]);
      TensorLayout compared = check->own[expected];
      if (IsFloating(compared.type)) compared.type = DataType::kFloat32;
      if (compared.type != check->own[expected].type) {
        OracleStep widen;
        widen.in = {expected};
        widen.out = {check->own.size()};
        PT_ASSIGN(widen.kernel, oracle_->CompileReorder(check->own[expected], compared, context));
        check->steps.push_back(std::move(widen));
        expected = check->own.size();
        check->own.push_back(compared);
      }
      const size_t actual = check->own.size();
      check->own.push_back(compared);
      PT_ASSIGN(std::unique_ptr<Kernel> reorder, oracle_->CompileReorder(out[i], compared, context));
      check->from_tested.push_back(std::move(reorder));
      check->comparisons.push_back({expected, actual, i,
                                    RelativeTolerance(candidate.math, graph.value(outputs[i]).type.type),
                                    StepTolerance(graph, candidate.nodes, outputs[i])});
    }
    return std::unique_ptr<Kernel>(std::make_unique<CheckKernel>(std::move(check)));
  }

  bool CanReorder(const Platform& platform, UnitClassId unit_class, std::span<const int64_t> dims, const Form& from,
                  const Form& to) const override {
    return tested_->CanReorder(platform, unit_class, dims, from, to);
  }
  Result<std::unique_ptr<Kernel>> CompileReorder(const TensorLayout& from, const TensorLayout& to,
                                                 CompileContext& context) const override {
    return tested_->CompileReorder(from, to, context);
  }
  bool KeepsNan(const Graph& graph, const Candidate& candidate) const override {
    return pt::KeepsNan(*tested_, graph, AsTested(candidate));
  }
  std::optional<int64_t> KnownCost(const Graph& graph, const Platform& platform,
                                   const Candidate& candidate) const override {
    return tested_->KnownCost(graph, platform, AsTested(candidate));
  }

 private:
  std::vector<Candidate> Renamed(std::vector<Candidate> candidates) const {
    for (Candidate& candidate : candidates) candidate.library = name_;
    return candidates;
  }

  Candidate AsTested(Candidate candidate) const {
    candidate.library = tested_->name();
    return candidate;
  }

  static Result<size_t> Own(const Graph& graph, ValueId value, std::map<ValueId, size_t>& own, Check& check) {
    const auto [at, fresh] = own.try_emplace(value, check.own.size());
    if (!fresh) return at->second;
    const ValueType& type = graph.value(value).type;
    const std::optional<std::vector<int64_t>> dims = type.static_dims();
    if (!dims) return MakeError(ErrorCode::kUnsupported, "checking.dims", "values of unknown size cannot be checked");
    PT_ASSIGN(TensorLayout layout, DenseLayout(type.type, *dims, RowMajor(dims->size())));
    check.own.push_back(std::move(layout));
    return at->second;
  }

  Status AddOracleStep(const Graph& graph, const Candidate& candidate, NodeId id, std::map<ValueId, size_t>& own,
                       CompileContext& context, Check& check) const {
    // The node alone may make values that the group keeps to itself: GroupOutputs of it names them all.
    const std::vector<Candidate> ways = oracle_->CandidatesFor(graph, context.platform, {&id, 1}, Precision());
    const auto way = std::find_if(ways.begin(), ways.end(),
                                  [&](const Candidate& c) { return c.unit_class == candidate.unit_class; });
    if (way == ways.end()) {
      return MakeError(ErrorCode::kUnsupported, "checking.oracle", "the oracle cannot run " + NodeLabel(graph, id));
    }
    OracleStep step;
    std::vector<TensorLayout> in, out;
    for (ValueId value : GroupInputs(graph, {&id, 1})) {
      PT_ASSIGN(const size_t at, Own(graph, value, own, check));
      step.in.push_back(at);
      in.push_back(check.own[at]);
    }
    for (ValueId value : GroupOutputs(graph, {&id, 1})) {
      PT_ASSIGN(const size_t at, Own(graph, value, own, check));
      step.out.push_back(at);
      out.push_back(check.own[at]);
    }
    PT_ASSIGN(step.kernel, oracle_->Compile(graph, *way, in, out, context));
    check.steps.push_back(std::move(step));
    return {};
  }

  std::unique_ptr<Library> tested_, oracle_;
  std::string name_;
};

}  // namespace

std::unique_ptr<Library> MakeCheckingLibrary(std::unique_ptr<Library> tested, std::unique_ptr<Library> oracle) {
  return std::make_unique<CheckingLibrary>(std::move(tested), std::move(oracle));
}

}  // namespace pt
