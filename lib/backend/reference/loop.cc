// Loop: a body that is run as often as a trip count and a condition say.
#include <algorithm>
#include <limits>

#include "lib/backend/reference/feeding.h"
#include "lib/backend/reference/loop_values.h"

namespace pt::reference {
namespace {

class BoundLoop final : public Repetition {
 public:
  using Repetition::Repetition;

 private:
  Status RunTrips(NodeTensors& tensors, const RunContext& run) override {
    int64_t most = std::numeric_limits<int64_t>::max();
    int64_t go_on = 1;
    if (tensors.has(0)) {
      PT_ASSIGN(const TensorView count, tensors.Input(0));
      PT_ASSIGN(most, OneInteger(count, "the trip count of Loop"));
    }
    if (tensors.has(1)) {
      PT_ASSIGN(const TensorView condition, tensors.Input(1));
      PT_ASSIGN(go_on, OneInteger(condition, "the condition of Loop"));
    }
    const size_t carried_count = node().formal_inputs < 2 ? 0 : node().formal_inputs - 2;
    std::vector<Carried> carried(carried_count), aside(carried_count);
    for (size_t i = 0; i < carried_count; ++i) {
      PT_ASSIGN(const TensorView initial, tensors.Input(2 + i));
      PT_CHECK_OK(carried[i].Set(tensors, initial));
    }
    std::vector<Collected> collected(body_graph().outputs().size() - 1 - carried_count);
    int64_t trip = 0;
    uint8_t condition = 1;
    const TensorView trip_view{&trip, InputLayout(0, DataType::kInt64)};
    const TensorView condition_view{&condition, InputLayout(1, DataType::kBool)};
    std::vector<TensorView> inputs = {trip_view, condition_view};
    inputs.resize(2 + carried_count);
    PT_ASSIGN(inputs, tensors.WithCaptures(std::move(inputs), node().subgraphs[0]));
    for (; trip < most && go_on != 0; ++trip) {
      if (run.stop.ShouldStop()) return MakeError(ErrorCode::kRunFailed, "run.stopped", "the run was stopped");
      for (size_t i = 0; i < carried_count; ++i) inputs[2 + i] = carried[i].view();
      PT_CHECK_OK(RunBody(run, inputs));
      PT_ASSIGN(go_on, OneInteger(body().outputs()[0], "the condition that Loop's body returns"));
      for (size_t i = 0; i < collected.size(); ++i) {
        PT_CHECK_OK(collected[i].Add(tensors, body().outputs()[1 + carried_count + i]));
      }
      // Last: what is collected may be a carried value as this trip was given it.
      PT_CHECK_OK(CarryOver(tensors, body().outputs().subspan(1), carried, aside));
      body().Release(run);
    }
    for (size_t i = 0; i < node().outputs.size(); ++i) {
      if (i < carried_count) {
        PT_CHECK_OK(tensors.SetOutput(i, carried[i].view()));
        continue;
      }
      const ValueType& declared = body_graph().value(body_graph().outputs()[1 + i]).type;
      PT_ASSIGN(const TensorView whole, collected[i - carried_count].Whole(declared));
      PT_CHECK_OK(tensors.SetOutput(i, whole));
    }
    return {};
  }

  // Trip number and condition are scalars; some bodies declare them as lists of one.
  TensorLayout InputLayout(size_t input, DataType type) const {
    const ValueType& declared = body_graph().value(body_graph().inputs()[input]).type;
    const bool list = declared.ranked && declared.dims.size() == 1;
    return Dense(type, list ? std::vector<int64_t>{1} : std::vector<int64_t>{});
  }
};

}  // namespace

Result<std::unique_ptr<BoundKernel>> BindLoop(const Graph& graph, NodeId id, TensorSlots in, TensorSlots out,
                                              std::span<const std::shared_ptr<const CompiledSubgraph>> nested) {
  return BindRepetition<BoundLoop>(graph, id, in, out, nested);
}

}  // namespace pt::reference
