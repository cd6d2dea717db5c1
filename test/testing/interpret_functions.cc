#include <algorithm>
#include <map>
#include <optional>

#include "partitiontuner/backend/libraries.h"
#include "partitiontuner/graph/graph_builder.h"
#include "partitiontuner/onnx/infer_shapes.h"
#include "partitiontuner/onnx/load_onnx.h"
#include "test/testing/classical_domain.h"
#include "test/testing/function_model.h"

namespace pt::testing {
namespace {

using Tensors = std::vector<std::optional<Tensor>>;  // nothing: left out

Error Undefined(const std::string& what) { return MakeError(ErrorCode::kInvalidInput, "test.undefined", what); }

// Values by name, with those of the graph around; looked up where a graph was written, not where it is run.
struct Scope {
  std::map<std::string, std::optional<Tensor>> values;
  const Scope* outer = nullptr;

  Result<std::optional<Tensor>> Find(const std::string& name) const {
    if (name.empty()) return std::optional<Tensor>();
    for (const Scope* scope = this; scope != nullptr; scope = scope->outer) {
      const auto at = scope->values.find(name);
      if (at != scope->values.end()) return at->second;
    }
    return Undefined("nothing makes \"" + name + "\"");
  }
};

struct Bound;
using Bindings = std::map<std::string, Bound>;

// An attribute's value; of a graph also where it was written.
struct Bound {
  const ModelAttribute* attribute;
  const Scope* scope;
  const Bindings* bindings;
};

Tensor Rows(const Tensor& tensor, int64_t begin, int64_t count, std::vector<int64_t> dims) {
  const size_t row = tensor.bytes().size() / static_cast<size_t>(tensor.dims()[0]);
  const auto* from = reinterpret_cast<const char*>(tensor.bytes().data()) + static_cast<size_t>(begin) * row;
  return Tensor::FromBytes(tensor.type(), std::move(dims), std::string(from, static_cast<size_t>(count) * row)).value();
}

// One behind the other along a new axis in front.
Result<Tensor> Stack(const std::vector<Tensor>& tensors) {
  if (tensors.empty()) return Undefined("a loop without iterations has no rows to stack");
  std::vector<int64_t> dims = tensors[0].dims();
  dims.insert(dims.begin(), static_cast<int64_t>(tensors.size()));
  std::string bytes;
  for (const Tensor& tensor : tensors)
    bytes.append(reinterpret_cast<const char*>(tensor.bytes().data()), tensor.bytes().size());
  return Tensor::FromBytes(tensors[0].type(), dims, bytes);
}

class Interpreter {
 public:
  explicit Interpreter(const FunctionModel& model) : model_(model) {}

  Result<Tensors> Run(const ModelGraph& graph, const Tensors& inputs, const Scope* outer, const Bindings& bindings) {
    Scope scope;
    scope.outer = outer;
    for (size_t i = 0; i < graph.inputs.size(); ++i)
      scope.values[graph.inputs[i]] = i < inputs.size() ? inputs[i] : std::nullopt;
    return RunNodes(graph.nodes, graph.outputs, scope, bindings);
  }

  Result<Tensors> RunNodes(const std::vector<ModelNode>& nodes, const std::vector<std::string>& outputs, Scope& scope,
                           const Bindings& bindings) {
    for (const ModelNode& node : nodes) {
      PT_ASSIGN(const Tensors made, RunNode(node, scope, bindings));
      for (size_t i = 0; i < node.outputs.size(); ++i) {
        if (!node.outputs[i].empty()) scope.values[node.outputs[i]] = made.at(i);
      }
    }
    Tensors results;
    for (const std::string& output : outputs) {
      PT_ASSIGN(auto value, scope.Find(output));
      results.push_back(std::move(value));
    }
    return results;
  }

