// rnn-pipeline: layers of a recurrent network as stages over time slices, after a Xi'an thesis: while one unit works on
// a slice of time of the first layers, another works on the slice before of those behind them. The graph has to be cut
// into slices first (SliceTime, pt-plan --rewrite time-slices=N). Chains of recurrent nodes that hand on their state
// are layers; each unit takes consecutive layers so that the busiest has least to do; steps go by slice plus place,
// then by layer. What is not recurrent stays with the layer that it feeds, else with what it reads.
#include <algorithm>
#include <array>
#include <map>

#include "lib/planner/methods/stages.h"

namespace pt {
namespace {

constexpr size_t kInitialH = 5;  // among the inputs of LSTM, GRU and RNN

bool IsRecurrent(const Node& node) {
  constexpr std::array<std::string_view, 3> kOperators = {"LSTM", "GRU", "RNN"};
  return node.domain.empty() && std::find(kOperators.begin(), kOperators.end(), node.op) != kOperators.end();
}

class Pipeline {
 public:
  Pipeline(const Space& space, const Streams& streams)
      : space_(space), graph_(space, streams.cover()), places_(space, streams) {}

  // False when nothing in the graph is recurrent.
  bool FindLayers();
  Result<Solution> Run();

 private:
  NodeId RecurrentIn(uint32_t position) const;
  void PlaceTheRest();

  const Space& space_;
  const CoverGraph graph_;
  const StagePlaces places_;
  std::vector<std::vector<uint32_t>> layers_;  // groups of each, in order of time
  std::vector<uint32_t> layer_;                // by position in the cover; kNothing: not recurrent
  std::vector<uint32_t> slice_;                // by position
  std::vector<uint32_t> place_;                // by position
};

NodeId Pipeline::RecurrentIn(uint32_t position) const {
  for (const NodeId node : space_.group(graph_.groups[position]).nodes) {
    if (IsRecurrent(space_.graph().node(node))) return node;
  }
  return NodeId();
}

// A node whose state another recurrent node has made goes on with that one's layer.
bool Pipeline::FindLayers() {
  layer_.assign(graph_.size(), kNothing);
  slice_.assign(graph_.size(), 0);
  std::map<NodeId, uint32_t> layer_of;
  for (uint32_t c = 0; c < graph_.size(); ++c) {
    const NodeId id = RecurrentIn(c);
    if (!id.valid()) continue;
    const Node& node = space_.graph().node(id);
    const ValueId state = kInitialH < node.inputs.size() ? node.inputs[kInitialH] : ValueId();
    const NodeId before = state.valid() ? space_.graph().value(state).producer : NodeId();
    const auto known = before.valid() ? layer_of.find(before) : layer_of.end();
    layer_[c] = known != layer_of.end() ? known->second : static_cast<uint32_t>(layers_.size());
    if (known == layer_of.end()) layers_.emplace_back();
    layer_of[id] = layer_[c];
    slice_[c] = static_cast<uint32_t>(layers_[layer_[c]].size());
    layers_[layer_[c]].push_back(graph_.groups[c]);
  }
  return !layers_.empty();
}

// Backwards with what it feeds, then forwards with what it reads.
void Pipeline::PlaceTheRest() {
  for (size_t c = graph_.size(); c-- > 0;) {
    for (const auto& [reader, value] : graph_.readers[c]) {
      if (place_[c] == kNothing) place_[c] = place_[reader];
    }
  }
  for (uint32_t c = 0; c < graph_.size(); ++c) {
    for (const auto& [maker, value] : graph_.makers[c]) {
      if (place_[c] == kNothing) place_[c] = place_[maker];
      if (layer_[c] == kNothing) slice_[c] = std::max(slice_[c], slice_[maker]);
    }
    if (place_[c] == kNothing) place_[c] = 0;
  }
}

Result<Solution> Pipeline::Run() {
  std::vector<std::vector<int64_t>> times;
  for (const auto& groups : layers_) times.push_back(places_.TimesOf(groups));
  const std::vector<uint32_t> place_of_layer = LeastLargestStage(times);
  if (place_of_layer.empty()) {
    return MakeError(ErrorCode::kInfeasible, "planner.stages", "no unit can run a recurrent layer of this graph");
  }
  place_.assign(graph_.size(), kNothing);
  for (uint32_t c = 0; c < graph_.size(); ++c) {
    if (layer_[c] != kNothing) place_[c] = place_of_layer[layer_[c]];
  }
  PlaceTheRest();
  Solution solution;
  std::vector<int64_t> keys;
  for (uint32_t c = 0; c < graph_.size(); ++c) {
    const uint32_t option = places_.OptionAt(graph_.groups[c], place_[c]);
    const UnitId unit = places_.places[place_[c]].unit;
    solution.push_back(option != kNothing ? Choice{option, unit} : places_.streams.cover()[c]);
    const uint32_t layer = layer_[c] == kNothing ? 0 : layer_[c];
    keys.push_back(int64_t{slice_[c] + place_[c]} * static_cast<int64_t>(layers_.size()) + layer);
  }
  SortLegally(space_, solution, keys);
  return solution;
}

}  // namespace

Result<Solved> SolveRnnPipeline(const Space& space, std::string_view argument) {
  PT_ASSIGN(const Streams streams, Streams::Make(space, argument));
  Pipeline pipeline(space, streams);
  if (!pipeline.FindLayers()) {
    return MakeError(ErrorCode::kInfeasible, "planner.no_layers", "the graph has no recurrent layers to pipeline");
  }
  PT_ASSIGN(Solution solution, pipeline.Run());
  return Solved{std::move(solution)};
}

}  // namespace pt
