#include "lib/onnx/functions.h"

#include <onnx/inliner/inliner.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

namespace pt {
namespace {

// libonnx expands recursively; chains deeper than this would lean on the size of the stack.
constexpr int kDeepestCalls = 256;
// libonnx refuses chains of more than 100 calls.
constexpr int kFlattenEvery = 64;

using FunctionKey = std::tuple<std::string, std::string, std::string>;  // domain, name, overload

FunctionKey KeyOf(const proto::FunctionProto& f) {
  return {IsDefaultDomain(f.domain()) ? "" : f.domain(), f.name(), f.overload()};
}
FunctionKey KeyOf(const proto::NodeProto& n) {
  return {IsDefaultDomain(n.domain()) ? "" : n.domain(), n.op_type(), n.overload()};
}

uint64_t SaturatingAdd(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

class Expansion {
 public:
  Status Add(const proto::FunctionProto& function) {
    if (functions_.emplace(KeyOf(function), Entry{&function}).second) return {};
    return LoadError(ErrorCode::kInvalidInput, "onnx.duplicate",
                     "function " + function.domain() + "." + function.name() + " is defined twice");
  }

  // After Count: how many calls are nested below a function.
  std::vector<std::pair<int, FunctionKey>> HeightsAscending() const {
    std::vector<std::pair<int, FunctionKey>> heights;
    for (const auto& [key, entry] : functions_) heights.emplace_back(entry.height, key);
    std::sort(heights.begin(), heights.end());
    return heights;
  }

  // Nodes that these stand for once everything is expanded, saturating.
  Result<uint64_t> Count(const Nodes& nodes, int depth) {
    uint64_t count = 0;
    for (const proto::NodeProto& node : nodes) {
      const auto callee = functions_.find(KeyOf(node));
      if (callee != functions_.end()) {
        PT_ASSIGN(const uint64_t expanded, CountFunction(callee->second, depth + 1));
        count = SaturatingAdd(count, expanded);
        continue;
      }
      count = SaturatingAdd(count, 1);
      for (const proto::AttributeProto& attribute : node.attribute()) {
        if (attribute.has_g()) {
          PT_ASSIGN(const uint64_t inside, Count(attribute.g().node(), depth));
          count = SaturatingAdd(count, inside);
        }
        for (const proto::GraphProto& graph : attribute.graphs()) {
          PT_ASSIGN(const uint64_t inside, Count(graph.node(), depth));
          count = SaturatingAdd(count, inside);
        }
      }
    }
    return count;
  }

 private:
  enum class State { kNew, kOpen, kDone };
  struct Entry {
    const proto::FunctionProto* function;
    State state = State::kNew;
    uint64_t count = 0;
    int height = 0;  // of the chain of calls below it
  };

  Result<uint64_t> CountFunction(Entry& entry, int depth) {
    const std::string name = entry.function->domain() + "." + entry.function->name();
    if (entry.state == State::kOpen)
      return LoadError(ErrorCode::kInvalidInput, "onnx.recursion", "function " + name + " calls itself");
    const auto too_deep = [&](int calls) {
      return LoadError(ErrorCode::kInvalidInput, "onnx.limit",
                       "calls of functions are nested " + std::to_string(calls) + " deep, over the limit of " +
                           std::to_string(kDeepestCalls) + ", at function " + name);
    };
    deepest_ = std::max(deepest_, depth);
    if (entry.state == State::kDone) {
      if (depth + entry.height > kDeepestCalls) return too_deep(depth + entry.height);
      deepest_ = std::max(deepest_, depth + entry.height);
      return entry.count;
    }
    if (depth > kDeepestCalls) return too_deep(depth);
    entry.state = State::kOpen;
    const int outer_deepest = std::exchange(deepest_, depth);
    PT_ASSIGN(entry.count, Count(entry.function->node(), depth));
    entry.height = deepest_ - depth;
    deepest_ = std::max(deepest_, outer_deepest);
    entry.state = State::kDone;
    return entry.count;
  }

  std::map<FunctionKey, Entry> functions_;
  int deepest_ = 0;
};

bool CallsAny(const Nodes& nodes, const std::map<FunctionKey, const proto::FunctionProto*>& functions,
              std::string& which) {
  for (const proto::NodeProto& node : nodes) {
    if (functions.contains(KeyOf(node))) {
      which = node.domain() + "." + node.op_type();
      return true;
    }
    for (const proto::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g() && CallsAny(attribute.g().node(), functions, which)) return true;
      for (const proto::GraphProto& graph : attribute.graphs()) {
        if (CallsAny(graph.node(), functions, which)) return true;
      }
    }
  }
  return false;
}

// Bodies may use domains that the model itself does not import.
void ImportFunctionDomains(proto::ModelProto& model) {
  std::unordered_map<std::string, int64_t> imported;
  const auto plain = [](const std::string& domain) { return IsDefaultDomain(domain) ? std::string() : domain; };
  for (const auto& import : model.opset_import()) imported.emplace(plain(import.domain()), import.version());
  for (const proto::FunctionProto& function : model.functions()) {
    for (const auto& import : function.opset_import()) {
      if (!imported.emplace(plain(import.domain()), import.version()).second) continue;
      *model.add_opset_import() = import;
    }
  }
}

// Gives the function a body without calls.
Status Flatten(proto::FunctionProto& function, const std::map<FunctionKey, proto::FunctionProto*>& functions,
               int64_t ir_version) {
  proto::ModelProto model;
  model.set_ir_version(ir_version);
  *model.mutable_opset_import() = function.opset_import();
  proto::GraphProto& graph = *model.mutable_graph();
  graph.set_name("body");
  graph.mutable_node()->Swap(function.mutable_node());
  for (const std::string& name : function.input()) graph.add_input()->set_name(name);
  for (const std::string& name : function.output()) graph.add_output()->set_name(name);
  std::set<FunctionKey> copied;
  const auto copy_called = [&](const auto& self, const Nodes& nodes) -> void {
    for (const proto::NodeProto& node : nodes) {
      const auto callee = functions.find(KeyOf(node));
      if (callee != functions.end() && copied.insert(callee->first).second) {
        *model.add_functions() = *callee->second;
        self(self, callee->second->node());
      }
      for (const proto::AttributeProto& attribute : node.attribute()) {
        if (attribute.has_g()) self(self, attribute.g().node());
        for (const proto::GraphProto& inner : attribute.graphs()) self(self, inner.node());
      }
    }
  };
  copy_called(copy_called, graph.node());
  PT_CHECK_OK(Fenced(ErrorCode::kInvalidInput, "onnx.function", "expanding functions",
                     [&] { proto::inliner::InlineLocalFunctions(model, false); }));
  function.mutable_node()->Swap(graph.mutable_node());
  for (auto& info : *graph.mutable_value_info()) function.add_value_info()->Swap(&info);
  return {};
}

}  // namespace

Status PrepareFunctions(proto::ModelProto& model, const Limits& limits) {
  if (model.functions_size() == 0) return {};
  Expansion expansion;
  for (const proto::FunctionProto& function : model.functions()) PT_CHECK_OK(expansion.Add(function));
  // Functions that nothing calls are parsed and checked by libonnx too, so recursion in them is
  // refused as well.
  for (const proto::FunctionProto& function : model.functions()) PT_CHECK_OK(expansion.Count(function.node(), 0));
  PT_ASSIGN(const uint64_t nodes, expansion.Count(model.graph().node(), 0));
  if (limits.nodes != 0 && nodes > limits.nodes) {
    return LoadError(ErrorCode::kInvalidInput, "onnx.limit",
                     "with functions expanded the model has " +
                         (nodes == UINT64_MAX ? "2^64 or more" : std::to_string(nodes)) + " nodes, over the limit of " +
                         std::to_string(limits.nodes));
  }
  std::map<FunctionKey, proto::FunctionProto*> functions;
  for (proto::FunctionProto& function : *model.mutable_functions()) functions.emplace(KeyOf(function), &function);
  for (const auto& [height, key] : expansion.HeightsAscending()) {
    if (height > 0 && height % kFlattenEvery == 0)
      PT_CHECK_OK(Flatten(*functions.at(key), functions, model.ir_version()));
  }
  return {};
}

Result<uint64_t> ExpandFunctions(proto::ModelProto& model) {
  const auto count = static_cast<uint64_t>(model.functions_size());
  if (count == 0) return count;
  ImportFunctionDomains(model);
  constexpr const char* kStage = "expanding functions";
  for (const bool convert : {false, true}) {
    PT_CHECK_OK(Fenced(convert ? ErrorCode::kUnsupported : ErrorCode::kInvalidInput, "onnx.function", kStage,
                       [&] { proto::inliner::InlineLocalFunctions(model, convert); }));
    std::map<FunctionKey, const proto::FunctionProto*> left;
    for (const proto::FunctionProto& function : model.functions()) left.emplace(KeyOf(function), &function);
    std::string which;
    if (!CallsAny(model.graph().node(), left, which)) break;
    if (convert) {
      return LoadError(ErrorCode::kUnsupported, "onnx.function",
                       "function " + which + " needs other operator versions than the model");
    }
  }
  model.clear_functions();
  return count;
}

}  // namespace pt
