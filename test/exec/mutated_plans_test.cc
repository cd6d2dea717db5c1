// Whatever a plan file says: it is refused with a reason, or the run is right. Plans with views, slices, in-place
// chains, accumulating kernels, reorders and copies to a second device are damaged at random, alone and in pairs, and
// edited as the rules allow; all of it goes the whole way from JSON to the outputs of a session.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <limits>
#include <map>
#include <set>

#include "lib/plan/work.h"
#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/cost/table_costs.h"
#include "partitiontuner/exec/judge_plan.h"
#include "partitiontuner/graph/graph_text.h"
#include "partitiontuner/onnx/infer_shapes.h"
#include "partitiontuner/plan/memory_plan.h"
#include "partitiontuner/plan/plan_json.h"
#include "partitiontuner/planner/planner.h"
#include "partitiontuner/profiler/measure.h"
#include "partitiontuner/version.h"
#include "test/testing/plan_edits.h"
#include "test/testing/plan_mutator.h"
#include "test/testing/real_machine.h"
#include "test/testing/run_candidate.h"
#include "test/testing/test_machine.h"

namespace pt::testing::mutated_plans_test {
namespace {

// Views, a chain of elementwise kernels, a value that is read again late.
constexpr const char* kViews =
    "input x float32[2,3,8]\nconst s int64[3] ints 3 2 8\nconst t int64[2] ints 6 8\n"
    "a = Relu(x)\nb = Reshape(a, s)\nc = Sigmoid(b)\nd = Tanh(c)\ne = Reshape(d, t)\nf = Neg(e)\n"
    "g = Reshape(a, t)\nh = Add(f, g)\ni = Abs(h)\noutput i\noutput d\n";
// Two concatenations that share an input.
constexpr const char* kSlices =
    "input x float32[1,4,6]\na = Relu(x)\nb = Sigmoid(x)\nc = Tanh(x)\n"
    "p = Concat(a, b) axis=1\nq = Concat(a, c) axis=1\nr = Neg(p)\ns = Abs(q)\ny = Add(r, s)\noutput y\n";
// Residual blocks, which oneDNN computes into the buffer of what they add.
constexpr const char* kResidual =
    "input x float32[1,16,6,6]\nconst u float32[16,16,3,3] random 1\nconst v float32[16,16,3,3] random 2\n"
    "const w float32[16,16,1,1] random 3\n"
    "a = Conv(x, u) pads=[1,1,1,1]\nb = Relu(a)\nc = Conv(b, v) pads=[1,1,1,1]\nd = Conv(x, w)\ne = Add(c, d)\n"
    "f = Relu(e)\ng = Conv(f, w)\nh = Add(g, b)\ni = MaxPool(h) kernel_shape=[2,2] strides=[2,2]\noutput i\n";
// Branches that join, in the layouts of convolutions.
constexpr const char* kBranches =
    "input x float32[1,16,6,6]\nconst u float32[16,16,1,1] random 4\nconst v float32[16,16,3,3] random 5\n"
    "a = Conv(x, u)\nb = Conv(x, v) pads=[1,1,1,1]\nc = Relu(a)\nd = Sigmoid(b)\ne = Concat(c, d, b) axis=1\n"
    "f = Relu(e)\ng = GlobalAveragePool(f)\nh = Mul(f, g)\noutput h\n";

LentTensor Borrow(const Tensor& tensor) {
  const auto bytes = tensor.bytes();
  return {tensor.type(), tensor.dims(), const_cast<std::byte*>(bytes.data()), bytes.size()};
}

// What a run is given and what must come out: by the reference library, and bit for bit by a plan's sequential twin.
struct Case {
  std::vector<Tensor> inputs, expected;
};

using Outputs = std::vector<Tensor>;

// The outputs, or why there are none.
Result<Outputs> RunOn(Session& session, const Case& c) {
  std::vector<std::vector<float>> storage;
  std::vector<LentTensor> in, out;
  for (const Tensor& input : c.inputs) in.push_back(Borrow(input));
  for (const Tensor& expected : c.expected) {
    // No output may keep what it held before.
    storage.emplace_back(expected.element_count(), std::numeric_limits<float>::quiet_NaN());
    out.push_back({DataType::kFloat32, expected.dims(), storage.back().data(), storage.back().size() * sizeof(float)});
  }
  RunOptions options;
  options.deadline = std::chrono::seconds(60);  // a run that waits for ever is wrong, not refused
  PT_CHECK_OK(session.Run(in, out, options));
  Outputs outputs;
  for (size_t i = 0; i < storage.size(); ++i) outputs.push_back(Tensor::Float32(c.expected[i].dims(), storage[i]));
  return outputs;
}

bool SameBits(const Outputs& a, const Outputs& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(a[i].bytes().data(), b[i].bytes().data(), b[i].bytes().size()) != 0) return false;
  }
  return true;
}

