#include "partitiontuner/engine/carried_runs.h"

#include <algorithm>

#include "partitiontuner/support/caught.h"

namespace pt {
namespace {

Error Refused(ErrorCode code, std::string id, const Carry& carry, std::string why, std::string hint = {}) {
  return MakeError(code, "carry." + std::move(id),
                   "\"" + carry.output + "\" cannot be carried into \"" + carry.input + "\": " + std::move(why),
                   std::move(hint));
}

std::string NamesOf(const Graph& graph, std::span<const ValueId> values) {
  std::string names;
  for (const ValueId id : values) names += (names.empty() ? "" : ", ") + graph.value(id).name;
  return names;
}

// Nothing where none of the values has that name.
std::optional<size_t> IndexOf(const Graph& graph, std::span<const ValueId> values, const std::string& name) {
  const auto found = std::ranges::find_if(values, [&](ValueId id) { return graph.value(id).name == name; });
  if (name.empty() || found == values.end()) return std::nullopt;
  return static_cast<size_t>(found - values.begin());
}

// What is not known before the run may turn out to be equal.
bool CanBeEqual(const ValueType& a, const ValueType& b) {
  if (a.other != b.other || a.type != b.type) return false;
  if (!a.ranked || !b.ranked) return true;
  return std::ranges::equal(a.dims, b.dims, [](const Dim& one, const Dim& other) {
    return !one.known() || !other.known() || one.value == other.value;
  });
}

bool HasBuffers(const ValueType& type) { return type.is_static() && !IsHeldAsDatum(type); }

Result<Datum> ZerosFor(const Carry& carry, const ValueType& type) {
  if (!HasBuffers(type) || BitsOf(type.type) == 0) {
    return Refused(ErrorCode::kUnsupported, "zeros", carry,
                   "the input is " + ToString(type) + ", for which there are no zeros to begin with",
                   "give its initial value");
  }
  const std::vector<int64_t> dims = *type.static_dims();
  PT_ASSIGN(const int64_t bytes, TensorByteCount(type.type, dims));
  PT_ASSIGN(Tensor zeros, Tensor::FromBytes(type.type, dims, std::string(static_cast<size_t>(bytes), '\0')));
  return Datum(std::move(zeros));
}

Result<Datum> InitialFor(const Carry& carry, const ValueType& type) {
  if (!carry.initial) return ZerosFor(carry, type);
  if (Agrees(type, *carry.initial)) return *carry.initial;
  return Refused(ErrorCode::kInvalidInput, "initial", carry,
                 "the input is " + ToString(type) + ", its initial value is " + ToString(*carry.initial));
}

// The caller's memory for a run that only reads it; the datum must stay where it is.
LentTensor LentFrom(const Datum& datum, const ValueType& type) {
  LentTensor lent;
  if (IsHeldAsDatum(type)) {
    lent.datum = &datum;
    return lent;
  }
  const Tensor& tensor = datum.tensor();
  // Runs do not write their inputs.
  void* const data = const_cast<std::byte*>(tensor.bytes().data());  // NOLINT
  return {tensor.type(), tensor.dims(), data, tensor.bytes().size()};
}

}  // namespace

Result<CarriedRuns> CarriedRuns::Make(Session& session, std::vector<Carry> carries) try {
  CarriedRuns runs(session);
  for (const Carry& carry : carries) PT_CHECK_OK(runs.Add(carry));
  runs.carries_ = std::move(carries);
  return runs;
} catch (...) {
  return Caught("carry", "carry outputs");
}

Status CarriedRuns::Add(const Carry& carry) {
  const Graph& graph = session_->graph();
  const std::optional<size_t> output = IndexOf(graph, graph.outputs(), carry.output);
  const std::optional<size_t> input = IndexOf(graph, graph.inputs(), carry.input);
  if (!output) {
    return Refused(ErrorCode::kUsage, "unknown", carry, "the model has no output \"" + carry.output + "\"",
                   "its outputs: " + NamesOf(graph, graph.outputs()));
  }
  if (!input) {
    return Refused(ErrorCode::kUsage, "unknown", carry, "the model has no input \"" + carry.input + "\"",
                   "its inputs: " + NamesOf(graph, graph.inputs()));
  }
  if (std::ranges::any_of(inputs_, [&](const Input& other) { return other.index == *input; })) {
    return Refused(ErrorCode::kUsage, "twice", carry, "another output is carried into this input");
  }
  const ValueId from = graph.outputs()[*output], to = graph.inputs()[*input];
  const ValueType &made = graph.value(from).type, &wanted = graph.value(to).type;
  if (!CanBeEqual(made, wanted)) {
    return Refused(ErrorCode::kUsage, "type", carry,
                   "the output is " + ToString(made) + ", the input " + ToString(wanted));
  }
  const LentOn& lent_on = session_->plan()->lent_on;
  if (LentDevice(lent_on, from) != LentDevice(lent_on, to)) {
    const Platform& platform = session_->machine().platform();
    return Refused(ErrorCode::kUsage, "device", carry,
                   "the plan leaves the output on " + platform.device(LentDevice(lent_on, from)).name +
                       " and wants the input on " + platform.device(LentDevice(lent_on, to)).name,
                   "plan with both on one device (pt-plan --lend)");
  }
  Input state;
  state.index = *input;
  PT_ASSIGN(state.initial, InitialFor(carry, wanted));
  PT_ASSIGN(state.from, AddOutput(*output));
  if (HasBuffers(wanted)) {
    PT_ASSIGN(state.memory,
              LentBuffer::Make(session_->machine(), LentDevice(lent_on, to), wanted.type, *wanted.static_dims()));
    PT_CHECK_OK(state.memory->Write(state.initial.tensor().bytes()));
  }
  inputs_.push_back(std::move(state));
  return {};
}

// Where it is in outputs_; made unless another carry has done so.
Result<size_t> CarriedRuns::AddOutput(size_t index) {
  const auto known = std::ranges::find(outputs_, index, &Output::index);
  if (known != outputs_.end()) return static_cast<size_t>(known - outputs_.begin());
  const ValueId id = session_->graph().outputs()[index];
  const ValueType& type = session_->graph().value(id).type;
  Output output;
  output.index = index;
  for (int turn = 0; turn < 2 && HasBuffers(type); ++turn) {
    PT_ASSIGN(LentBuffer memory, LentBuffer::Make(session_->machine(), LentDevice(session_->plan()->lent_on, id),
                                                  type.type, *type.static_dims()));
    output.memory.push_back(std::move(memory));
  }
  outputs_.push_back(std::move(output));
  return outputs_.size() - 1;
}

const Value& CarriedRuns::ValueOf(const Input& input) const {
  return session_->graph().value(session_->graph().inputs()[input.index]);
}

LentTensor CarriedRuns::StateTensor(const Input& input) const {
  const Output& from = outputs_[input.from];
  if (started_ && !from.memory.empty()) return from.memory[at_].tensor();
  if (input.memory) return input.memory->tensor();
  return LentFrom(started_ ? *from.kept : input.initial, ValueOf(input).type);
}

Result<RunReport> CarriedRuns::Run(std::span<const LentTensor> inputs, std::span<const LentTensor> outputs,
                                   const RunOptions& options) try {
  const Graph& graph = session_->graph();
  if (inputs.size() != graph.inputs().size() || outputs.size() != graph.outputs().size()) {
    return session_->Run(inputs, outputs, options);  // which says what is wrong
  }
  run_inputs_.assign(inputs.begin(), inputs.end());
  run_outputs_.assign(outputs.begin(), outputs.end());
  for (const Input& input : inputs_) run_inputs_[input.index] = StateTensor(input);
  for (const Output& output : outputs_) {
    LentTensor& to = run_outputs_[output.index];
    if (!output.memory.empty()) {
      to = output.memory[1 - at_].tensor();
    } else {
      to = LentTensor();
      to.type = graph.value(graph.outputs()[output.index]).type.type;
    }
  }
  PT_ASSIGN(RunReport report, session_->Run(run_inputs_, run_outputs_, options));
  PT_CHECK_OK(CheckState(report));
  PT_CHECK_OK(Keep(report));
  return report;
} catch (...) {
  return Caught("carry", "run a session");
}

// What was known before the run was checked then.
Status CarriedRuns::CheckState(const RunReport& report) const {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Output& from = outputs_[inputs_[i].from];
    const ValueType& wanted = ValueOf(inputs_[i]).type;
    if (!from.memory.empty() || Agrees(wanted, report.outputs[from.index])) continue;
    return Refused(ErrorCode::kRunFailed, "size", carries_[i],
                   "the run made " + ToString(report.outputs[from.index]) + ", the input is " + ToString(wanted));
  }
  return {};
}

