#include "partitiontuner/engine/run_buffers.h"

#include "partitiontuner/support/caught.h"

namespace pt {
namespace {

// A scalar is often saved as one element of rank 1.
bool Fits(const ValueType& type, const Datum& given) {
  if (Agrees(type, given)) return true;
  return given.is_tensor() && given.tensor().type() == type.type && type.ranked && type.dims.empty() &&
         given.tensor().element_count() == 1;
}

}  // namespace

void RunBuffers::AddDatum(Datum datum) {
  const auto kept = std::make_shared<const Datum>(std::move(datum));
  LentTensor lent;
  lent.datum = kept.get();
  data_.push_back(kept);
  tensors_.push_back(lent);
  memory_.emplace_back();
}

Status RunBuffers::Add(const Session& session, ValueId id, const std::vector<int64_t>& dims) {
  const Value& value = session.graph().value(id);
  Result<LentBuffer> buffer =
      LentBuffer::Make(session.machine(), LentDevice(session.plan()->lent_on, id), value.type.type, dims);
  if (!buffer.ok()) {
    Error error = std::move(buffer).error();
    error.message = "\"" + value.name + "\": " + error.message;
    return error;
  }
  tensors_.push_back(buffer->tensor());
  memory_.emplace_back(std::move(buffer).value());
  return {};
}

Result<RunBuffers> RunBuffers::ForInputs(const Session& session, std::span<const Tensor> tensors) try {
  return ForInputs(session, std::vector<Datum>(tensors.begin(), tensors.end()));
} catch (...) {
  return Caught("run", "hold inputs");
}

Result<RunBuffers> RunBuffers::ForInputs(const Session& session, std::span<const Datum> values) try {
  const std::span<const ValueId> inputs = session.graph().inputs();
  if (values.size() != inputs.size()) {
    return MakeError(ErrorCode::kInvalidInput, "run.inputs",
                     std::to_string(values.size()) + " values were given, the model has " +
                         std::to_string(inputs.size()) + " inputs");
  }
  RunBuffers buffers;
  for (size_t i = 0; i < values.size(); ++i) {
    const Value& value = session.graph().value(inputs[i]);
    if (IsHeldAsDatum(value.type)) {
      buffers.AddDatum(values[i]);
      continue;
    }
    if (!Fits(value.type, values[i])) {
      return MakeError(ErrorCode::kInvalidInput, "run.inputs",
                       "\"" + value.name + "\" is " + ToString(value.type) + ", given is " + ToString(values[i]));
    }
    const std::vector<int64_t>& dims = values[i].tensor().dims();
    PT_CHECK_OK(buffers.Add(session, inputs[i], value.type.static_dims().value_or(dims)));
    PT_CHECK_OK(buffers.memory_.back()->Write(values[i].tensor().bytes()));
  }
  return buffers;
} catch (...) {
  return Caught("run", "hold inputs");
}

Result<RunBuffers> RunBuffers::ForOutputs(const Session& session) try {
  RunBuffers buffers;
  for (const ValueId id : session.graph().outputs()) {
    const ValueType& type = session.graph().value(id).type;
    if (type.is_static() && !IsHeldAsDatum(type)) {
      PT_CHECK_OK(buffers.Add(session, id, *type.static_dims()));
    } else {
      LentTensor none;
      none.type = type.type;
      buffers.tensors_.push_back(none);
      buffers.memory_.emplace_back();
    }
  }
  return buffers;
} catch (...) {
  return Caught("run", "hold outputs");
}

Result<std::vector<Datum>> RunBuffers::CopyData(const RunReport& report) const try {
  std::vector<Datum> values;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (!memory_[i]) {
      values.push_back(report.outputs[i]);
      continue;
    }
    PT_ASSIGN(Tensor tensor, memory_[i]->Read());
    values.emplace_back(std::move(tensor));
  }
  return values;
} catch (...) {
  return Caught("run", "copy outputs");
}

Result<std::vector<Tensor>> RunBuffers::Copy(const RunReport& report) const try {
  PT_ASSIGN(const std::vector<Datum> values, CopyData(report));
  return TensorsOf(values);
} catch (...) {
  return Caught("run", "copy outputs");
}

Result<std::vector<Tensor>> TensorsOf(std::span<const Datum> values) try {
  std::vector<Tensor> tensors;
  for (const Datum& value : values) {
    if (!value.is_tensor()) {
      return MakeError(ErrorCode::kUnsupported, "value.kind",
                       "output " + std::to_string(tensors.size()) + " is " + ToString(value) + ", not a tensor");
    }
    tensors.push_back(value.tensor());
  }
  return tensors;
} catch (...) {
  return Caught("run", "copy outputs");
}

Result<std::vector<Datum>> RunData(Session& session, std::span<const Datum> inputs, const RunOptions& options) try {
  PT_ASSIGN(const RunBuffers in, RunBuffers::ForInputs(session, inputs));
  PT_ASSIGN(const RunBuffers out, RunBuffers::ForOutputs(session));
  PT_ASSIGN(const RunReport report, session.Run(in.tensors(), out.tensors(), options));
  return out.CopyData(report);
} catch (...) {
  return Caught("run", "run a session");
}

Result<std::vector<Tensor>> RunTensors(Session& session, std::span<const Tensor> inputs,
                                       const RunOptions& options) try {
  PT_ASSIGN(const std::vector<Datum> values,
            RunData(session, std::vector<Datum>(inputs.begin(), inputs.end()), options));
  return TensorsOf(values);
} catch (...) {
  return Caught("run", "run a session");
}

}  // namespace pt
