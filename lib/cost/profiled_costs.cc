#include "partitiontuner/cost/profiled_costs.h"

#include <map>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "lib/cost/cost_kind.h"
#include "lib/cost/kinds/copy.h"
#include "lib/cost/kinds/reorder.h"

namespace pt {
namespace {

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

// What the kinds of costs read from the profile, kept for those who ask.
class ProfiledCosts : public CostModel {
 public:
  ProfiledCosts(const Graph& graph, const Platform& platform, Profile profile, const ProfiledCostsOptions& options)
      : profile_(std::move(profile)),
        library_versions_(options.library_versions),
        reading_({graph, platform, options.candidates, library_versions_, ReuseDistance(graph, platform)}, profile_,
                 options.allow_estimates ? [this](const WorkToPredict& work) { return Predict(work); }
                                         : CostReading::Predict()),
        reorder_times_(reading_) {
    for (const CostKind* kind : CostKinds()) {
      if (kind->read != nullptr) readers_.push_back(kind->read(reading_));
    }
    ReadMachine();
    if (!options.look_up_at_once) return;
    listed_.reserve(options.candidates.size());
    for (const Candidate& candidate : options.candidates) {
      const Hash128 content = ContentOf(candidate);
      if (!listed_.contains(content)) listed_.emplace(content, ReadStep(candidate));
    }
  }

  StepCost OfStep(const Candidate& candidate) const override {
    const Hash128 content = ContentOf(candidate);
    if (const auto listed = listed_.find(content); listed != listed_.end()) return listed->second;
    return Cached(steps_, content, [&] { return ReadStep(candidate); });
  }
  ClassCost OfClass(UnitClassId unit_class) const override { return classes_[unit_class.index()]; }
  PairCost OfPair(UnitClassId from, UnitClassId to) const override {
    return pairs_[from.index() * classes_.size() + to.index()];
  }
  DeviceCost OfDevice(DeviceId device) const override { return devices_[device.index()]; }
  Estimate Copy(uint64_t bytes, LinkId link) const override { return copy_times_[link.index()].TimeOf(bytes); }
  std::optional<Estimate> Reorder(std::span<const int64_t> dims, const Form& from, const Form& to,
                                  UnitClassId unit_class) const override {
    ContentBytes content;
    content.Add(unit_class.value);
    content.Add(dims.size());
    for (int64_t dim : dims) content.Add(dim);
    content.Add(from);
    content.Add(to);
    return Cached(reorders_, content.hash(), [&] { return reorder_times_.TimeOf(dims, from, to, unit_class); });
  }

 private:
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

  std::optional<Estimate> Predict(const WorkToPredict& work) const {
    std::call_once(predictor_made_, [&] { predictor_.emplace(profile_); });
    return predictor_->Predict(work);
  }

  StepCost ReadStep(const Candidate& candidate) const {
    StepCost cost;
    for (const auto& reader : readers_) reader->OfStep(candidate, cost);
    return cost;
  }

  void ReadMachine() {
    const Platform& platform = reading_.platform();
    classes_.resize(platform.unit_classes.size());
    pairs_.resize(classes_.size() * classes_.size());
    devices_.resize(platform.devices.size());
    for (const auto& reader : readers_) {
      for (size_t c = 0; c < classes_.size(); ++c) reader->OfClass(UnitClassId(c), classes_[c]);
      for (size_t p = 0; p < pairs_.size(); ++p) {
        reader->OfPair(UnitClassId(p / classes_.size()), UnitClassId(p % classes_.size()), pairs_[p]);
      }
      for (size_t d = 0; d < devices_.size(); ++d) reader->OfDevice(DeviceId(d), devices_[d]);
    }
    for (size_t l = 0; l < platform.links.size(); ++l) copy_times_.emplace_back(reading_, LinkId(l));
  }

  const Profile profile_;
  const std::map<std::string, std::string> library_versions_;
  mutable std::optional<Predictor> predictor_;  // made when first asked
  mutable std::once_flag predictor_made_;
  const CostReading reading_;
  const ReorderTimes reorder_times_;
  std::vector<std::unique_ptr<CostReader>> readers_;
  std::vector<ClassCost> classes_;
  std::vector<PairCost> pairs_;  // by class from * classes + class to
  std::vector<DeviceCost> devices_;
  std::vector<CopyTimes> copy_times_;  // by link
  Cache<StepCost> listed_;             // of the options' candidates: never changes, so that no caller waits for it
  mutable std::shared_mutex mutex_;
  mutable Cache<StepCost> steps_;  // of all others
  mutable Cache<std::optional<Estimate>> reorders_;
};

}  // namespace

std::unique_ptr<CostModel> MakeProfiledCosts(const Graph& graph, const Platform& platform, Profile profile,
                                             const ProfiledCostsOptions& options) {
  return std::make_unique<ProfiledCosts>(graph, platform, std::move(profile), options);
}

}  // namespace pt
