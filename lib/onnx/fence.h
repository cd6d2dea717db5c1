// The fence around everything of libonnx and protobuf that throws, and names for their messages.
#pragma once

#include <exception>
#include <new>
#include <string>

#include "lib/onnx/onnx_protos.h"
#include "partitiontuner/support/result.h"

namespace pt {

namespace proto = ONNX_NAMESPACE;
using Nodes = google::protobuf::RepeatedPtrField<proto::NodeProto>;

// Runs `work`, which calls libonnx or protobuf, and turns what it throws into an Error of that code
// and id.
template <typename F>
Status Fenced(ErrorCode code, const char* id, const std::string& stage, F&& work) {
  try {
    work();
    return {};
  } catch (const std::bad_alloc&) {
    return MakeError(ErrorCode::kOutOfMemory, "onnx.memory", stage + ": out of memory");
  } catch (const std::exception& e) {
    return MakeError(code, id, stage + ": " + e.what());
  } catch (...) {
    return MakeError(code, id, stage + ": unknown exception");
  }
}

// "Conv conv1 (#3)": operator, best name there is, index within its graph.
inline std::string NodeLabel(const proto::NodeProto& node, size_t index) {
  std::string text = node.domain().empty() ? node.op_type() : node.domain() + "." + node.op_type();
  if (!node.name().empty()) {
    text += " " + node.name();
  } else if (node.output_size() > 0 && !node.output(0).empty()) {
    text += " " + node.output(0);
  }
  return text + " (#" + std::to_string(index) + ")";
}

inline Error LoadError(ErrorCode code, std::string id, std::string message, std::string node = {}) {
  Error error = MakeError(code, std::move(id), std::move(message));
  error.node = std::move(node);
  return error;
}

inline bool IsDefaultDomain(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

}  // namespace pt