 private:
  Result<Tensors> RunNode(const ModelNode& node, const Scope& scope, const Bindings& bindings) {
    Tensors inputs;
    for (const std::string& name : node.inputs) {
      PT_ASSIGN(auto value, scope.Find(name));
      inputs.push_back(std::move(value));
    }
    Bindings own;
    for (const ModelAttribute& attribute : node.attributes) {
      if (attribute.refers_to.empty()) {
        own.emplace(attribute.name, Bound{&attribute, &scope, &bindings});
      } else if (const auto at = bindings.find(attribute.refers_to); at != bindings.end()) {
        own.emplace(attribute.name, at->second);
      }
    }
    for (const ModelFunction& function : model_.functions) {
      if (function.domain == node.domain && function.name == node.op && function.overload == node.overload)
        return Call(function, inputs, own);
    }
    if (node.op == "If") return RunIf(inputs, own);
    if (node.op == "Loop") return RunLoop(inputs, own);
    if (node.op == "Scan") return RunScan(inputs, own);
    return RunOperator(node, inputs, own);
  }

  Result<Tensors> Call(const ModelFunction& function, const Tensors& inputs, Bindings given) {
    for (const ModelAttribute& attribute : function.defaults)
      given.emplace(attribute.name, Bound{&attribute, nullptr, nullptr});
    Scope scope;
    for (size_t i = 0; i < function.inputs.size(); ++i)
      scope.values[function.inputs[i]] = i < inputs.size() ? inputs[i] : std::nullopt;
    return RunNodes(function.nodes, function.outputs, scope, given);
  }

  Result<Tensors> RunBody(const Bindings& own, const std::string& name, const Tensors& inputs) {
    const Bound& bound = own.at(name);
    static const Bindings none;
    const auto& graph = std::get<std::shared_ptr<const ModelGraph>>(bound.attribute->value);
    return Run(*graph, inputs, bound.scope, bound.bindings == nullptr ? none : *bound.bindings);
  }

  Result<Tensors> RunIf(const Tensors& inputs, const Bindings& own) {
    return RunBody(own, inputs.at(0)->ToInts().at(0) != 0 ? "then_branch" : "else_branch", {});
  }

  Result<Tensors> RunLoop(const Tensors& inputs, const Bindings& own) {
    Tensors carried(inputs.begin() + std::min<std::ptrdiff_t>(2, std::ssize(inputs)), inputs.end());
    std::vector<std::vector<Tensor>> scanned;
    for (int64_t i = 0; i < inputs.at(0)->ToInts().at(0); ++i) {
      Tensors given = {Tensor::Int64({}, {i}), Tensor::Of<bool>(DataType::kBool, {}, std::span<const bool>(&kTrue, 1))};
      given.insert(given.end(), carried.begin(), carried.end());
      PT_ASSIGN(const Tensors made, RunBody(own, "body", given));
      for (size_t c = 0; c < carried.size(); ++c) carried[c] = made.at(1 + c);
      scanned.resize(made.size() - 1 - carried.size());
      for (size_t s = 0; s < scanned.size(); ++s) scanned[s].push_back(*made[1 + carried.size() + s]);
      if (made.at(0)->ToInts().at(0) == 0) break;
    }
    return WithStacked(std::move(carried), scanned);
  }

  // Of all inputs scanned along axis 0, forwards.
  Result<Tensors> RunScan(const Tensors& inputs, const Bindings& own) {
    const auto count = static_cast<size_t>(std::get<int64_t>(own.at("num_scan_inputs").attribute->value));
    Tensors carried(inputs.begin(), inputs.end() - static_cast<std::ptrdiff_t>(count));
    std::vector<std::vector<Tensor>> scanned;
    for (int64_t i = 0; i < inputs.back()->dims().at(0); ++i) {
      Tensors given = carried;
      for (size_t s = carried.size(); s < inputs.size(); ++s) {
        std::vector<int64_t> dims(inputs[s]->dims().begin() + 1, inputs[s]->dims().end());
        given.push_back(Rows(*inputs[s], i, 1, dims));
      }
      PT_ASSIGN(const Tensors made, RunBody(own, "body", given));
      for (size_t c = 0; c < carried.size(); ++c) carried[c] = made.at(c);
      scanned.resize(made.size() - carried.size());
      for (size_t s = 0; s < scanned.size(); ++s) scanned[s].push_back(*made[carried.size() + s]);
    }
    return WithStacked(std::move(carried), scanned);
  }

