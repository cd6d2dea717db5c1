// SequenceMap: a body that is run once for each tensor of its sequences.
#include <deque>

#include "lib/backend/reference/counted.h"
#include "lib/backend/reference/loop_values.h"

namespace pt::reference {
namespace {

class BoundSequenceMap final : public Repetition {
 public:
  using Repetition::Repetition;

 private:
  // A formal input: a sequence, whose element each trip takes, or a tensor, the same in all of them.
  struct Given {
    TensorView view;
    bool is_sequence = false;

    std::span<const TensorPtr> elements() const { return DatumIn(view).elements(); }
  };

  Result<std::vector<Given>> Inputs(NodeTensors& tensors) const {
    std::vector<Given> inputs;
    for (size_t i = 0; i < node().formal_inputs; ++i) {
      PT_ASSIGN(TensorView view, tensors.Input(i));
      const bool is_sequence = IsDatum(view) && DatumIn(view).is_sequence();
      inputs.push_back({std::move(view), is_sequence});
    }
    if (inputs.empty() || !inputs[0].is_sequence) return Wrong("its first input is not a sequence");
    for (const Given& input : inputs) {
      if (!input.is_sequence || input.elements().size() == inputs[0].elements().size()) continue;
      return Wrong("its sequences are of " + std::to_string(inputs[0].elements().size()) + " and " +
                   std::to_string(input.elements().size()) + " tensors");
    }
    return inputs;
  }

  Status RunTrips(NodeTensors& tensors, const RunContext& run) override {
    PT_ASSIGN(const std::vector<Given> given, Inputs(tensors));
    PT_ASSIGN(const std::vector<TensorView> captured, tensors.WithCaptures({}, node().subgraphs[0]));
    std::vector<std::vector<TensorPtr>> made(node().outputs.size());
    for (size_t trip = 0; trip < given[0].elements().size(); ++trip) {
      if (run.stop.ShouldStop()) return MakeError(ErrorCode::kRunFailed, "run.stopped", "the run was stopped");
      std::deque<Datum> strings;
      std::vector<TensorView> inputs;
      for (const Given& input : given) {
        inputs.push_back(input.is_sequence ? ViewOfElement(input.elements()[trip], strings) : input.view);
      }
      inputs.insert(inputs.end(), captured.begin(), captured.end());
      PT_CHECK_OK(RunBody(run, inputs));
      for (size_t i = 0; i < made.size(); ++i) {
        PT_ASSIGN(TensorPtr kept, Keep(body().outputs()[i], run.memory));
        made[i].push_back(std::move(kept));
      }
      body().Release(run);
    }
    for (size_t i = 0; i < made.size(); ++i) {
      const DataType type =
          made[i].empty() ? body_graph().value(body_graph().outputs()[i]).type.type : made[i][0]->type();
      PT_ASSIGN(const Datum sequence, CountedSequence(run.memory, type, std::move(made[i])));
      PT_CHECK_OK(tensors.SetOutput(i, ViewOf(sequence)));
    }
    return {};
  }

  static TensorView ViewOfElement(const TensorPtr& element, std::deque<Datum>& strings) {
    if (element->type() != DataType::kString) return PlainViewOf(*element);
    return ViewOf(strings.emplace_back(element));
  }

  Result<TensorPtr> Keep(const TensorView& view, RunMemory& memory) const {
    if (!IsDatum(view)) return CountedCopy(memory, TensorOf(view));
    if (DatumIn(view).is_tensor()) return DatumIn(view).shared_tensor();
    return Wrong("its body returned " + ToString(DatumIn(view)) + ", not a tensor");
  }

  static Error Wrong(const std::string& why) {
    return MakeError(ErrorCode::kInvalidInput, "reference.sequence_map", "SequenceMap: " + why);
  }
};

}  // namespace

Result<std::unique_ptr<BoundKernel>> BindSequenceMap(const Graph& graph, NodeId id, TensorSlots in, TensorSlots out,
                                                     std::span<const std::shared_ptr<const CompiledSubgraph>> nested) {
  return BindRepetition<BoundSequenceMap>(graph, id, in, out, nested);
}

}  // namespace pt::reference
