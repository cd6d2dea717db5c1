// A model and a plan as benchmarks use them: named on the command line, run on zeros.
#pragma once

#include <charconv>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "partitiontuner/engine/engine.h"
#include "partitiontuner/plan/plan_json.h"
#include "partitiontuner/support/file.h"

namespace pt::bench {

// Of MODEL PLAN [DIM=VALUE]...; candidates are left out, since the plan is there.
inline Result<ModelOptions> OptionsFrom(int argc, char** argv) {
  ModelOptions options;
  options.to_plan = false;
  for (int i = 3; i < argc; ++i) {
    const std::string text = argv[i];
    const size_t equals = text.find('=');
    int64_t value = 0;
    const char* const end = text.data() + text.size();
    if (equals == std::string::npos || std::from_chars(text.data() + equals + 1, end, value).ptr != end) {
      return MakeError(ErrorCode::kUsage, "usage", "'" + text + "' is not of the form DIM=VALUE");
    }
    options.dims[text.substr(0, equals)] = value;
  }
  return options;
}

inline Result<Plan> ReadPlan(const std::string& path) {
  const Limits limits;
  PT_ASSIGN(const std::string text, ReadFile(path, limits.plan_bytes));
  PT_ASSIGN(const Json json, ParseJson(text, path, limits));
  return PlanFromJson(json, path);
}

// Zeros for inputs, room for outputs.
class Buffers {
 public:
  static Result<Buffers> For(const Graph& graph, std::span<const ValueId> values) {
    Buffers buffers;
    for (ValueId id : values) {
      const ValueType& type = graph.value(id).type;
      const auto dims = type.static_dims();
      if (!dims) return MakeError(ErrorCode::kUnsupported, "bench", graph.value(id).name + " has unknown dims");
      PT_ASSIGN(const int64_t bytes, TensorByteCount(type.type, *dims));
      std::vector<std::byte>& memory = buffers.memory_.emplace_back(static_cast<size_t>(bytes));
      buffers.tensors_.push_back({type.type, *dims, memory.data(), memory.size()});
    }
    return buffers;
  }
  std::span<const LentTensor> tensors() const { return tensors_; }

 private:
  std::vector<std::vector<std::byte>> memory_;
  std::vector<LentTensor> tensors_;
};

}  // namespace pt::bench
