// A polynomial of degree 2 in the logarithms of a piece of work's features, for the logarithm of its time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/cost/law_sample.h"

namespace pt {

class PolynomialFit {
 public:
  // Ridge regression towards least absolute deviations. Besides the powers and products of the features that differ
  // among the samples, every style and every chain of operators that occurs twice has a factor of its own. Empty with
  // fewer than kLeastFitSamples usable samples (positive times) or where no feature differs.
  static std::optional<PolynomialFit> Fit(LawSamples samples);

  double Predict(const WorkFeatures& work) const;
  // Whether flops and bytes lie within what was seen, or nearly so: beyond it a polynomial means nothing.
  bool Covers(const WorkFeatures& work) const;

 private:
  struct Input {
    WorkFeature feature;
    double mean = 0, deviation = 1, least = 0, most = 0;  // of its logarithm; least and most in deviations
  };
  struct Range {
    double least, most;  // of the logarithm
  };

  void ChooseInputs(LawSamples samples);
  void ChooseWords(LawSamples samples);
  size_t first_word() const { return 1 + inputs_.size() + inputs_.size() * (inputs_.size() + 1) / 2; }
  std::vector<double> TermsOf(const WorkFeatures& work) const;
  std::vector<double> Penalties() const;

  std::vector<Input> inputs_;
  std::vector<std::string> styles_, operators_;  // sorted
  Range flops_ = {0, 0}, bytes_ = {0, 0};
  double middle_ = 0;            // of the logarithms of the times
  std::vector<double> weights_;  // of the terms
};

}  // namespace pt