// The kernels of a plan, whatever their order, units and places.
std::multiset<std::string> KernelsOf(const Plan& plan) {
  std::multiset<std::string> kernels;
  for (const Step& step : plan.steps) {
    const auto* group = std::get_if<RunGroup>(&step.work);
    if (group == nullptr) continue;
    const Candidate& candidate = plan.candidates[group->candidate.index()];
    std::string text = candidate.library + " " + candidate.variant + " " + std::to_string(candidate.unit_class.value);
    for (NodeId node : candidate.nodes) text += " " + std::to_string(node.value);
    for (const Form& form : candidate.in) text += " " + ToString(form.layout);
    for (const Form& form : candidate.out) text += " > " + ToString(form.layout);
    kernels.insert(text);
  }
  return kernels;
}

struct Base {
  Plan plan;
  std::multiset<std::string> kernels;
  std::vector<Outputs> twin;  // by case
};

struct Features {
  size_t views = 0, slices = 0, in_place = 0, accumulating = 0, reorders = 0, copies = 0;
};

// A graph on the machine with plans of it.
class Scene {
 public:
  Scene(Machine& machine, const char* text, uint64_t first_seed, size_t plans) : machine_(machine) {
    graph_ = std::make_shared<const Graph>(InferShapes(ParseGraph(text).value()).value());
    MakeCases();
    candidates_ = EnumerateCandidates(*graph_, machine.platform(), machine.libraries());
    SetCosts();
    for (uint64_t seed = first_seed; bases_.size() < plans && seed < first_seed + 100; ++seed) AddBase(seed);
    CHECK(bases_.size() == plans);
  }

  const Graph& graph() const { return *graph_; }
  const std::vector<Base>& bases() const { return bases_; }

  // Empty when the session's outputs are those of the base: bit for bit where the kernels are the same.
  std::string WrongResult(Session& session, const Base& base) const {
    const bool same_kernels = KernelsOf(*session.plan()) == base.kernels;
    // With other inputs each time: what an earlier run left in memory is no right result.
    for (size_t c = 0; c < cases_.size(); ++c) {
      const Result<Outputs> outputs = RunOn(session, cases_[c]);
      if (!outputs.ok()) return IsRefusal(outputs.error()) ? "" : "does not run: " + ToString(outputs.error());
      if (same_kernels && !SameBits(*outputs, base.twin[c])) return "other bits than the sequential twin";
      for (size_t i = 0; i < outputs->size(); ++i) {
        const std::string difference = Difference((*outputs)[i], cases_[c].expected[i], 1e-4);
        if (!difference.empty()) return "output " + std::to_string(i) + ": " + difference;
      }
    }
    return "";
  }

  Result<std::unique_ptr<Session>> MakeSession(const Plan& plan, bool sequential = false) const {
    SessionOptions options;
    options.sequential = sequential;
    options.run_bytes = uint64_t{64} << 20;
    return Session::Create(graph_, plan, machine_, options);
  }

  // A reason of the plan's, and no failure of ours.
  static bool IsRefusal(const Error& error) {
    const ErrorCode code = error.code;
    return !error.message.empty() &&
           (code == ErrorCode::kInvalidInput || code == ErrorCode::kStale || code == ErrorCode::kUnsupported ||
            code == ErrorCode::kDeviceUnusable || code == ErrorCode::kOutOfMemory);
  }

  void Count(Features& features) const {
    for (const Base& base : bases_) CountIn(base.plan, features);
  }

 private:
  void MakeCases() {
    const std::unique_ptr<Library> oracle = MakeReferenceLibrary();
    for (uint64_t seed : {1u, 2u}) {
      Case c;
      for (ValueId input : graph_->inputs()) {
        c.inputs.push_back(RandomTensor(DataType::kFloat32, *graph_->value(input).type.static_dims(), seed));
      }
      c.expected = RunGraph(*graph_, machine_.platform(), *oracle, c.inputs).value();
      cases_.push_back(std::move(c));
    }
  }

  void SetCosts() {
    for (const Candidate& candidate : candidates_) costs_.SetRunOf(candidate, 1000);
    costs_.SetReorder([this](std::span<const int64_t> dims, const Form& from, const Form& to,
                             UnitClassId unit_class) -> std::optional<int64_t> {
      return ReorderLibrary(machine_, unit_class, dims, from, to) == nullptr ? std::nullopt
                                                                             : std::optional<int64_t>(100);
    });
    for (size_t l = 0; l < machine_.platform().links.size(); ++l) costs_.SetLink(LinkId(l), 10, 1);
  }

