// What a runtime says of work, asked once.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "partitiontuner/graph/graph.h"
#include "partitiontuner/support/hash.h"
#include "partitiontuner/support/result.h"

namespace pt::plugins {

// Thread-safe; the same work may be asked twice at once.
class Answers {
 public:
  // Why the nodes cannot run on that device of the runtime, by the message of the error that `ask` returns; nothing
  // when it is well. Asked once for each device and signature of work.
  std::optional<std::string> WhyNot(const std::string& device, const Graph& graph, std::span<const NodeId> nodes,
                                    const std::function<Status()>& ask);

 private:
  std::mutex mutex_;
  std::unordered_map<Hash128, std::optional<std::string>> known_;  // by the hash of both
};

}  // namespace pt::plugins
