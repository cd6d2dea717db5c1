#include "test/testing/generated/wrap_in_functions.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace pt::testing {
namespace {

using Nodes = std::vector<ModelNode>;

// A value of the same kind that gives something else where it is used by mistake.
struct Other {
  ModelAttribute operator()(int64_t value) const { return {"", value + 1}; }
  ModelAttribute operator()(float value) const { return {"", value * 2 + 1}; }
  ModelAttribute operator()(const std::string& value) const { return {"", value + "?"}; }
  ModelAttribute operator()(const Tensor& value) const {
    std::string bytes(value.bytes().size(), '\1');
    return {"", Tensor::FromBytes(value.type(), value.dims(), std::move(bytes)).value()};
  }
  ModelAttribute operator()(std::vector<int64_t> value) const {
    value.push_back(1);
    return {"", value};
  }
  ModelAttribute operator()(std::vector<float> value) const {
    value.push_back(1);
    return {"", value};
  }
  ModelAttribute operator()(std::vector<std::string> value) const {
    value.push_back("?");
    return {"", value};
  }
  ModelAttribute operator()(const std::shared_ptr<const ModelGraph>& value) const { return {"", value}; }
};

std::shared_ptr<const ModelGraph> Renamed(const ModelGraph& graph, const std::map<std::string, std::string>& outside,
                                          const std::string& suffix);

// Where `names` says nothing of a name, it stays.
void Rename(Nodes& nodes, const std::map<std::string, std::string>& names) {
  const auto rename = [&](std::string& name) {
    if (const auto at = names.find(name); at != names.end()) name = at->second;
  };
  for (ModelNode& node : nodes) {
    for (std::string& name : node.inputs) rename(name);
    for (std::string& name : node.outputs) rename(name);
    for (ModelAttribute& attribute : node.attributes) {
      if (auto* graph = std::get_if<std::shared_ptr<const ModelGraph>>(&attribute.value);
          graph != nullptr && attribute.refers_to.empty())
        attribute.value = Renamed(**graph, names, "");
    }
  }
}

// What the graph makes gets the suffix, what it reads from outside what `outside` says.
std::shared_ptr<const ModelGraph> Renamed(const ModelGraph& graph, const std::map<std::string, std::string>& outside,
                                          const std::string& suffix) {
  ModelGraph made = graph;
  std::map<std::string, std::string> names = outside;
  for (const ModelNode& node : graph.nodes) {
    for (const std::string& output : node.outputs) {
      if (!output.empty()) names[output] = output + suffix;
    }
  }
  Rename(made.nodes, names);
  for (std::string& output : made.outputs) output = names.at(output);
  return std::make_shared<const ModelGraph>(std::move(made));
}

std::set<std::string> MadeBy(const Nodes& nodes) {
  std::set<std::string> made;
  for (const ModelNode& node : nodes) made.insert(node.outputs.begin(), node.outputs.end());
  made.erase("");
  return made;
}

// What nodes read that they do not make, graphs within included.
void ReadBy(const Nodes& nodes, std::set<std::string>& read) {
  std::set<std::string> own;
  for (const ModelNode& node : nodes) {
    own.insert(node.inputs.begin(), node.inputs.end());
    for (const ModelAttribute& attribute : node.attributes) {
      const auto* graph = std::get_if<std::shared_ptr<const ModelGraph>>(&attribute.value);
      if (graph != nullptr && attribute.refers_to.empty()) ReadBy((*graph)->nodes, own);
    }
  }
  own.erase("");
  for (const std::string& made : MadeBy(nodes)) own.erase(made);
  read.insert(own.begin(), own.end());
}

class Wrapping {
 public:
  Wrapping(FunctionModel& model, uint64_t seed) : model_(model), random_(seed) {}

  // Wraps runs of the nodes; `wanted`: what is read of them elsewhere.
  void Wrap(Nodes& nodes, const std::set<std::string>& wanted, int depth) {
    if (depth > 3) return;
    Nodes wrapped;
    size_t at = 0;
    while (at < nodes.size()) {
      const size_t end = std::min(nodes.size(), at + 1 + Below(5));
      const auto begin = nodes.begin() + static_cast<std::ptrdiff_t>(at);
      Nodes part(begin, nodes.begin() + static_cast<std::ptrdiff_t>(end));
      std::set<std::string> read = wanted;
      ReadBy(Nodes(nodes.begin() + static_cast<std::ptrdiff_t>(end), nodes.end()), read);
      Part(part, read, depth);
      wrapped.insert(wrapped.end(), part.begin(), part.end());
      at = end;
    }
    nodes = std::move(wrapped);
  }

