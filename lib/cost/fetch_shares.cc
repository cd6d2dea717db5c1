#include "lib/cost/fetch_shares.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <vector>

#include "lib/cost/cost_keys.h"
#include "partitiontuner/candidate/signature.h"
#include "partitiontuner/cost/cost_keys.h"
#include "partitiontuner/cost/profiled_costs.h"

namespace pt {
namespace {

constexpr int kDoublingsPerMagnitude = 3;
// More is noise: of a tiny input beside much work.
constexpr double kMostShare = 4;

// Of each input that the step before leaves in its caches.
std::vector<uint64_t> FetchedBytes(const Graph& graph, const Platform& platform, const Candidate& candidate) {
  const std::vector<ValueId> inputs = GroupInputs(graph, candidate.nodes);
  const std::vector<uint32_t> callers = CallersTensorsOf(graph, platform, candidate).in;
  std::vector<uint64_t> bytes;
  for (size_t i = 0; i < inputs.size() && i < candidate.in.size(); ++i) {
    if (std::find(callers.begin(), callers.end(), i) != callers.end()) continue;
    const std::optional<std::vector<int64_t>> dims = graph.value(inputs[i]).type.static_dims();
    bytes.push_back(dims ? FormBytes(*dims, candidate.in[i]) : 0);
  }
  return bytes;
}

struct Fetching {
  FetchClass of;
  uint64_t bytes = 0;  // of all inputs together
};

std::optional<Fetching> FetchingOf(const Graph& graph, const Platform& platform, const Makers& makers,
                                   const Candidate& candidate) {
  if (!makers[candidate.unit_class.index()]) return std::nullopt;
  std::optional<CandidateClass> of = ClassOf(graph, platform, candidate);
  if (!of) return std::nullopt;
  const std::vector<uint64_t> inputs = FetchedBytes(graph, platform, candidate);
  const uint64_t bytes = std::accumulate(inputs.begin(), inputs.end(), uint64_t{0});
  if (bytes == 0) return std::nullopt;
  return Fetching{{std::move(*of), static_cast<int>(std::bit_width(bytes)) / kDoublingsPerMagnitude}, bytes};
}

}  // namespace

Makers FindMakers(const Platform& platform) {
  Makers makers(platform.unit_classes.size());
  for (size_t to = 0; to < makers.size(); ++to) {
    std::optional<UnitClassId>& narrowest = makers[to];
    for (size_t k = 0; k < makers.size(); ++k) {
      const UnitClassId from(k);
      if (!IsFetched(platform, from, UnitClassId(to))) continue;
      if (!narrowest || platform.unit_class(from).cores < platform.unit_class(*narrowest).cores) narrowest = from;
    }
  }
  return makers;
}

std::optional<FetchClass> FetchClassOf(const Graph& graph, const Platform& platform, const Makers& makers,
                                       const Candidate& candidate) {
  std::optional<Fetching> fetching = FetchingOf(graph, platform, makers, candidate);
  return fetching ? std::optional(std::move(fetching->of)) : std::nullopt;
}

std::map<FetchClass, size_t> KeenestOfClasses(const Graph& graph, const Platform& platform, const Makers& makers,
                                              std::span<const Candidate> candidates) {
  std::map<FetchClass, std::pair<double, size_t>> keenest;  // work per byte that is fetched, and index
  for (size_t i = 0; i < candidates.size(); ++i) {
    std::optional<Fetching> fetching = FetchingOf(graph, platform, makers, candidates[i]);
    if (!fetching) continue;
    const double work = WorkOf(graph, candidates[i]) / static_cast<double>(fetching->bytes);
    const auto [at, added] = keenest.try_emplace(std::move(fetching->of), work, i);
    if (!added && work < at->second.first) at->second = {work, i};
  }
  std::map<FetchClass, size_t> indices;
  for (const auto& [of, of_class] : keenest) indices.emplace(of, of_class.second);
  return indices;
}

std::map<FetchClass, double> ReadFetchShares(
    const Graph& graph, const Platform& platform, const Makers& makers, std::span<const Candidate> candidates,
    const Profile& profile, const std::map<std::string, std::string>& library_versions, uint64_t reuse_distance,
    const std::function<int64_t(UnitClassId from, UnitClassId to, uint64_t bytes)>& fetch_ns) {
  std::map<FetchClass, double> shares;
  for (const auto& [of, index] : KeenestOfClasses(graph, platform, makers, candidates)) {
    const Candidate& candidate = candidates[index];
    const auto version = library_versions.find(candidate.library);
    if (version == library_versions.end()) continue;
    const UnitClassId from = *makers[candidate.unit_class.index()];
    const MeasurementKey key = CostKey(graph, platform, candidate, version->second, reuse_distance);
    const Measurement* longer = profile.find(FetchedKey(key, platform, from).hash);
    if (longer == nullptr || !longer->failure.empty()) continue;
    int64_t whole_ns = 0;
    for (const uint64_t bytes : FetchedBytes(graph, platform, candidate)) {
      whole_ns += fetch_ns(from, candidate.unit_class, bytes);
    }
    if (whole_ns <= 0) continue;
    shares[of] = std::min(kMostShare, static_cast<double>(longer->median_ns) / static_cast<double>(whole_ns));
  }
  return shares;
}

}  // namespace pt