  static Result<Tensors> WithStacked(Tensors results, const std::vector<std::vector<Tensor>>& scanned) {
    for (const std::vector<Tensor>& rows : scanned) {
      PT_ASSIGN(Tensor stacked, Stack(rows));
      results.push_back(std::move(stacked));
    }
    return results;
  }

  struct ToAttribute {
    Result<Attribute> operator()(const std::shared_ptr<const ModelGraph>&) const {
      return Undefined("no operator but If, Loop and Scan has graphs");
    }
    template <typename T>
    Result<Attribute> operator()(const T& value) const {
      return Attribute(value);
    }
  };

  static Result<Tensor> Constant(const Bindings& own) {
    if (own.size() != 1) return Undefined("a Constant without a value");
    const auto& [name, bound] = *own.begin();
    const auto& value = bound.attribute->value;
    if (name == "value") return std::get<Tensor>(value);
    if (name == "value_int") return Tensor::Int64({}, {std::get<int64_t>(value)});
    if (name == "value_float") return Tensor::Float32({}, {std::get<float>(value)});
    if (name == "value_string") return Tensor::FromStrings({}, {std::get<std::string>(value)});
    const auto dims = [](const auto& values) { return std::vector<int64_t>{static_cast<int64_t>(values.size())}; };
    if (name == "value_ints") {
      const auto& ints = std::get<std::vector<int64_t>>(value);
      return Tensor::Int64(dims(ints), ints);
    }
    if (name == "value_floats") {
      const auto& floats = std::get<std::vector<float>>(value);
      return Tensor::Float32(dims(floats), floats);
    }
    const auto& strings = std::get<std::vector<std::string>>(value);
    return Tensor::FromStrings(dims(strings), strings);
  }

  static Result<Tensors> RunOperator(const ModelNode& node, const Tensors& inputs, const Bindings& own) {
    if (node.op == "Constant") {
      PT_ASSIGN(Tensor value, Constant(own));
      return Tensors{std::move(value)};
    }
    GraphBuilder builder;
    builder.set_opset(kTargetOpset);
    if (!node.domain.empty()) builder.set_domain(node.domain, kClassicalVersion);
    Node made;
    made.op = node.op;
    made.domain = node.domain;
    std::vector<Tensor> operands;
    for (const auto& input : inputs) {
      made.inputs.push_back(input ? builder.AddConstant("i" + std::to_string(operands.size()), *input) : ValueId());
      operands.push_back(input.value_or(Tensor()));
    }
    while (!made.inputs.empty() && !made.inputs.back().valid()) made.inputs.pop_back(), operands.pop_back();
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      made.outputs.push_back(node.outputs[i].empty() ? ValueId() : builder.AddValue("o" + std::to_string(i)));
      if (made.outputs.back().valid()) builder.AddOutput(made.outputs.back());
    }
    for (const auto& [name, bound] : own) {
      PT_ASSIGN(Attribute value, std::visit(ToAttribute(), bound.attribute->value));
      made.attributes.emplace(name, std::move(value));
    }
    builder.AddNode(std::move(made));
    PT_ASSIGN(const Graph graph, builder.Build());
    PT_ASSIGN(const Graph typed, InferShapes(graph));
    PT_ASSIGN(const std::vector<Tensor> results, EvaluateNode(typed, NodeId(size_t{0}), operands));
    return Tensors(results.begin(), results.end());
  }

  static constexpr bool kTrue = true;
  const FunctionModel& model_;
};

}  // namespace

Result<std::vector<Tensor>> Interpret(const FunctionModel& model) {
  Scope scope;
  for (const NamedTensor& input : model.inputs) scope.values[input.name] = input.tensor;
  for (const NamedTensor& constant : model.constants) scope.values[constant.name] = constant.tensor;
  PT_ASSIGN(const auto results, Interpreter(model).RunNodes(model.graph.nodes, model.graph.outputs, scope, {}));
  std::vector<Tensor> outputs;
  for (const auto& result : results) outputs.push_back(result.value());
  return outputs;
}

}  // namespace pt::testing