 private:
  size_t Below(size_t n) { return static_cast<size_t>(random_() % n); }

  void Part(Nodes& part, const std::set<std::string>& read, int depth) {
    std::vector<std::string> outputs;
    for (const std::string& made : MadeBy(part)) {
      if (read.contains(made)) outputs.push_back(made);
    }
    const size_t choice = Below(4);
    if (choice == 0 || outputs.empty()) return;
    Wrap(part, read, depth + 1);
    if (choice == 1) {
      ToBranch(part, outputs);
    } else {
      ToFunction(part, outputs);
    }
  }

  // The right nodes in the branch that is taken.
  void ToBranch(Nodes& part, const std::vector<std::string>& outputs) {
    const std::string mark = std::to_string(++made_);
    const bool taken = Below(2) == 0;
    ModelNode choose{"If", {taken ? "yes" : "no"}, outputs};
    const ModelGraph graph{{}, outputs, part};
    choose.attributes = {{"then_branch", Renamed(graph, {}, "_then" + mark)},
                         {"else_branch", Renamed(graph, {}, "_else" + mark)}};
    part = {std::move(choose)};
  }

  void ToFunction(Nodes& part, const std::vector<std::string>& outputs) {
    ModelFunction function;
    function.domain = "local";
    function.name = "F" + std::to_string(Below(3));
    function.overload = std::to_string(++made_);
    std::set<std::string> read;
    ReadBy(part, read);
    ModelNode call{function.name, {read.begin(), read.end()}, outputs, {}, "local", function.overload};
    Lift(part, function, call);
    function.inputs = call.inputs;
    function.outputs = outputs;
    if (Below(2) == 0) Shorten(part, function);
    function.nodes = std::move(part);
    model_.functions.insert(model_.functions.begin() + static_cast<std::ptrdiff_t>(Below(model_.functions.size() + 1)),
                            std::move(function));
    part = {std::move(call)};
  }

  // Attributes of the nodes become the function's.
  void Lift(Nodes& nodes, ModelFunction& function, ModelNode& call) {
    for (ModelNode& node : nodes) {
      for (ModelAttribute& attribute : node.attributes) {
        auto* graph = std::get_if<std::shared_ptr<const ModelGraph>>(&attribute.value);
        if (graph != nullptr) {
          ModelGraph lifted = **graph;
          Lift(lifted.nodes, function, call);
          attribute.value = std::make_shared<const ModelGraph>(std::move(lifted));
          continue;
        }
        const size_t choice = Below(4);
        if (choice == 0) continue;
        const std::string name = "p" + std::to_string(function.attributes.size() + function.defaults.size());
        const ModelAttribute value{name, attribute.value};
        if (choice == 1) {
          function.attributes.push_back(name);
        } else if (choice == 2) {
          function.defaults.push_back(value);
        } else {
          ModelAttribute other = std::visit(Other(), attribute.value);
          other.name = name;
          function.defaults.push_back(std::move(other));
        }
        if (choice != 2) call.attributes.push_back(value);
        attribute.refers_to = name;
      }
    }
  }

  // Names that other bodies and the graph have as well.
  static void Shorten(Nodes& nodes, ModelFunction& function) {
    std::map<std::string, std::string> names;
    const auto shorten = [&](std::string& name) {
      name = names.emplace(name, "x" + std::to_string(names.size())).first->second;
    };
    for (std::string& name : function.inputs) shorten(name);
    for (ModelNode& node : nodes) {
      for (const std::string& output : node.outputs) {
        std::string copy = output;
        if (!copy.empty()) shorten(copy);
      }
    }
    Rename(nodes, names);
    for (std::string& name : function.outputs) name = names.at(name);
  }

  FunctionModel& model_;
  std::mt19937_64 random_;
  uint64_t made_ = 0;
};

}  // namespace

FunctionModel WrapInFunctions(const DrawnCase& drawn, uint64_t seed) {
  FunctionModel model = ModelOf(drawn.graph, drawn.inputs);
  for (const bool value : {true, false})
    model.constants.push_back(
        {value ? "yes" : "no", Tensor::Of<bool>(DataType::kBool, {}, std::span<const bool>(&value, 1))});
  const std::set<std::string> wanted(model.graph.outputs.begin(), model.graph.outputs.end());
  Wrapping(model, seed).Wrap(model.graph.nodes, wanted, 0);
  return model;
}

}  // namespace pt::testing
