#include "plugins/shared/answers.h"

#include "partitiontuner/candidate/signature.h"

namespace pt::plugins {

std::optional<std::string> Answers::WhyNot(const std::string& device, const Graph& graph, std::span<const NodeId> nodes,
                                           const std::function<Status()>& ask) {
  const Hash128 key = HashText(device + "\n" + WorkSignature(graph, nodes));
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
  }
  const Status answer = ask();
  std::optional<std::string> why;
  if (!answer.ok()) why = answer.error().message;
  const std::lock_guard lock(mutex_);
  return known_.emplace(key, std::move(why)).first->second;
}

}  // namespace pt::plugins
