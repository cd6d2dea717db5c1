#include "test/testing/planning_world.h"

#include <algorithm>
#include <functional>
#include <map>
#include <random>

namespace pt::testing {
namespace {

constexpr int64_t kSide = 4;

ValueType Channels(int64_t channels) { return StaticType(DataType::kFloat32, {2, channels, kSide, kSide}); }

int64_t ChannelsOf(const Graph& graph, ValueId value) { return graph.value(value).type.dims[1].value; }

// Adds operators to a builder, naming outputs v0, v1, …
class Shapes {
 public:
  Shapes() { builder_.set_opset(25); }
  ValueId Input(int64_t channels = 8) { return builder_.AddInput("x" + std::to_string(inputs_++), Channels(channels)); }
  ValueId Conv(ValueId in, int64_t channels = 0) {
    const ValueId weight = builder_.AddConstant("w" + std::to_string(next_), Tensor::Float32({1}, {1.0F}));
    return Add("Conv", {in, weight}, channels != 0 ? channels : ChannelsOf(builder_.graph(), in));
  }
  ValueId Relu(ValueId in) { return Add("Relu", {in}, ChannelsOf(builder_.graph(), in)); }
  ValueId Sum(ValueId a, ValueId b) { return Add("Add", {a, b}, ChannelsOf(builder_.graph(), a)); }
  ValueId Reshape(ValueId in) { return Add("Reshape", {in}, ChannelsOf(builder_.graph(), in)); }
  // Both halves of the channels, as two outputs of one node.
  std::vector<ValueId> Split(ValueId in) {
    const ValueType half = Channels(channels(in) / 2);
    Node node;
    node.op = "Split";
    node.attributes = {{"axis", int64_t{1}}, {"num_outputs", int64_t{2}}};
    node.inputs = {in};
    for (int i = 0; i < 2; ++i) node.outputs.push_back(builder_.AddValue(Name(), half));
    builder_.AddNode(node);
    return node.outputs;
  }
  ValueId Concat(std::vector<ValueId> in) {
    int64_t channels = 0;
    for (ValueId v : in) channels += ChannelsOf(builder_.graph(), v);
    return builder_.AddOp("Concat", std::move(in), Channels(channels), {{"axis", int64_t{1}}}, Name());
  }
  int64_t channels(ValueId v) const { return ChannelsOf(builder_.graph(), v); }
  Graph Build(const std::vector<ValueId>& outputs) {
    for (ValueId v : outputs) builder_.AddOutput(v);
    return builder_.Build().value();
  }

 private:
  std::string Name() { return "v" + std::to_string(next_++); }
  ValueId Add(std::string op, std::vector<ValueId> in, int64_t channels) {
    return builder_.AddOp(std::move(op), std::move(in), Channels(channels), {}, Name());
  }
  GraphBuilder builder_;
  int inputs_ = 0;
  int next_ = 0;
};

UnitClassId AddClass(Platform& platform, std::string name, DeviceId device, uint32_t cores) {
  platform.unit_classes.push_back({std::move(name), device, cores});
  return UnitClassId(platform.unit_classes.size() - 1);
}

void AddCopyEngine(Platform& platform, DeviceId from, DeviceId to, ResourceId driver) {
  const std::string name = platform.device(from).name + ">" + platform.device(to).name;
  platform.links.push_back({from, to, 0, 0});
  platform.resources.push_back({"link " + name, 1.0, std::nullopt});
  const UnitClassId unit_class = AddClass(platform, name, DeviceId(1u), 0);
  platform.units.push_back({name,
                            unit_class,
                            {{ResourceId(platform.resources.size() - 1), 1.0}},
                            driver,
                            LinkId(platform.links.size() - 1)});
}

// Adds candidates and their times.
class Proposer {
 public:
  Proposer(World& world, const WorldOptions& options, uint64_t seed)
      : world_(world), options_(options), random_(seed) {}

  void Run() {
    for (size_t n = 0; n < world_.graph.nodes().size(); ++n) Propose({NodeId(n)});
    if (!options_.fused) return;
    for (size_t n = 0; n < world_.graph.nodes().size(); ++n) {
      if (world_.graph.nodes()[n].op != "Conv") continue;
      std::vector<NodeId> nodes = {NodeId(n)};
      for (const char* next : {"Add", "Relu"}) {
        const NodeId reader = OnlyReader(nodes.back());
        if (!reader.valid() || world_.graph.node(reader).op != next) continue;
        nodes.push_back(reader);
        Propose(nodes);
      }
    }
  }

 private:
  NodeId OnlyReader(NodeId node) const {
    const Value& out = world_.graph.value(world_.graph.node(node).outputs[0]);
    if (out.is_graph_output || out.uses.size() != 1) return NodeId();
    return out.uses[0].node;
  }

