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

std::vector<std::optional<Law>> FitLaws(std::span<const LawKind> kinds, LawSamples samples) {
  const auto has = [&](LawKind kind) { return std::ranges::find(kinds, kind) != kinds.end(); };
  std::optional<PowerLaw> power;
  if (has(LawKind::kPower) || has(LawKind::kPolynomial)) power = FitPowerLaw(samples);
  std::vector<std::optional<Law>> laws;
  for (const LawKind kind : kinds) {
    Law law(kind);
    if (kind != LawKind::kRoofline) law.power_ = power;
    if (kind == LawKind::kPolynomial) law.polynomial_ = PolynomialFit::Fit(samples);
    if (kind == LawKind::kRoofline) law.roofline_ = FitRoofline(samples);
    const bool fitted = kind == LawKind::kPower        ? law.power_.has_value()
                        : kind == LawKind::kPolynomial ? law.polynomial_.has_value()
                                                       : law.roofline_.has_value();
    laws.push_back(fitted ? std::optional(std::move(law)) : std::nullopt);
  }
  return laws;
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

std::vector<AssessedLaw> Assess(std::span<const LawKind> kinds, LawSamples samples, std::span<const size_t> folds) {
  if (folds.empty() || samples.size() < kLeastGroupSamples) return {};
  std::vector<std::optional<Law>> whole = FitLaws(kinds, samples);
  std::vector<std::map<const LawSample*, double>> held_out(kinds.size());
  for (size_t fold = 0; fold < kFolds; ++fold) {
    const std::vector<std::optional<Law>> laws = FitLaws(kinds, Without(fold, samples, folds));
    for (size_t k = 0; k < kinds.size(); ++k) {
      if (!laws[k]) whole[k].reset();
      for (size_t i = 0; whole[k] && i < samples.size(); ++i) {
        if (folds[i] != fold || samples[i]->ns <= 0) continue;
        const double ratio = std::log(samples[i]->ns / laws[k]->Predict(samples[i]->features));
        if (std::isfinite(ratio)) held_out[k][samples[i]] = ratio;
      }
    }
  }
  std::vector<AssessedLaw> assessed;
  for (size_t k = 0; k < kinds.size(); ++k) {
    if (whole[k]) assessed.push_back({std::move(*whole[k]), std::move(held_out[k])});
  }
  return assessed;
}

}  // namespace pt
