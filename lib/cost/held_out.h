// Laws of prediction, and how far each was off for samples that it had not seen.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "lib/cost/law_sample.h"
#include "lib/cost/polynomial_fit.h"
#include "lib/cost/power_law.h"
#include "lib/cost/roofline.h"

namespace pt {

enum class LawKind : uint8_t { kPower, kPolynomial, kRoofline };

class Law {
 public:
  double Predict(const WorkFeatures& work) const;
  LawKind kind() const { return kind_; }

 private:
  friend std::vector<std::optional<Law>> FitLaws(std::span<const LawKind> kinds, LawSamples samples);
  explicit Law(LawKind kind) : kind_(kind) {}

  LawKind kind_;
  std::optional<PowerLaw> power_;  // of kPower; of kPolynomial for what it does not cover, where there is one
  std::optional<PolynomialFit> polynomial_;
  std::optional<Roofline> roofline_;
};
// By kind; empty where there are too few samples of use.
std::vector<std::optional<Law>> FitLaws(std::span<const LawKind> kinds, LawSamples samples);

// Samples that are left out together: whole works, so that none is ever on both sides; or whole families, which says
// what a law is worth for a family that was not measured.
enum class FoldsBy : uint8_t { kWork, kFamily };
inline constexpr size_t kFolds = 5;
// The fold of each sample, of equal sizes as far as may be; empty with fewer than kFolds different works or families.
std::vector<size_t> FoldsOf(LawSamples samples, FoldsBy by);

struct AssessedLaw {
  Law law;
  // log(measured / predicted) by the law fitted without the sample's fold and without all work that is equal to some of
  // it. Samples that could not be predicted so are missing.
  std::map<const LawSample*, double> held_out;
};
// None with fewer than kLeastGroupSamples; without the laws that cannot be fitted, or not without one of the folds.
std::vector<AssessedLaw> Assess(std::span<const LawKind> kinds, LawSamples samples, std::span<const size_t> folds);

}  // namespace pt
