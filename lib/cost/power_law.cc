#include "lib/cost/power_law.h"

#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <vector>

namespace pt {
namespace {

struct Point {
  double n, ns;
};

// More samples than this make a fit slower, not better.
constexpr size_t kMostSamples = 120;
// Of the larger column's length: what must be left of the other one for a slope to be known.
constexpr double kLeastSlopeShare = 3e-5;

double Evaluate(double a, double b, double c, double n) { return a * std::pow(n, b) + c; }

// Mean |log(predicted / measured)|: an outlier counts linearly, so a few of them move nothing.
double Loss(std::span<const Point> points, double a, double b, double c) {
  double sum = 0;
  for (const Point& p : points) sum += std::abs(std::log(Evaluate(a, b, c, p.n) / p.ns));
  return sum / static_cast<double>(points.size());
}

struct Law {
  double a = 0, b = 0, c = 0, loss = 0;
};

// For a given c the law is a line in logarithms: iteratively reweighted least squares towards least absolute
// deviations, residuals weighed as they count for the whole time.
Law FitLine(std::span<const Point> points, double c) {
  using Eigen::ArrayXd;
  const auto count = static_cast<Eigen::Index>(points.size());
  ArrayXd x(count), ns(count);
  for (Eigen::Index i = 0; i < count; ++i) {
    x[i] = std::log(points[static_cast<size_t>(i)].n);
    ns[i] = points[static_cast<size_t>(i)].ns;
  }
  const ArrayXd net = (ns - c).max(1e-3 * ns);
  const ArrayXd y = net.log();
  double log_a = 0, b = 1;
  ArrayXd weights = ArrayXd::Ones(count);
  Eigen::Matrix<double, Eigen::Dynamic, 2> lines(count, 2);
  Eigen::ColPivHouseholderQR<Eigen::Matrix<double, Eigen::Dynamic, 2>> solver(count, 2);
  solver.setThreshold(kLeastSlopeShare);
  for (int iteration = 0; iteration < 10; ++iteration) {
    const ArrayXd root = weights.sqrt() * net / ns;
    lines.col(0) = root;
    lines.col(1) = root * x;
    solver.compute(lines);
    // Sizes that hardly differ say nothing of a slope.
    b = solver.rank() == 2 ? std::clamp(solver.solve((root * y).matrix())[1], 0.0, 2.0) : 0.0;
    log_a = (root.square() * (y - b * x)).sum() / root.square().sum();
    const ArrayXd residual = (((log_a + b * x).exp() + c) / ns).log();
    weights = residual.abs().max(1e-3).inverse();
  }
  Law law{std::exp(log_a), b, c, 0};
  law.loss = Loss(points, law.a, law.b, law.c);
  return law;
}

Law FitLaw(std::span<const Point> points) {
  double least = points[0].ns;
  for (const Point& p : points) least = std::min(least, p.ns);
  Law best = FitLine(points, 0);
  double best_share = 0;
  for (int i = 1; i < 20; ++i) {
    const double share = 0.05 * i;
    if (const Law law = FitLine(points, share * least); law.loss < best.loss) best = law, best_share = share;
  }
  for (double step = 0.025; step > 0.001; step /= 2) {
    for (const double share : {best_share - step, best_share + step}) {
      if (share < 0 || share >= 1) continue;
      if (const Law law = FitLine(points, share * least); law.loss < best.loss) best = law, best_share = share;
    }
  }
  return best;
}

// Evenly over the sizes.
std::vector<Point> Thinned(std::vector<Point> points) {
  if (points.size() <= kMostSamples) return points;
  std::stable_sort(points.begin(), points.end(), [](const Point& x, const Point& y) { return x.n < y.n; });
  std::vector<Point> kept;
  for (size_t i = 0; i < kMostSamples; ++i) kept.push_back(points[i * points.size() / kMostSamples]);
  return kept;
}

}  // namespace

double PowerLaw::Predict(const WorkFeatures& work) const {
  const double n = work[by_flops ? WorkFeature::kFlops : WorkFeature::kBytes];
  return Evaluate(a, b, c, std::max(n, 1.0));
}

std::optional<PowerLaw> FitPowerLaw(LawSamples samples) {
  std::optional<PowerLaw> best;
  double least_loss = 0;
  for (const bool by_flops : {false, true}) {
    std::vector<Point> points;
    for (const LawSample* sample : samples) {
      const double n = sample->features[by_flops ? WorkFeature::kFlops : WorkFeature::kBytes];
      if (n >= 1 && sample->ns > 0) points.push_back({n, sample->ns});
    }
    if (points.size() < kLeastFitSamples) continue;
    const Law law = FitLaw(Thinned(std::move(points)));
    if (best && law.loss >= least_loss) continue;
    best = PowerLaw{law.a, law.b, law.c, by_flops};
    least_loss = law.loss;
  }
  return best;
}

}  // namespace pt