  void Propose(std::vector<NodeId> nodes) {
    std::sort(nodes.begin(), nodes.end());
    const bool view = nodes.size() == 1 && world_.graph.node(nodes[0]).op == "Reshape";
    int64_t ns = 0;
    for (NodeId node : nodes) ns += Time(world_.graph.node(node).op);
    if (nodes.size() > 1) ns = ns * 9 / 10;
    for (size_t c = 0; c < world_.platform.unit_classes.size(); ++c) {
      const UnitClass& unit_class = world_.platform.unit_classes[c];
      if (unit_class.name.find('>') != std::string::npos) continue;
      const double speed = unit_class.name == "cpu/1"   ? 1.0
                           : unit_class.name == "cpu/2" ? 0.55 + 0.1 * Unit()
                           : unit_class.name == "cpu/4" ? 0.3 + 0.1 * Unit()
                                                        : 0.2 + Unit();
      const auto base = static_cast<int64_t>(static_cast<double>(ns) * speed);
      Offer(nodes, UnitClassId(c), false, view, base);
      if (options_.blocked && !view) Offer(nodes, UnitClassId(c), true, view, base * 8 / 10);
    }
  }

  void Offer(const std::vector<NodeId>& nodes, UnitClassId unit_class, bool blocked, bool view, int64_t ns) {
    const Graph& graph = world_.graph;
    const Form form = {blocked ? ChannelBlocked(4, 8) : RowMajor(4), DataType::kFloat32};
    Candidate candidate;
    candidate.nodes = nodes;
    candidate.unit_class = unit_class;
    candidate.library = "made-up";
    candidate.variant = blocked ? "blocked" : "plain";
    candidate.in.assign(GroupInputs(graph, nodes).size(), form);
    candidate.out.assign(GroupOutputs(graph, nodes).size(), form);
    const std::string& op = graph.node(nodes.back()).op;
    const bool read = !candidate.out.empty();  // results of dead nodes are no outputs of a group
    if (read && nodes.size() == 1 && (op == "Relu" || op == "Add"))
      candidate.aliases.push_back({0, 0, Alias::Kind::kAllowed});
    const bool sums = std::any_of(nodes.begin(), nodes.end(), [&](NodeId n) { return graph.node(n).op == "Add"; });
    if (read && nodes.size() > 1 && sums && candidate.in.size() == 2) {
      const std::vector<ValueId> in = GroupInputs(graph, nodes);
      const ValueId conv_in = graph.node(nodes.front()).inputs[0];
      candidate.aliases.push_back({0, in[0] == conv_in ? 1u : 0u, Alias::Kind::kRequired});
    }
    if (op == "Conv") candidate.scratch_bytes = 100;
    if (options_.elided && view) candidate.elision = Elision::kViewOfInput;
    if (options_.elided && op == "Concat") candidate.elision = Elision::kSlicesOfOutput;
    world_.costs.SetRunOf(candidate, std::max<int64_t>(1, ns));
    world_.candidates.push_back(std::move(candidate));
  }

  double Unit() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  int64_t Time(const std::string& op) {
    const double most = op == "Conv" ? 40000 : op == "Concat" ? 8000 : 4000;
    return static_cast<int64_t>(most * (0.25 + 0.75 * Unit()));
  }

