#include "test/testing/generated/drawing.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/graph/visit_type.h"
#include "test/testing/generated/drawn_case.h"

namespace pt::testing {
namespace {

// Larger results are taken back: floats lose the digits that comparing needs, integers might overflow later.
constexpr double kLargest = 1e4;
constexpr int64_t kMostElements = 8192;
constexpr const char* kLeftOutName = "_";

std::string FloatText(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  std::string written = text;
  if (written.find_first_of(".en") == std::string::npos) written += ".0";
  return written;
}

template <typename T, typename F>
std::string ListText(const std::vector<T>& items, F one) {
  std::string text = "[";
  for (size_t i = 0; i < items.size(); ++i) text += (i == 0 ? "" : ",") + one(items[i]);
  return text + "]";
}

// Takes the range of the data down; false where a number is not finite or too large.
bool Measure(DrawnValue& value) {
  bool good = true, first = true;
  const auto note = [&](double x) {
    if (!std::isfinite(x) || std::fabs(x) > kLargest) good = false;
    value.least = first ? x : std::min(value.least, x);
    value.most = first ? x : std::max(value.most, x);
    value.nearest_to_zero = first ? std::fabs(x) : std::min(value.nearest_to_zero, std::fabs(x));
    first = false;
  };
  VisitType(value.type, [&]<typename T>() {
    if constexpr (kIsNumber<T>) {
      for (const T& x : value.data.values<T>()) note(NumberOf<double>(x));
    }
  });
  return good;
}

bool IsClassical(std::string_view op) { return op.starts_with(kClassicalDomain); }
const std::string kClassicalOpset =
    "opset " + std::string(kClassicalDomain) + " " + std::to_string(kClassicalVersion) + "\n";

}  // namespace

Attributes& Attributes::Int(std::string_view name, int64_t value) {
  text_ += " " + std::string(name) + "=" + std::to_string(value);
  return *this;
}

Attributes& Attributes::Ints(std::string_view name, const Dims& values) {
  text_ += " " + std::string(name) + "=" + ListText(values, [](int64_t x) { return std::to_string(x); });
  return *this;
}

Attributes& Attributes::Float(std::string_view name, double value) {
  text_ += " " + std::string(name) + "=" + FloatText(value);
  return *this;
}

Attributes& Attributes::Floats(std::string_view name, const std::vector<double>& values) {
  text_ += " " + std::string(name) + "=" + ListText(values, FloatText);
  return *this;
}

Attributes& Attributes::Texts(std::string_view name, const std::vector<std::string>& values) {
  text_ += " " + std::string(name) + "=" + ListText(values, [](const std::string& x) { return "\"" + x + "\""; });
  return *this;
}

Attributes& Attributes::Text(std::string_view name, std::string_view value) {
  text_ += " " + std::string(name) + "=\"" + std::string(value) + "\"";
  return *this;
}

Drawing::Drawing(uint64_t seed) : random_(seed) { has_empties_ = Chance(0.06); }

int64_t Drawing::Between(int64_t low, int64_t high) {
  return low + static_cast<int64_t>(random_.Below(static_cast<uint64_t>(high - low + 1)));
}

double Drawing::Real(double low, double high) { return std::round(random_.Uniform(low, high) * 1000) / 1000; }

int64_t Drawing::AnyDim() {
  if (has_empties_ && Chance(0.1)) return 0;
  return OneOf(Dims{1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 20, 33, 64, 130});
}

int64_t Drawing::Channels() { return OneOf(Dims{1, 2, 3, 4, 5, 6, 7, 8, 8, 12, 16, 16, 16, 24, 32, 32, 33, 48, 64}); }

Dims Drawing::AnyDims(int64_t least_rank, int64_t most_rank) {
  Dims dims(static_cast<size_t>(Between(least_rank, most_rank)));
  int64_t count = 1;
  for (int64_t& dim : dims) {
    dim = AnyDim();
    if (count * dim > 2000) dim = 1;
    count *= std::max<int64_t>(dim, 1);
  }
  return dims;
}

int64_t Drawing::Axis(int64_t rank) { return Between(-rank, rank - 1); }

Dims Drawing::Narrowed(Dims dims) {
  if (Chance(0.3)) dims.erase(dims.begin(), dims.begin() + Between(0, static_cast<int64_t>(dims.size())));
  const double share = OneOf(std::vector<double>{0, 0.25, 0.6});
  for (int64_t& dim : dims) {
    if (Chance(share)) dim = 1;
  }
  return dims;
}

DrawnOperand Drawing::LeftOut() {
  static const DrawnValue nothing = [] {
    DrawnValue value;
    value.name = kLeftOutName;
    return value;
  }();
  return &nothing;
}

DrawnOperand Drawing::Find(const std::function<bool(const DrawnValue&)>& wanted) {
  std::vector<DrawnOperand> found;
  for (const DrawnValue& value : values_) {
    if (!value.is_constant && wanted(value)) found.push_back(&value);
  }
  if (found.empty()) return nullptr;
  // Mostly recent ones, so that there are chains as well as branches.
  const auto back = random_.Below(Chance(0.3) ? found.size() : std::min<size_t>(found.size(), 3));
  return found[found.size() - 1 - back];
}

DrawnOperand Drawing::Add(DrawnValue value) {
  Measure(value);
  values_.push_back(std::move(value));
  return &values_.back();
}

DrawnOperand Drawing::Input(DataType type, const Dims& dims) {
  DrawnValue value;
  value.name = NextName('x');
  value.type = type;
  value.dims = dims;
  value.data = InputData(value.name, type, dims);
  value.line = "input " + value.name + " " + ToString(StaticType(type, dims));
  return Add(std::move(value));
}

DrawnOperand Drawing::Constant(DataType type, const Dims& dims, std::string_view fill) {
  DrawnValue value;
  value.name = NextName('c');
  value.type = type;
  value.dims = dims;
  value.is_constant = true;
  value.line = "const " + value.name + " " + ToString(StaticType(type, dims)) + " " + std::string(fill);
  Result<DrawnCase> read = ReadCase(value.line + "\noutput " + value.name + "\n");
  if (!read.ok()) {
    refused_ = value.line + ": " + ToString(read.error());
    return nullptr;
  }
  value.data = *read->graph.value(read->graph.outputs()[0]).constant;
  return Add(std::move(value));
}

DrawnOperand Drawing::Constant(DataType type, const Dims& dims) {
  return Constant(type, dims, "random " + std::to_string(names_ + 1));
}

DrawnOperand Drawing::Number(double value) { return Constant(DataType::kFloat32, {}, "value " + FloatText(value)); }

DrawnOperand Drawing::List(const Dims& values, DataType type) {
  std::string fill = values.empty() ? "zeros" : "ints";
  for (const int64_t value : values) fill += " " + std::to_string(value);
  return Constant(type, {static_cast<int64_t>(values.size())}, fill);
}

DrawnOperand Drawing::Like(DataType type, const Dims& dims) {
  if (Chance(0.6)) {
    const DrawnOperand there = Find([&](const DrawnValue& v) { return v.type == type && v.dims == dims; });
    if (there != nullptr) return there;
  }
  return Chance(0.5) ? Input(type, dims) : Constant(type, dims);
}

DrawnOperand Drawing::Float(int64_t least_rank, int64_t most_rank) {
  const DrawnOperand there =
      Chance(0.9)
          ? Find([&](const DrawnValue& v) { return v.is_float() && v.rank() >= least_rank && v.rank() <= most_rank; })
          : nullptr;
  return there != nullptr ? there : Input(DataType::kFloat32, AnyDims(least_rank, most_rank));
}

DrawnOperand Drawing::Image(int64_t spatial_dims) {
  const DrawnOperand there =
      Chance(0.85) ? Find([&](const DrawnValue& v) { return v.is_float() && v.rank() == spatial_dims + 2; }) : nullptr;
  if (there != nullptr) return there;
  Dims dims = {OneOf(Dims{1, 1, 1, 2, 3}), Channels()};
  if (has_empties_ && Chance(0.3)) dims[0] = 0;
  const int64_t most = spatial_dims == 1 ? 40 : spatial_dims == 2 ? 12 : 6;
  for (int64_t i = 0; i < spatial_dims; ++i) dims.push_back(Between(1, most));
  // Rows longer than a vector.
  if (spatial_dims == 2 && dims[1] <= 16 && Chance(0.25)) dims[3] = Between(13, 70);
  return Input(DataType::kFloat32, dims);
}

DrawnOperand Drawing::FloatWithin(double low, double high) {
  const DrawnOperand there = Find([&](const DrawnValue& v) { return v.is_float() && v.within(low, high); });
  if (there != nullptr && Chance(0.8)) return there;
  // From 0 to 1 by a sigmoid, and from there to a range of at most 4.
  const double least = std::max(low, std::min(-2.0, high - 4)), most = std::min(high, least + 4);
  const DrawnOperand share = Node("Sigmoid", {Float(0, 4)});
  const DrawnOperand scaled = Node("Mul", {share, Number(most - least)});
  return Node("Add", {scaled, Number(least)});
}

DrawnOperand Drawing::Node(std::string_view op, const std::vector<DrawnOperand>& operands,
                           const Attributes& attributes) {
  const std::vector<DrawnOperand> made = Node(op, operands, attributes, {true});
  return made.empty() ? nullptr : made[0];
}

std::vector<DrawnOperand> Drawing::Node(std::string_view op, const std::vector<DrawnOperand>& operands,
                                        const Attributes& attributes, const std::vector<bool>& wanted) {
  if (!refused_.empty() || std::ranges::find(operands, nullptr) != operands.end()) return {};
  DrawnNode node;
  std::string around, names, outputs;
  std::set<DrawnOperand> seen;
  for (const DrawnOperand operand : operands) {
    names += (names.empty() ? "" : ", ") + operand->name;
    if (operand == LeftOut() || !seen.insert(operand).second) continue;
    node.reads.push_back(operand->name);
    around +=
        (operand->is_constant ? operand->line
                              : "input " + operand->name + " " + ToString(StaticType(operand->type, operand->dims))) +
        "\n";
  }
  const uint64_t names_before = names_;
  for (const bool is_wanted : wanted) {
    const std::string name = is_wanted ? NextName('v') : kLeftOutName;
    outputs += (outputs.empty() ? "" : ", ") + name;
    if (is_wanted) node.makes.push_back(name);
  }
  node.is_classical = IsClassical(op);
  node.line = outputs + " = " + std::string(op) + "(" + names + ")" + attributes.text();
  const std::string opset = node.is_classical ? kClassicalOpset : "";
  std::string alone = opset + around + node.line + "\n";
  for (const std::string& name : node.makes) alone += "output " + name + "\n";
  const auto refuse = [&](const Error& error) {
    refused_ = alone + ToString(error);
    return std::vector<DrawnOperand>();
  };
  const Result<DrawnCase> read = ReadCase(alone);
  if (!read.ok()) return refuse(read.error());
  for (const ValueId output : read->graph.outputs()) {
    const auto dims = read->graph.value(output).type.static_dims();
    int64_t count = 1;
    for (const int64_t dim : dims.value_or(Dims())) count *= dim;
    if (dims && count <= kMostElements) continue;
    names_ = names_before;
    return {};
  }
  std::vector<Tensor> data;
  for (const DrawnOperand operand : operands) data.push_back(operand->data);
  const Result<std::vector<Tensor>> results = EvaluateNode(read->graph, NodeId(0u), data);
  if (!results.ok()) return refuse(results.error());
  std::vector<DrawnValue> values;
  bool good = true;
  for (size_t o = 0; o < wanted.size(); ++o) {
    if (!wanted[o]) continue;
    DrawnValue value;
    value.name = node.makes[values.size()];
    value.data = (*results)[o];
    value.type = value.data.type();
    value.dims = value.data.dims();
    good = good && Measure(value);
    values.push_back(std::move(value));
  }
  if (!good) {
    names_ = names_before;
    return {};
  }
  std::vector<DrawnOperand> made;
  for (DrawnValue& value : values) made.push_back(Add(std::move(value)));
  nodes_.push_back(std::move(node));
  return made;
}

std::string Drawing::Text() {
  std::set<std::string> read;
  for (const DrawnNode& node : nodes_) read.insert(node.reads.begin(), node.reads.end());
  std::string text, outputs;
  if (std::ranges::any_of(nodes_, [](const DrawnNode& node) { return node.is_classical; })) text = kClassicalOpset;
  for (const DrawnValue& value : values_) {
    if (!value.line.empty() && read.contains(value.name)) text += value.line + "\n";
  }
  for (const DrawnNode& node : nodes_) {
    text += node.line + "\n";
    for (const std::string& name : node.makes) {
      if (!read.contains(name) || Chance(0.12)) outputs += "output " + name + "\n";
    }
  }
  return text + outputs;
}

}  // namespace pt::testing
