#include "lib/cost/predictor.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "lib/cost/round_ns.h"

namespace pt {
namespace {

// A group with as many samples of its own needs no other group's.
constexpr size_t kEnoughSamples = 40;
// Planners are told a time that this share of such work keeps within, so that no estimate wins by luck over what was
// measured; the interval holds the central 80 %.
constexpr double kPlannedShare = 0.8, kLowShare = 0.1, kHighShare = 0.9;

constexpr std::string_view LawName(LawKind kind) {
  switch (kind) {
    case LawKind::kPower:
      return "power law";
    case LawKind::kPolynomial:
      return "polynomial";
    case LawKind::kRoofline:
      return "roofline";
  }
  return "";
}

// What the next work keeps within with this probability, given the ratios of as many different works: one more than
// there are shares the ranks, and equal works count as one, since what is odd about one of them is odd about all.
double Quantile(const std::vector<double>& ascending, size_t works, double share) {
  const auto count = static_cast<double>(works), size = static_cast<double>(ascending.size());
  const bool low = share < 0.5;
  const double rank = std::clamp(low ? std::floor(share * (count + 1)) : std::ceil(share * (count + 1)), 1.0, count);
  const double at = low ? std::floor((rank - 1) / count * size) : std::ceil(rank / count * size) - 1;
  return ascending[static_cast<size_t>(std::clamp(at, 0.0, size - 1))];
}

double MedianError(const std::vector<double>& ratios) {
  std::vector<double> errors;
  for (const double ratio : ratios) errors.push_back(std::abs(std::exp(-ratio) - 1));
  const auto middle = errors.begin() + static_cast<ptrdiff_t>(errors.size() / 2);
  std::nth_element(errors.begin(), middle, errors.end());
  return *middle;
}

// Rows of work: candidates and reorders.
bool IsSample(const Measurement& m) {
  constexpr std::array<std::string_view, 9> kNoWork = {"copy",           "overhead", "segment", "wait",  "fetch",
                                                       "fetched inputs", "beside",   "hog",     "demand"};
  return m.failure.empty() && m.median_ns > 0 && IsOfThisMethod(m.key_text) &&
         std::ranges::find(kNoWork, m.family) == kNoWork.end();
}

}  // namespace

Predictor::Predictor(const Profile& profile) {
  std::vector<GroupKey> styles;
  for (const auto& [hash, m] : profile.measurements) {
    if (!IsSample(m)) continue;
    WorkToPredict work{m.family, m.device, m.unit_class, m.library, m.math, FeaturesOf(m.key_text, m.flops, m.bytes)};
    styles.push_back(KeyOf(work));
    samples_.push_back({m.family, std::move(work.features), static_cast<double>(m.median_ns)});
  }
  for (size_t i = 0; i < samples_.size(); ++i) AddSample(styles[i], samples_[i]);
}

Predictor::GroupKey Predictor::KeyOf(const WorkToPredict& work) {
  return {kByStyle, {work.device, work.unit_class, work.math, work.library, work.family, work.features.style}};
}

Predictor::GroupKey Predictor::Coarser(const GroupKey& key, Level level) {
  GroupKey coarser = key;
  coarser.level = level;
  for (size_t i = level; i < coarser.names.size(); ++i) coarser.names[i].clear();
  return coarser;
}

void Predictor::AddSample(const GroupKey& style, const LawSample& sample) {
  for (const Level level : {kByStyle, kByFamily, kByLibrary, kByMath}) {
    groups_[Coarser(style, level)].samples.push_back(&sample);
  }
}

const Predictor::Group& Predictor::AssessedGroup(const GroupKey& key) {
  Group& group = groups_[key];
  if (group.assessed) return group;
  group.assessed = true;
  std::vector<LawKind> kinds = {LawKind::kPower, LawKind::kPolynomial};
  if (key.level == kByMath) {
    kinds = {LawKind::kRoofline};
    if (!key.names[kByMath - 1].empty()) {  // reorders have no math mode, and move their bytes as all others do
      GroupKey reorders = key;
      reorders.names[kByMath - 1].clear();
      const std::vector<const LawSample*>& more = groups_[reorders].samples;
      group.samples.insert(group.samples.end(), more.begin(), more.end());
    }
    group.roofline = FitRoofline(group.samples);
  }
  group.folds = FoldsOf(group.samples, key.level >= kByFamily ? FoldsBy::kWork : FoldsBy::kFamily);
  group.laws = Assess(kinds, group.samples, group.folds);
  return group;
}

Predictor::Jury Predictor::JuryOf(const GroupKey& style) {
  for (const Level level : {kByStyle, kByFamily, kByLibrary, kByMath}) {
    const Group& group = AssessedGroup(Coarser(style, level));
    if (group.laws.empty()) continue;
    Jury jury{&group, {}};
    for (const AssessedLaw& law : group.laws) jury.laws.push_back(&law);
    if (level == kByStyle && group.samples.size() < kEnoughSamples) {
      for (const AssessedLaw& law : AssessedGroup(Coarser(style, kByFamily)).laws) jury.laws.push_back(&law);
    }
    return jury;
  }
  return {};
}

Predictor::Answer Predictor::AnswerOf(const Jury& jury, std::optional<size_t> but_fold) {
  Answer answer;
  double least = std::numeric_limits<double>::infinity();
  for (const AssessedLaw* law : jury.laws) {
    std::vector<double> ratios;
    double sum = 0;
    size_t asked = 0;
    std::set<std::pair<double, double>> works;
    for (size_t i = 0; i < jury.group->samples.size(); ++i) {
      if (but_fold && jury.group->folds[i] == *but_fold) continue;
      ++asked;
      const auto found = law->held_out.find(jury.group->samples[i]);
      if (found == law->held_out.end()) continue;
      ratios.push_back(found->second);
      works.insert(found->first->work());
      sum += std::abs(found->second);
    }
    if (ratios.empty() || ratios.size() < asked || sum >= least * static_cast<double>(asked)) continue;
    least = sum / static_cast<double>(asked);
    std::sort(ratios.begin(), ratios.end());
    answer = {law, works.size(), std::move(ratios)};
  }
  return answer;
}

double Predictor::FloorOf(const GroupKey& style, const WorkFeatures& work) {
  const std::optional<Roofline>& roofline = AssessedGroup(Coarser(style, kByMath)).roofline;
  return roofline ? roofline->Floor(work) : 0.0;
}

std::optional<Estimate> Predictor::Predict(const WorkToPredict& work) {
  const std::lock_guard lock(mutex_);
  const GroupKey style = KeyOf(work);
  const auto known = answers_.find(style);
  const Answer& answer = known != answers_.end()
                             ? known->second
                             : answers_.emplace(style, AnswerOf(JuryOf(style), std::nullopt)).first->second;
  if (answer.assessed == nullptr) return std::nullopt;
  const double predicted = answer.assessed->law.Predict(work.features), floor = FloorOf(style, work.features);
  const auto at = [&](double share) {
    return RoundNs(std::max(predicted * std::exp(Quantile(answer.ratios, answer.works, share)), floor));
  };
  Estimate estimate{at(kPlannedShare), 0, Provenance::kEstimated, MedianError(answer.ratios)};
  estimate.low_ns = at(kLowShare);
  estimate.high_ns = at(kHighShare);
  return estimate;
}

void Predictor::HoldOut(const GroupKey& style, std::vector<HeldOutPrediction>& predictions) {
  const Jury jury = JuryOf(style);
  std::map<const LawSample*, size_t> fold_of;
  std::array<Answer, kFolds> answers;
  if (jury.group != nullptr) {
    for (size_t fold = 0; fold < kFolds; ++fold) answers[fold] = AnswerOf(jury, fold);
    for (size_t i = 0; i < jury.group->samples.size(); ++i) fold_of[jury.group->samples[i]] = jury.group->folds[i];
  }
  for (const LawSample* sample : groups_.at(style).samples) {
    const auto& [device, unit_class, math, library, family, how] = style.names;
    HeldOutPrediction& p =
        predictions.emplace_back(HeldOutPrediction{family, library, unit_class, math, {}, 0, 0, 0, 0});
    p.measured_ns = sample->ns;
    const auto fold = fold_of.find(sample);
    if (fold == fold_of.end()) continue;
    const Answer& answer = answers[fold->second];
    if (answer.assessed == nullptr) continue;
    const auto ratio = answer.assessed->held_out.find(sample);
    if (ratio == answer.assessed->held_out.end()) continue;
    p.law = LawName(answer.assessed->law.kind());
    p.predicted_ns = sample->ns / std::exp(ratio->second);
    p.low_ns = p.predicted_ns * std::exp(Quantile(answer.ratios, answer.works, kLowShare));
    p.high_ns = p.predicted_ns * std::exp(Quantile(answer.ratios, answer.works, kHighShare));
  }
}

std::vector<HeldOutPrediction> Predictor::HeldOut() {
  const std::lock_guard lock(mutex_);
  std::vector<GroupKey> styles;
  for (const auto& [key, group] : groups_) {
    if (key.level == kByStyle) styles.push_back(key);
  }
  std::vector<HeldOutPrediction> predictions;
  for (const GroupKey& style : styles) HoldOut(style, predictions);
  return predictions;
}

}  // namespace pt
