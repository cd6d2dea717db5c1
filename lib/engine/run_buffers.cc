#include "partitiontuner/engine/run_buffers.h"

namespace pt {

void RunBuffers::AddDatum(Datum datum) {
  const auto kept = std::make_shared<const Datum>(std::move(datum));
  LentTensor lent;
  lent.datum = kept.get();
  data_.push_back(kept);
  tensors_.push_back(lent);
  memory_.emplace_back();
}

Status RunBuffers::Add(const Session& session, ValueId id) {
  const Value& value = session.graph().value(id);
  const auto dims = value.type.static_dims();
  if (!dims) {
    return MakeError(ErrorCode::kUnsupported, "value.dynamic",
                     "\"" + value.name + "\" is " + ToString(value.type) + ": its size must be known before the run");
  }
  Result<LentBuffer> buffer =
      LentBuffer::Make(session.machine(), LentDevice(session.plan()->lent_on, id), value.type.type, *dims);
  if (!buffer.ok()) {
    Error error = std::move(buffer).error();
    error.message = "\"" + value.name + "\": " + error.message;
    return error;
  }
  tensors_.push_back(buffer->tensor());
  memory_.emplace_back(std::move(buffer).value());
  return {};
}

Result<RunBuffers> RunBuffers::ForInputs(const Session& session, std::span<const Tensor> tensors) {
  const std::span<const ValueId> inputs = session.graph().inputs();
  if (tensors.size() != inputs.size()) {
    return MakeError(ErrorCode::kInvalidInput, "run.inputs",
                     std::to_string(tensors.size()) + " tensors were given, the model has " +
                         std::to_string(inputs.size()) + " inputs");
  }
  RunBuffers buffers;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Value& value = session.graph().value(inputs[i]);
    if (tensors[i].type() != value.type.type) {
      return MakeError(ErrorCode::kInvalidInput, "run.inputs",
                       "\"" + value.name + "\" is " + ToString(value.type) + ", the given tensor is " +
                           std::string(DataTypeName(tensors[i].type())));
    }
    if (IsHeldAsDatum(value.type)) {
      buffers.AddDatum(tensors[i]);
      continue;
    }
    PT_CHECK_OK(buffers.Add(session, inputs[i]));
    PT_CHECK_OK(buffers.memory_.back()->Write(tensors[i].bytes()));
  }
  return buffers;
}

Result<RunBuffers> RunBuffers::ForOutputs(const Session& session) {
  RunBuffers buffers;
  for (const ValueId id : session.graph().outputs()) {
    const ValueType& type = session.graph().value(id).type;
    if (type.is_static() && !IsHeldAsDatum(type)) {
      PT_CHECK_OK(buffers.Add(session, id));
    } else {
      LentTensor none;
      none.type = type.type;
      buffers.tensors_.push_back(none);
      buffers.memory_.emplace_back();
    }
  }
  return buffers;
}

Result<std::vector<Tensor>> RunBuffers::Copy(const RunReport& report) const {
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (!memory_[i]) {
      if (!report.outputs[i].is_tensor()) {
        return MakeError(ErrorCode::kUnsupported, "value.kind",
                         "output " + std::to_string(i) + " is " + ToString(report.outputs[i]) + ", not a tensor");
      }
      tensors.push_back(report.outputs[i].tensor());
      continue;
    }
    PT_ASSIGN(Tensor tensor, memory_[i]->Read());
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

Result<std::vector<Tensor>> RunTensors(Session& session, std::span<const Tensor> inputs, const RunOptions& options) {
  PT_ASSIGN(const RunBuffers in, RunBuffers::ForInputs(session, inputs));
  PT_ASSIGN(const RunBuffers out, RunBuffers::ForOutputs(session));
  PT_ASSIGN(const RunReport report, session.Run(in.tensors(), out.tensors(), options));
  return out.Copy(report);
}

}  // namespace pt