  World& world_;
  const WorldOptions& options_;
  std::mt19937_64 random_;
};

}  // namespace

Platform TwoCores(bool accelerator) {
  Platform platform;
  platform.devices.push_back({"cpu", "cpu", 0, false, "made-up"});
  for (uint32_t core : {0u, 1u}) platform.resources.push_back({"core " + std::to_string(core), 1.0, core});
  const UnitClassId narrow = AddClass(platform, "cpu/1", DeviceId(0u), 1);
  const UnitClassId wide = AddClass(platform, "cpu/2", DeviceId(0u), 2);
  const ResourceId core0(0u);
  const ResourceId core1(1u);
  platform.units.push_back({"cpu[0]", narrow, {{core0, 1.0}}, std::nullopt, std::nullopt});
  platform.units.push_back({"cpu[1]", narrow, {{core1, 1.0}}, std::nullopt, std::nullopt});
  platform.units.push_back({"cpu[0-1]", wide, {{core0, 1.0}, {core1, 1.0}}, std::nullopt, std::nullopt});
  if (!accelerator) return platform;
  platform.devices.push_back({"acc:0", "simulated", 0, true, "made-up"});
  platform.resources.push_back({"acc:0", 1.0, std::nullopt});
  const ResourceId queue(platform.resources.size() - 1);
  const UnitClassId unit_class = AddClass(platform, "acc:0", DeviceId(1u), 0);
  platform.units.push_back({"acc:0#0", unit_class, {{queue, 1.0}}, core1, std::nullopt});
  AddCopyEngine(platform, DeviceId(0u), DeviceId(1u), core1);
  AddCopyEngine(platform, DeviceId(1u), DeviceId(0u), core1);
  return platform;
}

Platform Cores(uint32_t count) {
  Platform platform;
  platform.devices.push_back({"cpu", "cpu", 0, false, "made-up"});
  for (uint32_t core = 0; core < count; ++core) {
    platform.resources.push_back({"core " + std::to_string(core), 1.0, core});
  }
  for (uint32_t width = 1; width <= count; width *= 2) {
    const UnitClassId unit_class = AddClass(platform, "cpu/" + std::to_string(width), DeviceId(0u), width);
    for (uint32_t first = 0; first < count; first += width) {
      Unit unit;
      unit.name = "cpu[" + std::to_string(first) + "-" + std::to_string(first + width - 1) + "]";
      unit.unit_class = unit_class;
      for (uint32_t core = first; core < first + width; ++core) unit.uses.emplace_back(ResourceId(core), 1.0);
      platform.units.push_back(std::move(unit));
    }
  }
  return platform;
}

Graph Chain(size_t nodes) {
  Shapes shapes;
  ValueId v = shapes.Input();
  for (size_t n = 0; n < nodes; ++n) v = n % 2 == 0 ? shapes.Conv(v) : shapes.Relu(v);
  return shapes.Build({v});
}

Graph Diamond() {
  Shapes shapes;
  const ValueId top = shapes.Conv(shapes.Input());
  const ValueId left = shapes.Relu(top);
  const ValueId right = shapes.Conv(top);
  return shapes.Build({shapes.Sum(left, right)});
}

Graph Inception(size_t blocks) {
  Shapes shapes;
  ValueId v = shapes.Input();
  for (size_t b = 0; b < blocks; ++b) {
    v = shapes.Relu(shapes.Conv(v, 8));
    const ValueId one = shapes.Relu(shapes.Conv(v));
    const ValueId two = shapes.Relu(shapes.Conv(shapes.Relu(shapes.Conv(v))));
    const ValueId three = shapes.Relu(shapes.Conv(shapes.Relu(shapes.Conv(v))));
    const ValueId four = shapes.Relu(shapes.Conv(v));
    v = shapes.Concat({one, two, three, four});
  }
  return shapes.Build({shapes.Reshape(shapes.Relu(v))});
}

Graph Residual(size_t blocks) {
  Shapes shapes;
  ValueId v = shapes.Relu(shapes.Conv(shapes.Input()));
  for (size_t b = 0; b < blocks; ++b) {
    const ValueId inner = shapes.Conv(shapes.Relu(shapes.Conv(v)));
    v = shapes.Relu(shapes.Sum(inner, v));
  }
  return shapes.Build({v});
}

Graph Fan(size_t readers) {
  Shapes shapes;
  const ValueId top = shapes.Conv(shapes.Input());
  std::vector<ValueId> branches;
  for (size_t r = 0; r < readers; ++r) branches.push_back(shapes.Relu(top));
  return shapes.Build({shapes.Relu(shapes.Concat(branches))});
}

Graph TwoConcatenations() {
  Shapes shapes;
  const ValueId x = shapes.Input();
  const ValueId a = shapes.Conv(x);
  const ValueId b = shapes.Conv(x);
  const ValueId c = shapes.Conv(x);
  const ValueId left = shapes.Concat({a, b});
  const ValueId right = shapes.Concat({a, c});
  return shapes.Build({shapes.Sum(left, right)});
}

Graph RandomGraph(uint64_t seed, size_t nodes) {
  std::mt19937_64 random(seed);
  Shapes shapes;
  std::vector<ValueId> values = {shapes.Input(), shapes.Input()};
  // Mostly recent values, so that there is depth; some old ones, so that there are long edges.
  const auto pick = [&] {
    const size_t reach = random() % 4 == 0 ? values.size() : std::min<size_t>(values.size(), 4);
    return values[values.size() - 1 - random() % reach];
  };
  for (size_t n = 0; n < nodes; ++n) {
    const ValueId a = pick();
    ValueId b = pick();
    switch (random() % 9) {
      case 8:
        if (shapes.channels(a) % 16 == 0) {
          for (ValueId half : shapes.Split(a)) values.push_back(half);
          break;
        }
        [[fallthrough]];
      case 0:
      case 1:
      case 2:
        values.push_back(shapes.Conv(a));
        break;
      case 3:
        values.push_back(shapes.Relu(a));
        break;
      case 4:
        if (shapes.channels(a) + shapes.channels(b) <= 64) {
          values.push_back(shapes.Concat({a, b}));
          break;
        }
        [[fallthrough]];
      case 5:
        values.push_back(shapes.Reshape(a));
        break;
      default:
        for (int i = 0; i < 8 && shapes.channels(a) != shapes.channels(b); ++i) b = pick();
        values.push_back(shapes.channels(a) == shapes.channels(b) && a != b ? shapes.Sum(a, b) : shapes.Relu(a));
    }
  }
  std::vector<ValueId> outputs = {values.back()};
  if (nodes > 2) outputs.push_back(values[values.size() - 2]);
  return shapes.Build(outputs);
}

World MakeWorld(Graph graph, const WorldOptions& options, uint64_t seed) {
  World world{std::move(graph), options.cores == 2 ? TwoCores(options.accelerator) : Cores(options.cores), {}, {}};
  Proposer(world, options, seed).Run();
  for (size_t l = 0; l < world.platform.links.size(); ++l) world.costs.SetLink(LinkId(l), 1000, 1.0);
  world.costs.SetReorder(
      [](std::span<const int64_t> dims, const Form&, const Form&, UnitClassId unit_class) -> std::optional<int64_t> {
        int64_t elements = 1;
        for (int64_t d : dims) elements *= d;
        return unit_class.index() == 1 ? elements / 2 + 100 : elements + 50;
      });
  for (size_t c = 0; c < world.platform.unit_classes.size(); ++c) {
    world.costs.SetOverhead(UnitClassId(c), c == 0 ? 200 : c == 1 ? 500 : 1500);
    for (size_t d = 0; d < world.platform.unit_classes.size(); ++d) {
      world.costs.SetWait(UnitClassId(c), UnitClassId(d), 100);
      const auto on_host = [&](size_t of) { return world.platform.unit_classes[of].on_host(); };
      if (on_host(c) && on_host(d)) world.costs.SetFetch(UnitClassId(c), UnitClassId(d), 0.25);
    }
  }
  world.costs.ChangeSteps([](const Candidate& candidate, StepCost& cost) {
    cost.fetch_share = 0.5 * static_cast<double>((candidate.nodes.size() + candidate.unit_class.index()) % 4);
  });
  if (options.captures) {
    world.platform.devices[1].captures = true;
    world.costs.SetDevice(DeviceId(1u), {SegmentLaunch{2000, 150}});
  }
  if (options.contention) {
    world.costs.SetSlowdown([](const Candidate&, std::span<const Candidate* const> beside) {
      return 1.0 + 0.25 * static_cast<double>(beside.size());
    });
  }
  return world;
}

Plan PlanOf(const World& world, std::string_view planner, std::string_view argument) {
  PlanningProblem problem = world.problem();
  problem.argument = argument;
  return FindPlanner(planner).value()->make_plan(problem, nullptr).value();
}

PlanDescription DescribePlan(const World& world, const Plan& plan) {
  std::map<std::vector<NodeId>, std::vector<const Candidate*>> by_nodes;
  for (const Candidate& candidate : world.candidates) by_nodes[candidate.nodes].push_back(&candidate);
  PlanDescription description;
  for (const Candidate& asked : plan.candidates) {
    const std::vector<const Candidate*>& ways = by_nodes[asked.nodes];
    const auto found =
        std::find_if(ways.begin(), ways.end(), [&](const Candidate* way) { return IsSameKernel(*way, asked); });
    if (found != ways.end()) {
      description.candidates.emplace_back(**found);
    } else {
      description.candidates.push_back(MakeError(ErrorCode::kUnsupported, "world.candidate", "no such candidate"));
    }
  }
  return description;
}

std::string FaultText(const World& world, const Plan& plan) {
  std::string text;
  for (const PlanFault& fault : CheckPlan(world.graph, world.platform, plan, DescribePlan(world, plan))) {
    text += fault.id + ": " + fault.message + "\n";
  }
  return text;
}

bool HasFault(const World& world, const Plan& plan, std::string_view id) {
  const std::vector<PlanFault> faults = CheckPlan(world.graph, world.platform, plan, DescribePlan(world, plan));
  return std::any_of(faults.begin(), faults.end(),
                     [&](const PlanFault& fault) { return fault.id == id && !fault.message.empty(); });
}

std::string OrderText(const World& world, const Plan& plan) {
  std::string text;
  for (const Step& step : plan.steps) {
    if (!text.empty()) text += ", ";
    if (const auto* group = std::get_if<RunGroup>(&step.work)) {
      std::string names;
      for (NodeId node : plan.candidates[group->candidate.index()].nodes) {
        names += (names.empty() ? "" : "+") + world.graph.value(world.graph.node(node).outputs[0]).name;
      }
      text += names + "@" + world.platform.unit(step.unit).name;
    } else if (const auto* copy = std::get_if<Copy>(&step.work)) {
      text += "copy " + world.graph.value(plan.instances[copy->from.index()].value).name;
    } else {
      text += "reorder " + world.graph.value(plan.instances[std::get<Reorder>(step.work).from.index()].value).name;
    }
  }
  return text;
}

}  // namespace pt::testing
