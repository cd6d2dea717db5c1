// pt-profile --features: what predictions are made from, for other programs. Format: docs/profile-format.md.
#pragma once

#include <map>
#include <span>
#include <string>

#include "partitiontuner/cost/profiled_costs.h"

namespace pt::tools {

struct FeatureSource {
  const Graph& graph;
  const Platform& platform;  // as measured: MeasuredPlatform
  std::span<const Candidate> candidates;
  const std::map<std::string, std::string>& library_versions;
  const Profile& profile;
};
// One row for each candidate and each distinct reorder of a model: what tells it apart, its features, and its time
// where the profile has it. As comma-separated values.
std::string FeatureTable(const FeatureSource& source);
// The dependency matrix of the graph, where it is not 0: which node reads how many bytes of which.
std::string DependencyTable(const Graph& graph);
// "net.csv" -> "net.dependencies.csv", where the second is written beside the first.
std::string DependencyFileOf(const std::string& feature_file);

}  // namespace pt::tools
