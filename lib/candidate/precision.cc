#include "partitiontuner/candidate/precision.h"

#include <algorithm>
#include <array>

#include "partitiontuner/graph/linear_quantisation.h"

namespace pt {
namespace {

// Modes that some library computes in.
constexpr std::array kOffered = {MathMode::kFp32, MathMode::kTf32, MathMode::kBf16, MathMode::kFp16};

bool IsFloat(DataType type) {
  return type == DataType::kFloat32 || type == DataType::kFloat64 || type == DataType::kFloat16 ||
         type == DataType::kBfloat16;
}

double ToleranceOf(MathMode mode) {
  switch (mode) {
    case MathMode::kFp32:
      return 1e-4;
    case MathMode::kTf32:
    case MathMode::kFp16:
      return 1e-2;
    case MathMode::kBf16:
      return 4e-2;
    case MathMode::kInt8:
      return 1e-1;
  }
  return 0;
}

Result<MathMode> OfferedMode(std::string_view name) {
  const auto usage = [&](const std::string& what) {
    return MakeError(ErrorCode::kUsage, "precision.mode",
                     what + " \"" + std::string(name) + "\"; expected fp32, tf32, bf16 or fp16",
                     "give --precision fp32, or another to allow that besides");
  };
  const std::optional<MathMode> mode = MathModeFromName(name);
  if (!mode) return usage("unknown precision");
  if (std::find(kOffered.begin(), kOffered.end(), *mode) == kOffered.end()) {
    return usage("no library computes in precision");
  }
  return *mode;
}

}  // namespace

Precision::Precision(std::initializer_list<MathMode> modes) {
  for (MathMode mode : modes) *this = with(mode);
}

Precision Precision::with(MathMode mode) const {
  Precision more = *this;
  more.modes_ |= static_cast<uint8_t>(1U << static_cast<unsigned>(mode));
  return more;
}

bool Precision::allows_storage(DataType value, DataType storage, QuantisationId quantisation) const {
  return std::any_of(kMathModes.begin(), kMathModes.end(),
                     [&](MathMode mode) { return allows(mode) && MayStore(mode, value, storage, quantisation); });
}

Precision EveryPrecision() {
  Precision precision;
  for (MathMode mode : kOffered) precision = precision.with(mode);
  return precision;
}

Result<Precision> PrecisionFromText(std::string_view text) {
  Precision precision;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    PT_ASSIGN(const MathMode mode, OfferedMode(text.substr(begin, end - begin)));
    precision = precision.with(mode);
    begin = end + 1;
  }
  return precision;
}

std::string ToString(const Precision& precision) {
  std::string text;
  for (MathMode mode : kMathModes) {
    if (precision.allows(mode)) text += (text.empty() ? "" : ",") + std::string(MathModeName(mode));
  }
  return text;
}

bool MayStore(MathMode mode, DataType value, DataType storage, QuantisationId quantisation) {
  if (quantisation.valid()) {
    return mode == MathMode::kInt8 && value == DataType::kFloat32 &&
           (storage == DataType::kInt8 || storage == DataType::kUint8 || storage == DataType::kInt4 ||
            storage == DataType::kUint4);
  }
  if (storage == value) return true;
  if (value != DataType::kFloat32) return false;
  return (mode == MathMode::kBf16 && storage == DataType::kBfloat16) ||
         (mode == MathMode::kFp16 && storage == DataType::kFloat16);
}

bool Holds(const Form& wide, const Form& narrow) {
  if (wide.storage == narrow.storage && wide.quantisation == narrow.quantisation) return true;
  if (wide.quantisation.valid()) return false;
  if (wide.storage == DataType::kFloat64) return narrow.quantisation.valid() || IsFloat(narrow.storage);
  return wide.storage == DataType::kFloat32 &&
         (narrow.quantisation.valid() || narrow.storage == DataType::kFloat16 || narrow.storage == DataType::kBfloat16);
}

double RelativeTolerance(MathMode mode, DataType output) {
  if (!IsFloat(output)) return 0;
  const MathMode own = output == DataType::kBfloat16  ? MathMode::kBf16
                       : output == DataType::kFloat16 ? MathMode::kFp16
                                                      : MathMode::kFp32;
  return std::max(ToleranceOf(mode), ToleranceOf(own));
}

int64_t StepTolerance(const Graph& graph, std::span<const NodeId> group, ValueId output) {
  const NodeId producer = graph.value(output).producer;
  if (std::find(group.begin(), group.end(), producer) == group.end()) return 0;
  const Node& node = graph.node(producer);
  return IsQuantisation(node) || (node.domain.empty() && node.op.starts_with("QLinear")) ? 1 : 0;
}

}  // namespace pt
