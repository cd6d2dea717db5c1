#include "lib/onnx/function_calls.h"

#include <algorithm>
#include <map>
#include <utility>

#include "lib/onnx/opset_domain.h"

namespace pt {
namespace {

uint64_t SaturatingAdd(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

class Calls {
 public:
  Status Add(const proto::FunctionProto& function) {
    if (functions_.emplace(KeyOf(function), Entry{&function}).second) return {};
    return LoadError(ErrorCode::kInvalidInput, "onnx.duplicate", "function " + NameOf(function) + " is defined twice");
  }

  // Of a body and of the graphs that its attributes have where a call leaves them out.
  Result<uint64_t> Count(const proto::FunctionProto& function, int depth) {
    PT_ASSIGN(const uint64_t body, Count(function.node(), depth));
    PT_ASSIGN(const uint64_t defaults, CountInside(function.attribute_proto(), depth));
    return SaturatingAdd(body, defaults);
  }

  // Nodes that these stand for once everything is expanded, saturating. Graphs that calls give to functions count
  // once here, however often a body has them.
  Result<uint64_t> Count(const Nodes& nodes, int depth) {
    uint64_t count = 0;
    for (const proto::NodeProto& node : nodes) {
      PT_ASSIGN(const uint64_t inside, CountInside(node.attribute(), depth));
      count = SaturatingAdd(count, inside);
      const auto callee = functions_.find(KeyOf(node));
      uint64_t own = 1;
      if (callee != functions_.end()) {
        PT_ASSIGN(own, CountCall(callee->second, depth + 1));
      }
      count = SaturatingAdd(count, own);
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

  template <typename Attributes>
  Result<uint64_t> CountInside(const Attributes& attributes, int depth) {
    uint64_t count = 0;
    for (const proto::AttributeProto& attribute : attributes) {
      if (attribute.has_g()) {
        PT_ASSIGN(const uint64_t inside, Count(attribute.g().node(), depth));
        count = SaturatingAdd(count, inside);
      }
      for (const proto::GraphProto& graph : attribute.graphs()) {
        PT_ASSIGN(const uint64_t inside, Count(graph.node(), depth));
        count = SaturatingAdd(count, inside);
      }
    }
    return count;
  }

  Result<uint64_t> CountCall(Entry& entry, int depth) {
    const std::string name = NameOf(*entry.function);
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
    PT_ASSIGN(entry.count, Count(*entry.function, depth));
    entry.height = deepest_ - depth;
    deepest_ = std::max(deepest_, outer_deepest);
    entry.state = State::kDone;
    return entry.count;
  }

  std::map<FunctionKey, Entry> functions_;
  int deepest_ = 0;
};

std::string PlainDomain(const std::string& domain) {
  return IsDefaultDomain(domain) || OpsetOfDomain(domain) ? std::string() : domain;
}

}  // namespace

FunctionKey KeyOf(const proto::FunctionProto& function) {
  return {PlainDomain(function.domain()), function.name(), function.overload()};
}

FunctionKey KeyOf(const proto::NodeProto& node) {
  return {PlainDomain(node.domain()), node.op_type(), node.overload()};
}

std::string NameOf(const proto::FunctionProto& function) {
  return function.domain() + "." + function.name() + (function.overload().empty() ? "" : ":" + function.overload());
}

Status CheckCalls(const proto::ModelProto& model, const Limits& limits) {
  Calls calls;
  for (const proto::FunctionProto& function : model.functions()) PT_CHECK_OK(calls.Add(function));
  // What nothing calls is checked as well, so recursion in it is refused, too.
  for (const proto::FunctionProto& function : model.functions()) PT_CHECK_OK(calls.Count(function, 0));
  PT_ASSIGN(const uint64_t nodes, calls.Count(model.graph().node(), 0));
  if (limits.nodes == 0 || nodes <= limits.nodes) return {};
  return LoadError(ErrorCode::kInvalidInput, "onnx.limit",
                   "with functions expanded the model has " +
                       (nodes == UINT64_MAX ? "2^64 or more" : std::to_string(nodes)) + " nodes, over the limit of " +
                       std::to_string(limits.nodes));
}

}  // namespace pt