Status CarriedRuns::Keep(const RunReport& report) {
  for (Output& output : outputs_) {
    if (output.memory.empty()) output.kept = report.outputs[output.index];
  }
  for (Input& input : inputs_) {
    const Output& from = outputs_[input.from];
    // Into memory that stays where it is: kernels would have to be bound to that of every run.
    if (input.memory && from.memory.empty()) PT_CHECK_OK(input.memory->Write(from.kept->tensor().bytes()));
  }
  at_ = 1 - at_;
  started_ = true;
  return {};
}

Status CarriedRuns::Reset() try {
  started_ = false;
  for (Input& input : inputs_) {
    if (input.memory && outputs_[input.from].memory.empty()) {
      PT_CHECK_OK(input.memory->Write(input.initial.tensor().bytes()));
    }
  }
  return {};
} catch (...) {
  return Caught("carry", "begin anew");
}

Result<Datum> CarriedRuns::StateOf(const Output& output) const {
  if (output.memory.empty()) return *output.kept;
  PT_ASSIGN(Tensor tensor, output.memory[at_].Read());
  return Datum(std::move(tensor));
}

Result<Datum> CarriedRuns::State(size_t carry) const try {
  const Input& input = inputs_[carry];
  if (!started_) return input.initial;
  return StateOf(outputs_[input.from]);
} catch (...) {
  return Caught("carry", "copy a state");
}

Result<std::vector<Datum>> CarriedRuns::CopyData(const RunBuffers& outputs, const RunReport& report) const try {
  PT_ASSIGN(std::vector<Datum> values, outputs.CopyData(report));
  for (const Output& output : outputs_) {
    PT_ASSIGN(values[output.index], StateOf(output));
  }
  return values;
} catch (...) {
  return Caught("carry", "copy outputs");
}

Result<std::vector<Datum>> CarriedRuns::RunData(std::span<const Datum> inputs, const RunOptions& options) try {
  std::vector<Datum> values(inputs.begin(), inputs.end());
  for (const Input& input : inputs_) {
    if (input.index < values.size()) values[input.index] = input.initial;  // of the right type, whatever was given
  }
  PT_ASSIGN(const RunBuffers in, RunBuffers::ForInputs(*session_, values));
  PT_ASSIGN(const RunBuffers out, RunBuffers::ForOutputs(*session_));
  PT_ASSIGN(const RunReport report, Run(in.tensors(), out.tensors(), options));
  return CopyData(out, report);
} catch (...) {
  return Caught("carry", "run a session");
}

}  // namespace pt
