#include "lib/cost/fetch_shares.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <vector>

#include "lib/cost/cost_keys.h"
#include "partitiontuner/candidate/signature.h"
#include "partitiontuner/cost/profiled_costs.h"

namespace pt {
namespace {

constexpr int kDoublingsPerMagnitude = 3;
// More is noise: of a tiny input beside much work.
constexpr double kMostShare = 4;

uint64_t BytesOfForm(const Value& value, const Form& form) {
  const std::optional<std::vector<int64_t>> dims = value.type.static_dims();
  if (!dims) return 0;
  const Result<TensorLayout> tensor = DenseLayout(form.storage, *dims, form.layout);
  const Result<uint64_t> bytes = tensor.ok() ? BytesOf(*tensor) : Result<uint64_t>(uint64_t{0});
  return bytes.ok() ? *bytes : 0;
}

// Of each input that the step before leaves in its caches.
std::vector<uint64_t> FetchedBytes(const Graph& graph, const Platform& platform, const Candidate& candidate) {
  const std::vector<ValueId> inputs = GroupInputs(graph, candidate.nodes);
  const std::vector<uint32_t> callers = CallersTensorsOf(graph, platform, candidate).in;
  std::vector<uint64_t> bytes;
  for (size_t i = 0; i < inputs.size() && i < candidate.in.size(); ++i) {
    if (std::find(callers.begin(), callers.end(), i) != callers.end()) continue;
    bytes.push_back(BytesOfForm(graph.value(inputs[i]), candidate.in[i]));
  }
  return bytes;
}

uint64_t SumOf(std::span<const uint64_t> bytes) { return std::accumulate(bytes.begin(), bytes.end(), uint64_t{0}); }

}  // namespace

std::optional<UnitClassId> MakersFor(const Platform& platform, UnitClassId unit_class) {
  std::optional<UnitClassId> narrowest;
  for (size_t k = 0; k < platform.unit_classes.size(); ++k) {
    const UnitClassId from(k);
    if (!IsFetched(platform, from, unit_class)) continue;
    if (!narrowest || platform.unit_class(from).cores < platform.unit_class(*narrowest).cores) narrowest = from;
  }
  return narrowest;
}

std::optional<FetchClass> FetchClassOf(const Graph& graph, const Platform& platform, const Candidate& candidate) {
  std::optional<CandidateClass> of = ClassOf(graph, platform, candidate);
  if (!of || !MakersFor(platform, candidate.unit_class)) return std::nullopt;
  const uint64_t bytes = SumOf(FetchedBytes(graph, platform, candidate));
  if (bytes == 0) return std::nullopt;
  return FetchClass(std::move(*of), static_cast<int>(std::bit_width(bytes)) / kDoublingsPerMagnitude);
}

std::map<FetchClass, size_t> KeenestOfClasses(const Graph& graph, const Platform& platform,
                                              std::span<const Candidate> candidates) {
  std::map<FetchClass, std::pair<double, size_t>> keenest;  // work per byte that is fetched, and index
  for (size_t i = 0; i < candidates.size(); ++i) {
    std::optional<FetchClass> of = FetchClassOf(graph, platform, candidates[i]);
    if (!of) continue;
    const auto bytes = static_cast<double>(SumOf(FetchedBytes(graph, platform, candidates[i])));
    const double work = WorkOf(graph, candidates[i]) / bytes;
    const auto [at, added] = keenest.try_emplace(std::move(*of), work, i);
    if (!added && work < at->second.first) at->second = {work, i};
  }
  std::map<FetchClass, size_t> indices;
  for (const auto& [of, of_class] : keenest) indices.emplace(of, of_class.second);
  return indices;
}

std::map<FetchClass, double> ReadFetchShares(
    const Graph& graph, const Platform& platform, std::span<const Candidate> candidates, const Profile& profile,
    const std::map<std::string, std::string>& library_versions, uint64_t reuse_distance,
    const std::function<int64_t(UnitClassId from, UnitClassId to, uint64_t bytes)>& fetch_ns) {
  std::map<FetchClass, double> shares;
  for (const auto& [of, index] : KeenestOfClasses(graph, platform, candidates)) {
    const Candidate& candidate = candidates[index];
    const auto version = library_versions.find(candidate.library);
    if (version == library_versions.end()) continue;
    const UnitClassId from = *MakersFor(platform, candidate.unit_class);
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
