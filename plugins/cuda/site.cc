#include "plugins/cuda/site.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "partitiontuner/candidate/run_time_sizes.h"
#include "plugins/cuda/programs.h"

namespace pt::cuda {

std::optional<uint32_t> Site::FindInput(ValueId value) const {
  for (uint32_t i = 0; i < in.size(); ++i) {
    if (in[i].value == value) return i;
  }
  return std::nullopt;
}

const Operand* Site::Input(size_t i) const {
  if (i >= node().inputs.size() || !node().inputs[i].valid()) return nullptr;
  const std::optional<uint32_t> at = FindInput(node().inputs[i]);
  return at ? &in[*at] : nullptr;
}

Error Site::Unsupported(std::string why) const {
  return MakeError(ErrorCode::kUnsupported, "cuda.unsupported", node().op + ": " + std::move(why));
}

Result<Site> Site::Make(const Graph& graph, std::span<const NodeId> nodes, std::span<const TensorLayout> in,
                        std::span<const TensorLayout> out) {
  Site site{graph, {nodes.begin(), nodes.end()}, {}, {}};
  const std::vector<ValueId> read = GroupInputs(graph, nodes), made = GroupOutputs(graph, nodes);
  for (size_t i = 0; i < read.size(); ++i) site.in.push_back({read[i], in[i], nullptr});
  for (const NodeId id : nodes) {
    for (const ValueId input : graph.node(id).inputs) {
      if (!input.valid() || !graph.value(input).is_constant() || site.FindInput(input)) continue;
      const Tensor& constant = *graph.value(input).constant;
      PT_ASSIGN(TensorLayout layout, DenseLayout(constant.type(), constant.dims(), RowMajor(constant.dims().size())));
      site.in.push_back({input, std::move(layout), &constant});
    }
  }
  for (size_t i = 0; i < made.size(); ++i) site.out.push_back({made[i], out[i], nullptr});
  if (site.in.size() + site.out.size() <= kMostArguments) return site;
  return site.Unsupported("it has " + std::to_string(site.in.size() + site.out.size()) +
                          " tensors, and a kernel takes " + std::to_string(kMostArguments));
}

Result<Site> Site::MakeDense(const Graph& graph, std::span<const NodeId> nodes) {
  const auto unsupported = [&](const char* why) {
    return MakeError(ErrorCode::kUnsupported, "cuda.unsupported", graph.node(nodes.front()).op + ": " + why);
  };
  if (!IsSizedBeforeRun(graph, nodes)) return unsupported("it has tensors whose size is known only in the run");
  const auto dense = [&](const std::vector<ValueId>& values) -> Result<std::vector<TensorLayout>> {
    std::vector<TensorLayout> layouts;
    for (const ValueId value : values) {
      const ValueType& type = graph.value(value).type;
      PT_ASSIGN(TensorLayout layout, DenseLayout(type.type, *type.static_dims(), RowMajor(type.dims.size())));
      layouts.push_back(std::move(layout));
    }
    return layouts;
  };
  const std::vector<ValueId> read = GroupInputs(graph, nodes), made = GroupOutputs(graph, nodes);
  if (read.empty() || made.empty()) return unsupported("it reads nothing but constants, or nobody reads it");
  PT_ASSIGN(const std::vector<TensorLayout> in, dense(read));
  PT_ASSIGN(const std::vector<TensorLayout> out, dense(made));
  return Make(graph, nodes, in, out);
}

std::string_view CTypeOf(DataType type) {
  switch (type) {
    case DataType::kFloat32:
      return "float";
    case DataType::kInt32:
      return "int";
    case DataType::kInt64:
      return "long long";
    case DataType::kBool:
      return "unsigned char";
    default:
      return "";
  }
}

std::string FloatLiteral(float number) {
  if (!std::isfinite(number)) return "";
  char digits[64];
  // Hexadecimal: exact, and the same in every locale.
  const auto [end, fault] = std::to_chars(digits, digits + sizeof(digits), std::fabs(number), std::chars_format::hex);
  if (fault != std::errc()) return "";
  const std::string text = "0x" + std::string(digits, end) + "f";
  return std::signbit(number) ? "(-" + text + ")" : text;
}

std::string LiteralOf(DataType type, const Tensor& scalar) {
  if (scalar.element_count() != 1 || scalar.type() != type) return "";
  if (type == DataType::kFloat32) return FloatLiteral(scalar.values<float>()[0]);
  if (CTypeOf(type).empty()) return "";
  const int64_t number = scalar.ToInts()[0];
  // The least 64-bit number has no literal.
  if (number == INT64_MIN) return "(-9223372036854775807ll - 1)";
  return "((" + std::string(CTypeOf(type)) + ")(" + std::to_string(number) + "ll))";
}

std::string OperandTexts(const Site& site) {
  std::string text;
  const auto add = [&](const Operand& operand, const char* kind, size_t i, size_t argument) {
    const std::string type = std::string(*kind == 'i' ? "const " : "") + std::string(CTypeOf(operand.type())) + "*";
    text += "  " + type + " const " + kind + std::to_string(i) + " = (" + type + ")arguments.at[" +
            std::to_string(argument) + "];\n";
  };
  for (size_t i = 0; i < site.in.size(); ++i) add(site.in[i], "in", i, i);
  for (size_t i = 0; i < site.out.size(); ++i) add(site.out[i], "out", i, site.out_argument(i));
  return text;
}

}  // namespace pt::cuda
