#include "lib/cost/polynomial_fit.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

namespace pt {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// More samples than this make a fit slower, not better.
constexpr size_t kMostSamples = 500;
// Words (styles, chains of operators) with a factor of their own.
constexpr size_t kMostWords = 30;
constexpr double kLeastDeviation = 1e-6;
// Ridge: how much a weight of one costs beside a sample that is off by a factor of e. Features alone cost least, so
// that curvature is taken only where slopes do not tell; the constant is nearly free.
constexpr double kConstantPenalty = 1e-3, kSlopePenalty = 0.03, kTermPenalty = 0.3;
constexpr int kIterations = 4;
// Below this residual (of logarithms) a sample counts no more: clocks and machines are not finer.
constexpr double kLeastResidual = 0.03;
// Of the logarithm, beyond the samples: a factor of 1.5.
constexpr double kRangeMargin = 0.4055;

double LogOf(const WorkFeatures& work, WorkFeature feature) { return std::log1p(work[feature]); }

Eigen::Map<const VectorXd> AsVector(const std::vector<double>& values) {
  return {values.data(), static_cast<Index>(values.size())};
}

double MedianOf(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::vector<std::string> FrequentWords(const std::map<std::string, size_t>& counts) {
  std::vector<std::pair<size_t, std::string>> ranked;
  for (const auto& [word, count] : counts) {
    if (count >= 2) ranked.emplace_back(count, word);
  }
  std::sort(ranked.begin(), ranked.end(),
            [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  if (ranked.size() > kMostWords) ranked.resize(kMostWords);
  std::vector<std::string> words;
  for (auto& [count, word] : ranked) words.push_back(std::move(word));
  std::sort(words.begin(), words.end());
  return words;
}

void SetWord(const std::vector<std::string>& words, const std::string& word, double* first) {
  const auto at = std::lower_bound(words.begin(), words.end(), word);
  if (at != words.end() && *at == word) first[at - words.begin()] = 1;
}

// Solves weighted ridge regression in whichever of its two forms is smaller.
class Ridge {
 public:
  Ridge(const MatrixXd& terms, const VectorXd& penalties) : terms_(terms), scale_(penalties.cwiseInverse()) {
    if (by_samples()) gram_ = LowerGram(terms_ * scale_.cwiseSqrt().asDiagonal());
  }

  VectorXd Solve(const VectorXd& y, const VectorXd& sample_weights) const {
    if (by_samples()) {
      MatrixXd system = gram_;
      system.diagonal() += sample_weights.cwiseInverse();
      return scale_.asDiagonal() * (terms_.transpose() * system.ldlt().solve(y));
    }
    const VectorXd roots = sample_weights.cwiseSqrt();
    MatrixXd system = LowerGram((roots.asDiagonal() * terms_).transpose());
    system.diagonal() += scale_.cwiseInverse();
    return system.ldlt().solve(terms_.transpose() * sample_weights.cwiseProduct(y));
  }

 private:
  // m·mᵀ; its lower half, which is all that LDLT reads.
  static MatrixXd LowerGram(const MatrixXd& m) {
    MatrixXd gram = MatrixXd::Zero(m.rows(), m.rows());
    gram.selfadjointView<Eigen::Lower>().rankUpdate(m);
    return gram;
  }
  bool by_samples() const { return terms_.rows() < terms_.cols(); }

  const MatrixXd& terms_;
  const VectorXd scale_;
  MatrixXd gram_;
};

// Evenly over the given order.
std::vector<const LawSample*> Thinned(LawSamples samples) {
  std::vector<const LawSample*> usable;
  for (const LawSample* sample : samples) {
    if (sample->ns > 0) usable.push_back(sample);
  }
  if (usable.size() <= kMostSamples) return usable;
  std::vector<const LawSample*> kept;
  for (size_t i = 0; i < kMostSamples; ++i) kept.push_back(usable[i * usable.size() / kMostSamples]);
  return kept;
}

}  // namespace

void PolynomialFit::ChooseInputs(LawSamples samples) {
  const auto count = static_cast<double>(samples.size());
  for (size_t f = 0; f < kWorkFeatureCount; ++f) {
    Input input{static_cast<WorkFeature>(f)};
    double sum = 0, squares = 0;
    Range range{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
    for (const LawSample* sample : samples) {
      const double x = LogOf(sample->features, input.feature);
      sum += x;
      range.least = std::min(range.least, x);
      range.most = std::max(range.most, x);
    }
    input.mean = sum / count;
    for (const LawSample* sample : samples) {
      squares += std::pow(LogOf(sample->features, input.feature) - input.mean, 2);
    }
    input.deviation = std::sqrt(squares / count);
    if (input.feature == WorkFeature::kFlops) flops_ = range;
    if (input.feature == WorkFeature::kBytes) bytes_ = range;
    if (input.deviation < kLeastDeviation) continue;
    input.least = (range.least - input.mean) / input.deviation;
    input.most = (range.most - input.mean) / input.deviation;
    inputs_.push_back(input);
  }
}

void PolynomialFit::ChooseWords(LawSamples samples) {
  std::map<std::string, size_t> styles, operators;
  for (const LawSample* sample : samples) ++styles[sample->features.style], ++operators[sample->features.operators];
  if (styles.size() > 1) styles_ = FrequentWords(styles);
  if (operators.size() > 1) operators_ = FrequentWords(operators);
}

// A constant, the features, their squares and products, styles, operators.
std::vector<double> PolynomialFit::TermsOf(const WorkFeatures& work) const {
  std::vector<double> terms(first_word() + styles_.size() + operators_.size(), 0.0);
  terms[0] = 1;
  double* features = terms.data() + 1;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Input& input = inputs_[i];
    features[i] = std::clamp((LogOf(work, input.feature) - input.mean) / input.deviation, input.least, input.most);
  }
  double* product = features + inputs_.size();
  for (size_t i = 0; i < inputs_.size(); ++i) {
    for (size_t j = i; j < inputs_.size(); ++j) *product++ = features[i] * features[j];
  }
  SetWord(styles_, work.style, product);
  SetWord(operators_, work.operators, product + styles_.size());
  return terms;
}

std::vector<double> PolynomialFit::Penalties() const {
  std::vector<double> penalties(first_word() + styles_.size() + operators_.size(), kTermPenalty);
  penalties[0] = kConstantPenalty;
  std::fill_n(penalties.begin() + 1, inputs_.size(), kSlopePenalty);
  return penalties;
}

std::optional<PolynomialFit> PolynomialFit::Fit(LawSamples all) {
  const std::vector<const LawSample*> samples = Thinned(all);
  if (samples.size() < kLeastFitSamples) return std::nullopt;
  PolynomialFit fit;
  fit.ChooseInputs(samples);
  if (fit.inputs_.empty()) return std::nullopt;
  fit.ChooseWords(samples);
  std::vector<double> logs;
  for (const LawSample* sample : samples) logs.push_back(std::log(sample->ns));
  fit.middle_ = MedianOf(logs);
  const auto count = static_cast<Index>(samples.size());
  const std::vector<double> penalty_list = fit.Penalties();
  const VectorXd penalties = AsVector(penalty_list);
  MatrixXd terms(count, penalties.size());
  VectorXd y(count);
  for (Index i = 0; i < count; ++i) {
    terms.row(i) = AsVector(fit.TermsOf(samples[static_cast<size_t>(i)]->features));
    y[i] = logs[static_cast<size_t>(i)] - fit.middle_;
  }
  const Ridge ridge(terms, penalties);
  VectorXd weights, sample_weights = VectorXd::Ones(count);
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    weights = ridge.Solve(y, sample_weights);
    sample_weights = (y - terms * weights).cwiseAbs().cwiseMax(kLeastResidual).cwiseInverse();
    sample_weights /= sample_weights.mean();
  }
  if (!weights.allFinite()) return std::nullopt;
  fit.weights_.assign(weights.begin(), weights.end());
  return fit;
}

double PolynomialFit::Predict(const WorkFeatures& work) const {
  const std::vector<double> terms = TermsOf(work);
  return std::exp(std::inner_product(terms.begin(), terms.end(), weights_.begin(), middle_));
}

bool PolynomialFit::Covers(const WorkFeatures& work) const {
  const auto within = [&](const Range& range, WorkFeature feature) {
    const double x = LogOf(work, feature);
    return x >= range.least - kRangeMargin && x <= range.most + kRangeMargin;
  };
  return within(flops_, WorkFeature::kFlops) && within(bytes_, WorkFeature::kBytes);
}

}  // namespace pt
