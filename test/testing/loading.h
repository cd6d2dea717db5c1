// Short forms for tests of the loader.
#pragma once

#include <string>

#include "partitiontuner/onnx/load_onnx.h"

namespace pt::testing {

inline Result<Graph> Load(const std::string& bytes, const LoadOptions& options = {}, LoadReport* report = nullptr,
                          const std::string& folder = {}) {
  return LoadOnnxBytes(std::as_bytes(std::span(bytes)), folder, options, report);
}

// "" when it loads, else "id: message [node]".
inline std::string LoadFault(const std::string& bytes, const LoadOptions& options = {},
                             const std::string& folder = {}) {
  const Result<Graph> graph = Load(bytes, options, nullptr, folder);
  if (graph.ok()) return {};
  return graph.error().id + ": " + graph.error().message +
         (graph.error().node.empty() ? "" : " [" + graph.error().node + "]");
}

inline bool Mentions(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace pt::testing