  // By turns all of them, those of the host, and of these the accumulating ones wherever there are any: chance alone
  // seldom puts whole branches on one device.
  std::vector<Candidate> CandidatesFor(uint64_t seed) const {
    std::vector<Candidate> chosen = candidates_;
    if (seed % 3 == 0) return chosen;
    std::erase_if(chosen, [&](const Candidate& c) { return machine_.platform().unit_class(c.unit_class).cores == 0; });
    if (seed % 3 == 1) return chosen;
    const auto accumulates = [](const Candidate& c) {
      return std::any_of(c.aliases.begin(), c.aliases.end(),
                         [](const Alias& alias) { return alias.kind == Alias::Kind::kRequired; });
    };
    std::set<NodeId> sums;
    for (const Candidate& c : chosen) {
      for (NodeId node : c.nodes) {
        if (accumulates(c) && graph_->node(node).op == "Add") sums.insert(node);
      }
    }
    std::erase_if(chosen, [&](const Candidate& c) {
      return !accumulates(c) && std::any_of(c.nodes.begin(), c.nodes.end(), [&](NodeId n) { return sums.contains(n); });
    });
    return chosen;
  }

  void AddBase(uint64_t seed) {
    const std::string argument = std::to_string(seed);
    const std::vector<Candidate> candidates = CandidatesFor(seed);
    PlanningProblem problem{*graph_, machine_.platform(), candidates, costs_};
    problem.argument = argument;
    Result<Plan> made = FindPlanner("random").value()->make_plan(problem, nullptr);
    if (!made.ok()) return;  // too few candidates were left to choose from
    Base base{std::move(*made), {}, {}};
    Plan& plan = base.plan;
    for (Step& step : plan.steps) {
      auto* reorder = std::get_if<Reorder>(&step.work);
      if (reorder == nullptr) continue;
      const Instance& from = plan.instances[reorder->from.index()];
      const UnitClassId unit_class = machine_.platform().unit(step.unit).unit_class;
      reorder->library = ReorderLibrary(machine_, unit_class, *graph_->value(from.value).type.static_dims(), from.form,
                                        plan.instances[reorder->to.index()].form)
                             ->name();
    }
    plan.made_for.tool_version = kVersion;
    plan.made_for.libraries = LibraryVersions(machine_.libraries());
    plan.made_for.graph_hash = ToHex(GraphHash(*graph_));
    plan.made_for.opset = graph_->opset();
    plan.made_for.platform = machine_.platform();
    base.kernels = KernelsOf(plan);
    const auto twin = MakeSession(plan, true);
    if (!twin.ok()) FAIL(ToString(twin.error()));
    for (const Case& c : cases_) base.twin.push_back(RunOn(**twin, c).value());
    CHECK(WrongResult(**MakeSession(plan), base) == "");
    bases_.push_back(std::move(base));
  }

  void CountIn(const Plan& plan, Features& features) const {
    const std::vector<bool> elided = ElidedSteps(*graph_, plan);
    std::map<InstanceId, uint64_t> offsets;
    for (const auto& [device, arena] : plan.memory) {
      for (const Placement& place : arena.placements) offsets[place.instance] = place.offset;
    }
    for (size_t s = 0; s < plan.steps.size(); ++s) {
      const Work& work = plan.steps[s].work;
      features.copies += std::holds_alternative<Copy>(work);
      features.reorders += std::holds_alternative<Reorder>(work);
      const auto* group = std::get_if<RunGroup>(&work);
      if (group == nullptr) continue;
      const Candidate& candidate = plan.candidates[group->candidate.index()];
      features.views += elided[s] && candidate.elision == Elision::kViewOfInput;
      features.slices += elided[s] && candidate.elision == Elision::kSlicesOfOutput;
      for (const Alias& alias : candidate.aliases) {
        const auto in = offsets.find(group->in[alias.in]);
        const auto out = offsets.find(group->out[alias.out]);
        features.accumulating += alias.kind == Alias::Kind::kRequired;
        features.in_place += in != offsets.end() && out != offsets.end() && in->second == out->second && !elided[s];
      }
    }
  }

  Machine& machine_;
  std::shared_ptr<const Graph> graph_;
  std::vector<Candidate> candidates_;
  TableCosts costs_;
  std::vector<Case> cases_;
  std::vector<Base> bases_;
};

