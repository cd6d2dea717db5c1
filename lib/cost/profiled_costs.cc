#include "partitiontuner/cost/profiled_costs.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "lib/cost/cost_keys.h"
#include "lib/cost/demands.h"
#include "lib/cost/fetch_shares.h"
#include "lib/cost/predictor.h"
#include "lib/cost/round_ns.h"
#include "partitiontuner/candidate/run_time_sizes.h"
#include "partitiontuner/cost/cost_keys.h"

namespace pt {
namespace {

// Where nothing at all is known of a host's step, hand-over or link: an order of magnitude, marked as such.
constexpr Estimate kUnknownOverhead{500, 0, Provenance::kEstimated, 1.0};
constexpr Estimate kUnknownWait{1000, 0, Provenance::kEstimated, 1.0};
// A step whose sizes are not known until run time cannot be measured. The same for all, but that plain loops come last
// and few steps are better than many.
constexpr Estimate kUnsizedStep{20'000, 0, Provenance::kEstimated, 1.0};
constexpr int64_t kPlainFactor = 2;
// Nested graphs are not measured either, but what is sized in them can be counted: by rates of a core as they usually
// are, so that a large one gets a wide unit.
constexpr double kNestedFlopsPerNs = 20, kNestedBytesPerNs = 5, kNestedGainOfCore = 0.9;

Estimate UnsizedStep(const Graph& graph, const Platform& platform, const Candidate& candidate) {
  const bool nests = std::ranges::any_of(candidate.nodes, [&](NodeId id) { return !graph.node(id).subgraphs.empty(); });
  if (!nests) {
    Estimate estimate = kUnsizedStep;
    if (candidate.library == "reference") estimate.ns *= kPlainFactor;
    return estimate;
  }
  const WorkSize work = WorkSizeOf(graph, candidate.nodes);
  const double one_core = work.flops / kNestedFlopsPerNs + work.bytes / kNestedBytesPerNs;
  const uint32_t cores = std::max<uint32_t>(platform.unit_class(candidate.unit_class).cores, 1);
  Estimate estimate = kUnsizedStep;
  estimate.ns += RoundNs(std::min(one_core, 1e15) / (1 + kNestedGainOfCore * (cores - 1)));
  return estimate;
}
constexpr double kUnknownLinkLatencyNs = 20'000, kUnknownLinkBytesPerNs = 1.0;

Estimate FromMeasurement(const Measurement& m) { return {m.median_ns, m.spread_ns, m.provenance, 0.0, m.reference_ns}; }

// Content of what is asked for, as bytes: equal content, equal bytes.
class ContentBytes {
 public:
  ContentBytes() { bytes_.reserve(256); }
  template <typename T>
  void Add(const T& value) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void Add(std::string_view text) {
    Add(text.size());
    bytes_.append(text);
  }
  void Add(const Form& form) {
    Add(form.storage);
    Add(form.quantisation.value);
    Add(form.layout.order.size());
    for (uint8_t dim : form.layout.order) Add(dim);
    Add(form.layout.blocks.size());
    for (const Layout::Block& block : form.layout.blocks) Add(block.dim), Add(block.size);
  }
  Hash128 hash() const { return HashText(bytes_); }

 private:
  std::string bytes_;
};

Hash128 ContentOf(const Candidate& candidate) {
  ContentBytes bytes;
  bytes.Add(candidate.unit_class.value);
  bytes.Add(candidate.math);
  bytes.Add(candidate.nodes.size());
  for (NodeId node : candidate.nodes) bytes.Add(node.value);
  bytes.Add(std::string_view(candidate.library));
  bytes.Add(std::string_view(candidate.variant));
  bytes.Add(candidate.in.size());
  for (const Form& form : candidate.in) bytes.Add(form);
  for (const Form& form : candidate.out) bytes.Add(form);
  bytes.Add(candidate.elision);
  for (const Alias& alias : candidate.aliases) bytes.Add(alias.out), bytes.Add(alias.in), bytes.Add(alias.kind);
  return bytes.hash();
}

class ProfiledCosts : public CostModel {
 public:
  ProfiledCosts(const Graph& graph, const Platform& platform, Profile profile, const ProfiledCostsOptions& options)
      : graph_(graph),
        platform_(platform),
        profile_(std::move(profile)),
        options_(options),
        reuse_distance_(ReuseDistance(graph, platform)),
        reorder_versions_(ReorderVersions(options.library_versions)),
        makers_(FindMakers(platform)) {
    ReadOverheads();
    ReadLaunches();
    ReadSegmentLaunches();
    demands_ = ReadDemands(graph, platform, options.candidates, profile_, options.library_versions, reuse_distance_);
    ReadFetches();
    ReadFetchShares();
    ReadLinks();
    listed_.reserve(options.candidates.size());
    for (const Candidate& candidate : options.candidates) {
      const Hash128 content = ContentOf(candidate);
      if (!listed_.contains(content)) listed_.emplace(content, LookUpStep(candidate));
    }
  }

  StepCost OfStep(const Candidate& candidate) const override {
    const Hash128 content = ContentOf(candidate);
    if (const auto listed = listed_.find(content); listed != listed_.end()) return listed->second;
    return Cached(steps_, content, [&] { return LookUpStep(candidate); });
  }
  ClassCost OfClass(UnitClassId unit_class) const override { return {overheads_[unit_class.index()]}; }
  PairCost OfPair(UnitClassId from, UnitClassId to) const override {
    const size_t pair = from.index() * platform_.unit_classes.size() + to.index();
    return {waits_[pair], fetches_[pair]};
  }
  DeviceCost OfDevice(DeviceId device) const override { return {segment_launches_[device.index()]}; }

  Estimate Copy(uint64_t bytes, LinkId link) const override {
    const LinkTimes& times = links_[link.index()];
    if (times.simulated) {
      return {RoundNs(times.latency_ns + static_cast<double>(bytes) * times.ns_per_byte), 0, Provenance::kSimulated, 0};
    }
    return InterpolateCopy(times, static_cast<double>(bytes));
  }

  std::optional<Estimate> Reorder(std::span<const int64_t> dims, const Form& from, const Form& to,
                                  UnitClassId unit_class) const override {
    ContentBytes content;
    content.Add(unit_class.value);
    content.Add(dims.size());
    for (int64_t dim : dims) content.Add(dim);
    content.Add(from);
    content.Add(to);
    return Cached(reorders_, content.hash(), [&] { return LookUpReorder(dims, from, to, unit_class); });
  }

 private:
  using Points = std::vector<std::pair<double, Estimate>>;  // by bytes, ascending
  struct LinkTimes {
    bool simulated = false;
    double latency_ns = 0, ns_per_byte = 0;  // simulated, or nothing measured
    Points measured;
  };
  template <typename Answer>
  using Cache = std::unordered_map<Hash128, Answer>;  // by content

  template <typename Answer, typename F>
  Answer Cached(Cache<Answer>& cache, Hash128 content, const F& look_up) const {
    {
      const std::shared_lock lock(mutex_);
      const auto known = cache.find(content);
      if (known != cache.end()) return known->second;
    }
    const Answer answer = look_up();
    const std::unique_lock lock(mutex_);
    return cache.emplace(content, answer).first->second;
  }

  StepCost LookUpStep(const Candidate& candidate) const;
  std::optional<Estimate> LookUpRun(const Candidate& candidate) const;
  Estimate LookUpOverhead(const Candidate& candidate) const;
  double LookUpDemand(const Candidate& candidate) const;
  double LookUpFetchShare(const Candidate& candidate) const;
  std::optional<Estimate> LookUpReorder(std::span<const int64_t> dims, const Form& from, const Form& to,
                                        UnitClassId id) const;
  std::optional<Estimate> Predict(const WorkToPredict& work) const;
  static Estimate InterpolateCopy(const LinkTimes& times, double bytes);
  Estimate MeasuredOr(const MeasurementKey& key, const Estimate& otherwise) const;
  void ReadOverheads();
  void ReadLaunches();
  void ReadSegmentLaunches();
  void ReadFetches();
  void ReadFetchShares();
  void ReadLinks();

  const Graph& graph_;
  const Platform& platform_;
  const Profile profile_;
  const ProfiledCostsOptions options_;
  const uint64_t reuse_distance_;
  const std::string reorder_versions_;
  const Makers makers_;
  mutable std::optional<Predictor> predictor_;  // made when first asked
  mutable std::once_flag predictor_made_;
  Cache<StepCost> listed_;  // of options_.candidates: never changes, so that nobody waits for it
  std::vector<Estimate> overheads_, waits_;
  std::map<std::pair<UnitClassId, std::string>, int64_t> launches_;  // by class and library: the median of its kernels
  std::vector<std::optional<SegmentLaunch>> segment_launches_;       // by device
  std::map<DemandClass, double> demands_;
  std::vector<FetchCost> fetches_;  // by both classes, as waits_
  std::map<FetchClass, double> fetch_shares_;
  std::vector<LinkTimes> links_;
  mutable std::shared_mutex mutex_;
  mutable Cache<StepCost> steps_;  // of candidates that are not listed
  mutable Cache<std::optional<Estimate>> reorders_;
};

StepCost ProfiledCosts::LookUpStep(const Candidate& candidate) const {
  return {LookUpRun(candidate), LookUpOverhead(candidate), LookUpDemand(candidate), LookUpFetchShare(candidate)};
}

std::optional<Estimate> ProfiledCosts::LookUpRun(const Candidate& candidate) const {
  const auto version = options_.library_versions.find(candidate.library);
  if (version == options_.library_versions.end()) return std::nullopt;
  if (!IsSizedBeforeRun(graph_, candidate.nodes)) {
    if (IsSimulatedClass(platform_, candidate.unit_class)) return std::nullopt;
    return UnsizedStep(graph_, platform_, candidate);
  }
  const MeasurementKey key = CostKey(graph_, platform_, candidate, version->second, reuse_distance_);
  if (const Measurement* m = profile_.find(key.hash)) {
    if (!m->failure.empty()) return std::nullopt;
    return FromMeasurement(*m);
  }
  if (!options_.allow_estimates || IsSimulatedClass(platform_, candidate.unit_class)) return std::nullopt;
  const UnitClass& unit_class = platform_.unit_class(candidate.unit_class);
  const WorkSize work = WorkSizeOf(graph_, candidate.nodes);
  return Predict({graph_.node(HeaviestNode(graph_, candidate.nodes)).op,
                  platform_.device(unit_class.device).fingerprint, unit_class.name, candidate.library,
                  std::string(MathModeName(candidate.math)), FeaturesOf(key.text, work.flops, work.bytes)});
}

std::optional<Estimate> ProfiledCosts::LookUpReorder(std::span<const int64_t> dims, const Form& from, const Form& to,
                                                     UnitClassId id) const {
  if (!MeasuresReorders(platform_, id)) return std::nullopt;
  const MeasurementKey key = AfterReuse(ReorderKey(platform_, id, dims, from, to, reorder_versions_), reuse_distance_);
  if (const Measurement* m = profile_.find(key.hash)) {
    if (!m->failure.empty()) return std::nullopt;
    return FromMeasurement(*m);
  }
  if (!options_.allow_estimates) return std::nullopt;
  const UnitClass& unit_class = platform_.unit_class(id);
  return Predict({"reorder", platform_.device(unit_class.device).fingerprint, unit_class.name, "", "",
                  FeaturesOf(key.text, 0, ReorderBytes(dims, from, to))});
}

std::optional<Estimate> ProfiledCosts::Predict(const WorkToPredict& work) const {
  std::call_once(predictor_made_, [&] { predictor_.emplace(profile_); });
  return predictor_->Predict(work);
}

// Straight lines between the measured sizes; beyond them the last one goes on, so that the time per byte
// of the largest copies holds.
Estimate ProfiledCosts::InterpolateCopy(const LinkTimes& times, double bytes) {
  const auto& points = times.measured;
  if (points.size() < 2) {
    return {RoundNs(times.latency_ns + bytes * times.ns_per_byte), 0, Provenance::kEstimated, 1.0};
  }
  size_t upper = 1;
  while (upper + 1 < points.size() && points[upper].first < bytes) ++upper;
  const auto& [low_bytes, low] = points[upper - 1];
  const auto& [high_bytes, high] = points[upper];
  const double share = std::max(0.0, (bytes - low_bytes) / (high_bytes - low_bytes));
  const double ns = static_cast<double>(low.ns) + share * static_cast<double>(high.ns - low.ns);
  return {RoundNs(ns), std::max(low.spread_ns, high.spread_ns), Provenance::kMeasured, 0};
}

Estimate ProfiledCosts::MeasuredOr(const MeasurementKey& key, const Estimate& otherwise) const {
  const Measurement* m = profile_.find(key.hash);
  return m != nullptr && m->failure.empty() ? FromMeasurement(*m) : otherwise;
}

void ProfiledCosts::ReadOverheads() {
  const size_t count = platform_.unit_classes.size();
  for (size_t k = 0; k < count; ++k) {
    const bool simulated = IsSimulatedClass(platform_, UnitClassId(k));
    const int64_t launch_ns = SimulatedLaunchNs(platform_, platform_.unit_classes[k].device);
    const Estimate otherwise = simulated ? Estimate{launch_ns, 0, Provenance::kSimulated, 0} : kUnknownOverhead;
    overheads_.push_back(MeasuredOr(OverheadKey(platform_, UnitClassId(k)), otherwise));
    for (size_t other = 0; other < count; ++other) {
      if (!HandOverUnits(platform_, UnitClassId(k), UnitClassId(other))) {
        waits_.push_back({0, 0, Provenance::kMeasured, 0});  // an order on one core or stream: nothing to wait for
        continue;
      }
      const bool is_file = simulated || IsSimulatedClass(platform_, UnitClassId(other));
      waits_.push_back(MeasuredOr(WaitKey(platform_, UnitClassId(k), UnitClassId(other)),
                                  is_file ? Estimate{0, 0, Provenance::kSimulated, 0} : kUnknownWait));
    }
  }
}

// A launch takes what the library does for it, whatever the kernel computes: a median over all of its kernels on that
// device says it better than the few launches of one, other models' kernels included.
void ProfiledCosts::ReadLaunches() {
  std::map<std::pair<UnitClassId, std::string>, std::vector<int64_t>> all;
  for (const auto& [hash, row] : profile_.measurements) {
    if (row.launch_ns == 0 || !IsOfThisMethod(row.key_text)) continue;
    const UnitClassId unit_class = FindUnitClass(platform_, row.unit_class);
    if (!unit_class.valid() || platform_.device(platform_.unit_class(unit_class).device).fingerprint != row.device) {
      continue;
    }
    const auto version = options_.library_versions.find(row.library);
    if (version == options_.library_versions.end()) continue;
    if (row.key_text.find(" | " + row.library + " " + version->second + " | ") == std::string::npos) continue;
    all[{unit_class, row.library}].push_back(row.launch_ns);
  }
  for (auto& [of, launches] : all) {
    const auto middle = launches.begin() + static_cast<ptrdiff_t>(launches.size() / 2);
    std::nth_element(launches.begin(), middle, launches.end());
    launches_[of] = *middle;
  }
}

// A straight line through a small segment and a large one.
void ProfiledCosts::ReadSegmentLaunches() {
  const uint32_t few = SegmentLadder().front(), many = SegmentLadder().back();
  segment_launches_.resize(platform_.devices.size());
  for (size_t d = 0; d < platform_.devices.size(); ++d) {
    const UnitClassId unit_class = SegmentClass(platform_, DeviceId(d));
    if (!unit_class.valid()) continue;
    if (IsSimulatedClass(platform_, unit_class)) {
      segment_launches_[d] = SimulatedDeviceCost(platform_, DeviceId(d)).segments;
      continue;
    }
    const Measurement* small = profile_.find(SegmentKey(platform_, unit_class, few).hash);
    const Measurement* large = profile_.find(SegmentKey(platform_, unit_class, many).hash);
    if (small == nullptr || large == nullptr || !small->failure.empty() || !large->failure.empty()) continue;
    const double step_ns = std::max(0.0, static_cast<double>(large->median_ns - small->median_ns) / (many - few));
    const double fixed_ns = std::max(0.0, static_cast<double>(small->median_ns) - few * step_ns);
    segment_launches_[d] = SegmentLaunch{fixed_ns, step_ns, Provenance::kMeasured};
  }
}

Estimate ProfiledCosts::LookUpOverhead(const Candidate& candidate) const {
  const auto launch = launches_.find({candidate.unit_class, candidate.library});
  if (launch == launches_.end()) return overheads_[candidate.unit_class.index()];
  return {launch->second, 0, Provenance::kMeasured, 0};
}

double ProfiledCosts::LookUpDemand(const Candidate& candidate) const {
  if (demands_.empty()) return 0;
  const std::optional<DemandClass> of = DemandClassOf(graph_, platform_, candidate);
  const auto found = of ? demands_.find(*of) : demands_.end();
  return found == demands_.end() ? 0 : found->second;
}

void ProfiledCosts::ReadFetches() {
  const size_t count = platform_.unit_classes.size();
  fetches_.resize(count * count, {{}, 0, Provenance::kEstimated});
  for (size_t from = 0; from < count; ++from) {
    for (size_t to = 0; to < count; ++to) {
      if (!IsFetched(platform_, UnitClassId(from), UnitClassId(to))) continue;
      for (const uint64_t bytes : FetchLadder()) {
        const Measurement* m = profile_.find(FetchKey(platform_, UnitClassId(from), UnitClassId(to), bytes).hash);
        if (m == nullptr || !m->failure.empty()) continue;
        fetches_[from * count + to].points.emplace_back(bytes, m->median_ns);
        fetches_[from * count + to].provenance = m->provenance;
      }
    }
  }
}

void ProfiledCosts::ReadFetchShares() {
  const auto fetch_ns = [&](UnitClassId from, UnitClassId to, uint64_t bytes) {
    return OfPair(from, to).fetch.ns(bytes);
  };
  fetch_shares_ = pt::ReadFetchShares(graph_, platform_, makers_, options_.candidates, profile_,
                                      options_.library_versions, reuse_distance_, fetch_ns);
}

double ProfiledCosts::LookUpFetchShare(const Candidate& candidate) const {
  if (fetch_shares_.empty()) return 1;
  const std::optional<FetchClass> of = FetchClassOf(graph_, platform_, makers_, candidate);
  const auto found = of ? fetch_shares_.find(*of) : fetch_shares_.end();
  return found == fetch_shares_.end() ? 1 : found->second;
}

void ProfiledCosts::ReadLinks() {
  for (size_t l = 0; l < platform_.links.size(); ++l) {
    const Link& link = platform_.links[l];
    LinkTimes times;
    times.simulated = IsSimulatedLink(platform_, LinkId(l));
    times.latency_ns = static_cast<double>(link.latency_ns);
    times.ns_per_byte = link.bytes_per_ns > 0 ? 1.0 / link.bytes_per_ns : 0.0;
    if (!times.simulated) {
      if (link.bytes_per_ns <= 0) {
        times.latency_ns = kUnknownLinkLatencyNs;
        times.ns_per_byte = 1.0 / kUnknownLinkBytesPerNs;
      }
      for (const uint64_t bytes : CopyLadder()) {
        const Measurement* m = profile_.find(CopyKey(platform_, LinkId(l), bytes).hash);
        if (m != nullptr && m->failure.empty()) times.measured.emplace_back(bytes, FromMeasurement(*m));
      }
    }
    links_.push_back(std::move(times));
  }
}

}  // namespace

std::unique_ptr<CostModel> MakeProfiledCosts(const Graph& graph, const Platform& platform, Profile profile,
                                             const ProfiledCostsOptions& options) {
  return std::make_unique<ProfiledCosts>(graph, platform, std::move(profile), options);
}

}  // namespace pt
