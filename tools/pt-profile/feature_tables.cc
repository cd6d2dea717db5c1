#include "tools/pt-profile/feature_tables.h"

#include <array>
#include <charconv>
#include <filesystem>
#include <map>
#include <vector>

#include "partitiontuner/cost/needed_keys.h"
#include "partitiontuner/cost/work_features.h"
#include "partitiontuner/support/checked.h"

namespace pt::tools {
namespace {

// As RFC 4180 has it.
std::string Quoted(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

// The shortest text that reads back as the same number, in every locale.
std::string NumberText(double number) {
  std::array<char, 32> buffer;
  return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr};
}

std::string Line(const std::vector<std::string>& cells) {
  std::string line = Quoted(cells.front());
  for (size_t i = 1; i < cells.size(); ++i) line += "," + Quoted(cells[i]);
  return line + "\r\n";
}

std::string NodesText(std::span<const NodeId> nodes) {
  std::string text;
  for (const NodeId node : nodes) text += (text.empty() ? "" : " ") + std::to_string(node.index());
  return text;
}

double BytesOfValue(const Value& value) {
  const std::optional<std::vector<int64_t>> dims = value.type.static_dims();
  const std::optional<int64_t> count = dims ? CheckedProduct(*dims) : std::nullopt;
  return count ? static_cast<double>(*count) * BitsOf(value.type.type) / 8.0 : 0.0;
}

struct RowNames {
  std::string nodes, family, library, unit_class, math;
};

std::string Row(const RowNames& names, const WorkFeatures& work, const Measurement* measured) {
  std::vector<std::string> cells = {names.nodes,   names.family,     work.operators, work.style,
                                    names.library, names.unit_class, names.math};
  for (const double value : work.values) cells.push_back(NumberText(value));
  const bool has_time = measured != nullptr && measured->failure.empty();
  cells.push_back(has_time ? std::to_string(measured->median_ns) : "");
  cells.push_back(has_time ? std::to_string(measured->spread_ns) : "");
  return Line(cells);
}

}  // namespace

std::string FeatureTable(const FeatureSource& source) {
  const auto& [graph, platform, candidates, library_versions, profile] = source;
  std::vector<std::string> titles = {"nodes", "family", "operators", "style", "library", "unit_class", "math"};
  for (size_t f = 0; f < kWorkFeatureCount; ++f) titles.emplace_back(WorkFeatureName(static_cast<WorkFeature>(f)));
  titles.insert(titles.end(), {"median_ns", "spread_ns"});
  std::string table = Line(titles);
  const uint64_t reuse_distance = ReuseDistance(graph, platform);
  for (const Candidate& candidate : candidates) {
    const auto version = library_versions.find(candidate.library);
    if (version == library_versions.end()) continue;
    const MeasurementKey key = CostKey(graph, platform, candidate, version->second, reuse_distance);
    const WorkSize size = WorkSizeOf(graph, candidate.nodes);
    const RowNames names = {NodesText(candidate.nodes), graph.node(HeaviestNode(graph, candidate.nodes)).op,
                            candidate.library, platform.unit_class(candidate.unit_class).name,
                            std::string(MathModeName(candidate.math))};
    table += Row(names, FeaturesOf(key.text, size.flops, size.bytes), profile.find(key.hash));
  }
  for (const NeededKey& needed : NeededKeys(graph, platform, candidates, library_versions)) {
    if (needed.kind != &kReorderKind) continue;
    table += Row({"", "reorder", "", platform.unit_class(needed.unit_class()).name, ""},
                 FeaturesOf(needed.key.text, 0, needed.expected_bytes), profile.find(needed.key.hash));
  }
  return table;
}

std::string DependencyTable(const Graph& graph) {
  std::string table = Line({"consumer", "producer", "bytes"});
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    std::map<size_t, std::map<ValueId, double>> read;  // by producer; a value that is read twice counts once
    for (const ValueId input : graph.nodes()[n].inputs) {
      if (!input.valid() || !graph.value(input).producer.valid()) continue;
      read[graph.value(input).producer.index()][input] = BytesOfValue(graph.value(input));
    }
    for (const auto& [producer, values] : read) {
      double bytes = 0;
      for (const auto& [value, size] : values) bytes += size;
      table += Line({std::to_string(n), std::to_string(producer), NumberText(bytes)});
    }
  }
  return table;
}

std::string DependencyFileOf(const std::string& feature_file) {
  std::filesystem::path path(feature_file);
  const std::string extension = path.extension().string();
  path.replace_extension(".dependencies" + extension);
  return path.string();
}

}  // namespace pt::tools