// Plans of every graph; they hold every way to share bytes and to move them.
std::vector<Scene> MakeScenes(Machine& machine, uint64_t seed, size_t plans) {
  std::vector<Scene> scenes;
  Features features;
  scenes.reserve(4);
  for (const char* graph : {kViews, kSlices, kResidual, kBranches}) scenes.emplace_back(machine, graph, seed, plans);
  for (const Scene& scene : scenes) scene.Count(features);
  INFO("seed " << seed);
  CHECK(features.views > 0);
  CHECK(features.slices > 0);
  CHECK(features.in_place > 0);
  CHECK(features.accumulating > 0);
  CHECK(features.reorders > 0);
  CHECK(features.copies > 0);
  return scenes;
}

Result<Plan> ReadBack(const Json& json) {
  PT_ASSIGN(const Json parsed, ParseJson(WriteJson(json, -1), "mutated"));
  return PlanFromJson(parsed, "mutated");
}

void RunMutations(uint64_t seed, size_t count, size_t plans) {
  const std::unique_ptr<Machine> machine = MakeRealMachine(2, true);
  const std::vector<Scene> scenes = MakeScenes(*machine, seed, plans);
  std::mt19937_64 random(seed);
  size_t unread = 0, refused = 0, ran = 0, wrong = 0;
  for (size_t m = 0; m < count; ++m) {
    const Scene& scene = scenes[m % scenes.size()];
    const Base& base = scene.bases()[random() % scene.bases().size()];
    Json json = ToJson(base.plan, scene.graph());
    // Beside their names few changed indices come far.
    if (random() % 4 != 0) DropNames(json);
    std::string what = Mutate(json, random);
    if (m % 2 == 1) what += "; " + Mutate(json, random);
    INFO("seed " << seed << ", mutation " << m << ": " << what);
    const Result<Plan> plan = ReadBack(json);
    if (!plan.ok()) {
      ++unread;
      if (!Scene::IsRefusal(plan.error())) FAIL_CHECK(ToString(plan.error()));
      continue;
    }
    const auto session = scene.MakeSession(*plan);
    if (!session.ok()) {
      ++refused;
      if (!Scene::IsRefusal(session.error())) FAIL_CHECK(ToString(session.error()));
      continue;
    }
    ++ran;
    const std::string why = scene.WrongResult(**session, base);
    if (why.empty()) continue;
    ++wrong;
    FAIL_CHECK(why);
  }
  WARN("seed " << seed << ": of " << count << " mutated plans " << unread << " could not be read, " << refused
               << " were refused, " << ran << " ran, " << wrong << " of them wrong");
  CHECK(wrong == 0);
  CHECK(unread > count / 20);
  CHECK(refused > count / 20);
  CHECK(ran > count / 20);
}

void RunEdits(uint64_t seed, size_t count, size_t plans) {
  const std::unique_ptr<Machine> machine = MakeRealMachine(2, true);
  const std::vector<Scene> scenes = MakeScenes(*machine, seed, plans);
  std::mt19937_64 random(seed);
  size_t reordered = 0, swapped = 0;
  for (size_t e = 0; e < count; ++e) {
    const Scene& scene = scenes[e % scenes.size()];
    const Base& base = scene.bases()[random() % scene.bases().size()];
    Plan plan = base.plan;
    const uint64_t kinds = 1 + random() % 7;
    if ((kinds & 1) != 0) MoveApart(scene.graph(), plan, random);
    SpellOutWaits(plan);
    if ((kinds & 2) != 0) ReorderSteps(plan, random);
    if ((kinds & 4) != 0) SwapUnits(machine->platform(), plan, random);
    for (size_t s = 0; s < plan.steps.size(); ++s) {
      reordered += WritesOf(plan.steps[s].work)[0] != WritesOf(base.plan.steps[s].work)[0];
      swapped += plan.steps[s].unit != base.plan.steps[s].unit;
    }
    INFO("seed " << seed << ", edit " << e << ", kinds " << kinds);
    const Result<Plan> read = ReadBack(ToJson(plan, scene.graph()));
    if (!read.ok()) FAIL(ToString(read.error()));
    const auto session = scene.MakeSession(*read);
    if (!session.ok()) FAIL(ToString(session.error()));
    CHECK(KernelsOf(plan) == base.kernels);
    CHECK(scene.WrongResult(**session, base) == "");
  }
  CHECK(reordered > count);
  CHECK(swapped > count);
}

}  // namespace

TEST_CASE("MutatedPlans, AreRefusedOrRight", "[exec]") { RunMutations(1, 300, 3); }

TEST_CASE("MutatedPlans, TenThousandAreRefusedOrRight", "[exec][slow]") { RunMutations(20, 10000, 9); }

TEST_CASE("EditedPlans, AreAcceptedAndRight", "[exec]") { RunEdits(2, 60, 3); }

TEST_CASE("EditedPlans, AThousandAreAcceptedAndRight", "[exec][slow]") { RunEdits(30, 1000, 9); }

}  // namespace pt::testing::mutated_plans_test
