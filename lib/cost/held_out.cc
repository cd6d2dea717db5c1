#include "lib/cost/held_out.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "partitiontuner/support/hash.h"

namespace pt {
namespace {

// Different words are dealt to the folds in the order of their hashes: evenly, and whatever else is in the profile, but
// not by size.
std::map<std::string, size_t> Deal(const std::set<std::string>& words) {
  std::vector<std::pair<Hash128, std::string>> order;
  for (const std::string& word : words) order.emplace_back(HashText(word), word);
  std::sort(order.begin(), order.end());
  std::map<std::string, size_t> folds;
  for (size_t i = 0; i < order.size(); ++i) folds[order[i].second] = i % kFolds;
  return folds;
}

std::string WordOf(const LawSample& sample, FoldsBy by) {
  if (by == FoldsBy::kFamily) return sample.family;
  return std::to_string(sample.work().first) + " " + std::to_string(sample.work().second);
}

// What a law may see when this fold is left out.
std::vector<const LawSample*> Without(size_t fold, LawSamples samples, std::span<const size_t> folds) {
  std::set<std::pair<double, double>> left_out;
  for (size_t i = 0; i < samples.size(); ++i) {
    if (folds[i] == fold) left_out.insert(samples[i]->work());
  }
  std::vector<const LawSample*> kept;
  for (size_t i = 0; i < samples.size(); ++i) {
    if (!left_out.contains(samples[i]->work())) kept.push_back(samples[i]);
  }
  return kept;
}

}  // namespace

std::optional<Law> Law::Fit(LawKind kind, LawSamples samples) {
  Law law(kind);
  switch (kind) {
    case LawKind::kPower:
      law.power_ = FitPowerLaw(samples);
      return law.power_ ? std::optional(std::move(law)) : std::nullopt;
    case LawKind::kPolynomial:
      law.polynomial_ = PolynomialFit::Fit(samples);
      if (!law.polynomial_) return std::nullopt;
      law.power_ = FitPowerLaw(samples);
      return law;
    case LawKind::kRoofline:
      law.roofline_ = FitRoofline(samples);
      return law.roofline_ ? std::optional(std::move(law)) : std::nullopt;
  }
  return std::nullopt;
}

double Law::Predict(const WorkFeatures& work) const {
  if (roofline_) return roofline_->Predict(work);
  if (polynomial_ && (!power_ || polynomial_->Covers(work))) return polynomial_->Predict(work);
  return power_->Predict(work);
}

std::vector<size_t> FoldsOf(LawSamples samples, FoldsBy by) {
  std::set<std::string> words;
  for (const LawSample* sample : samples) words.insert(WordOf(*sample, by));
  if (words.size() < kFolds) return {};
  const std::map<std::string, size_t> dealt = Deal(words);
  std::vector<size_t> folds;
  for (const LawSample* sample : samples) folds.push_back(dealt.at(WordOf(*sample, by)));
  return folds;
}

std::optional<AssessedLaw> Assess(LawKind kind, LawSamples samples, std::span<const size_t> folds) {
  if (folds.empty() || samples.size() < kLeastGroupSamples) return std::nullopt;
  std::optional<Law> whole = Law::Fit(kind, samples);
  if (!whole) return std::nullopt;
  AssessedLaw assessed{std::move(*whole), {}};
  for (size_t fold = 0; fold < kFolds; ++fold) {
    const std::optional<Law> law = Law::Fit(kind, Without(fold, samples, folds));
    if (!law) return std::nullopt;
    for (size_t i = 0; i < samples.size(); ++i) {
      if (folds[i] != fold || samples[i]->ns <= 0) continue;
      const double ratio = std::log(samples[i]->ns / law->Predict(samples[i]->features));
      if (std::isfinite(ratio)) assessed.held_out[samples[i]] = ratio;
    }
  }
  return assessed;
}

}  // namespace pt
