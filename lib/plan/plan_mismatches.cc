// Does a plan belong here?
#include <algorithm>

#include "partitiontuner/plan/check_plan.h"
#include "partitiontuner/support/dims_text.h"
#include "partitiontuner/version.h"

namespace pt {
namespace {

// "1.4" of "1.4.2": variants mean what the program's own code around a library makes of them, and that may change with
// either of the two numbers.
std::string_view MajorAndMinor(std::string_view version) {
  const size_t first = version.find('.');
  return first == std::string_view::npos ? version : version.substr(0, version.find('.', first + 1));
}

void AddVersions(const std::map<std::string, std::string>& libraries, const Plan& plan,
                 std::vector<std::string>& lines) {
  const auto text = [](const std::string& version) { return version.empty() ? "an unknown version" : version; };
  const MadeFor& made_for = plan.made_for;
  if (MajorAndMinor(made_for.tool_version) != MajorAndMinor(kVersion)) {
    lines.push_back("partitiontuner: plan made with " + text(made_for.tool_version) + ", this is " +
                    std::string(kVersion));
  }
  for (const std::string& name : LibrariesOf(plan)) {
    const auto now = libraries.find(name);
    if (now == libraries.end()) continue;
    const auto then = made_for.libraries.find(name);
    const std::string version = then == made_for.libraries.end() ? "" : then->second;
    if (version != now->second) {
      lines.push_back("library " + name + ": plan made with " + text(version) + ", this is " + text(now->second));
    }
  }
}

// "AMD EPYC with 2 cores and acc:0 (simulated)": what people know machines by.
std::string MachineName(const Platform& platform) {
  if (platform.devices.empty()) return "an unknown machine";
  const std::string& host = platform.devices.front().fingerprint;
  const auto cores = std::ranges::count_if(platform.resources, [](const Resource& r) { return r.core.has_value(); });
  std::string name =
      host.substr(0, host.find(';')) + " with " + std::to_string(cores) + (cores == 1 ? " core" : " cores");
  for (size_t d = 1; d < platform.devices.size(); ++d) {
    const Device& device = platform.devices[d];
    name += (d + 1 < platform.devices.size() ? ", " : " and ") + device.name + (device.simulated ? " (simulated)" : "");
  }
  return name;
}

}  // namespace

std::set<std::string> LibrariesOf(const Plan& plan) {
  std::set<std::string> names;
  for (const Candidate& candidate : plan.candidates) names.insert(candidate.library);
  for (const Step& step : plan.steps) {
    if (const auto* reorder = std::get_if<Reorder>(&step.work)) names.insert(reorder->library);
  }
  return names;
}

std::vector<std::string> PlanMismatches(const Graph& graph, const Platform& platform,
                                        const std::map<std::string, std::string>& libraries, const Plan& plan) {
  std::vector<std::string> lines;
  AddVersions(libraries, plan, lines);
  const MadeFor& made_for = plan.made_for;
  const std::string hash = ToHex(GraphHash(graph));
  if (made_for.graph_hash != hash) {
    lines.push_back("graph: plan made for " + (made_for.graph_hash.empty() ? "none" : made_for.graph_hash) +
                    ", this is " + hash);
  }
  std::set<std::string> known;
  for (ValueId input : graph.inputs()) {
    const Value& value = graph.value(input);
    known.insert(value.name);
    const auto then = made_for.input_dims.find(value.name);
    const std::optional<std::vector<int64_t>> now = value.type.static_dims();
    if (then == made_for.input_dims.end()) {
      // What has no dims before the run is named by none: the hash of the graph covers its type.
      if (now && !made_for.input_dims.empty()) lines.push_back("input '" + value.name + "': unknown to the plan");
    } else if (now && *now != then->second) {
      lines.push_back("input '" + value.name + "': plan made for dims " + DimsText(then->second) + ", now " +
                      DimsText(*now));
    }
  }
  for (const auto& [name, dims] : made_for.input_dims) {
    if (!known.contains(name)) lines.push_back("input '" + name + "': not in this model");
  }
  if (made_for.opset != 0 && made_for.opset != graph.opset()) {
    lines.push_back("opset: plan made for " + std::to_string(made_for.opset) + ", now " +
                    std::to_string(graph.opset()));
  }
  std::vector<std::string> differences = PlatformDifferences(made_for.platform, platform);
  const std::string then = MachineName(made_for.platform), now = MachineName(platform);
  if (!differences.empty() && then != now) lines.push_back("machine: plan made for " + then + ", this is " + now);
  for (std::string& line : differences) lines.push_back("platform " + std::move(line));
  return lines;
}

}  // namespace pt
