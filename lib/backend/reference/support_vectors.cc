// SVMRegressor and SVMClassifier of ai.onnx.ml, with sums in double. Transforms of scores are spelled out when a model
// loads. What the text leaves open is as ONNX Runtime and libsvm have it.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>

#include "lib/backend/host/parallel.h"
#include "lib/backend/reference/classical_models.h"
#include "lib/backend/reference/types.h"
#include "partitiontuner/graph/operators/classifiers.h"
#include "partitiontuner/graph/operators/or_refuse.h"
#include "partitiontuner/support/checked.h"

namespace pt::reference {
namespace {

// What compares a row with a support vector.
struct Comparison {
  SvmKernel kernel = SvmKernel::kLinear;
  double gamma = 0, coef0 = 0, degree = 0;

  double operator()(const double* x, const float* vector, int64_t features) const {
    double sum = 0;
    for (int64_t f = 0; f < features; ++f) {
      const double v = vector[f];
      sum += kernel == SvmKernel::kRbf ? (x[f] - v) * (x[f] - v) : x[f] * v;
    }
    switch (kernel) {
      case SvmKernel::kLinear:
        return sum;
      case SvmKernel::kPoly:
        return std::pow(gamma * sum + coef0, degree);
      case SvmKernel::kRbf:
        return std::exp(-gamma * sum);
      case SvmKernel::kSigmoid:
        break;
    }
    return std::tanh(gamma * sum + coef0);
  }
};

Comparison ComparisonOf(const SvmNode& node) { return {node.kernel, node.gamma, node.coef0, node.degree}; }

// Support vectors, or the coefficients themselves where there are none (a linear model).
struct SupportVectors {
  std::vector<float> elements;
  int64_t count = 0, features = 0;
  Comparison comparison;
};
Status CheckVectors(const ReferenceSite& site, const SupportVectors& vectors, const char* what) {
  const auto wanted = CheckedMul(vectors.count, vectors.features);
  if (vectors.count > 0 && wanted && std::ssize(vectors.elements) == *wanted) return {};
  return site.Invalid(std::string(what) + " has " + std::to_string(vectors.elements.size()) + " values for " +
                      std::to_string(vectors.count) + " vectors of " + std::to_string(vectors.features) + " features");
}

// use(run, row, kernels, rest) with the kernel of each row and each vector; `rest` are `more` doubles.
template <typename Use>
ReferenceRoutine PerRow(const ReferenceSite& site, FeatureRows rows, SupportVectors vectors, int64_t more, Use use) {
  const int64_t width = site.width, line = rows.features + vectors.count + more;
  const auto shared = std::make_shared<const SupportVectors>(std::move(vectors));
  ReferenceRoutine routine{[=](const TensorCall& run) -> Status {
    const double work = static_cast<double>(shared->count * rows.features);
    ParallelParts(run.team, rows.count, work, width, [&](int64_t part, int64_t begin, int64_t end) {
      double* const x = reinterpret_cast<double*>(run.scratch) + part * line;
      double* const kernels = x + rows.features;
      for (int64_t r = begin; r < end; ++r) {
        for (int64_t f = 0; f < rows.features; ++f) {
          // As ONNX Runtime has it, whatever the input's type.
          x[f] = static_cast<float>(LoadAs<double>(rows.type, run.in<void>(0), r * rows.features + f));
        }
        for (int64_t v = 0; v < shared->count; ++v) {
          kernels[v] = shared->comparison(x, shared->elements.data() + v * rows.features, rows.features);
        }
        use(run, r, kernels, kernels + shared->count);
      }
    });
    return {};
  }};
  routine.scratch_bytes = static_cast<uint64_t>(width * line) * sizeof(double);
  return routine;
}

Result<ReferenceRoutine> SvmRegressor(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  PT_CHECK_OK(NeedNoTransform(site));
  PT_CHECK_OK(NeedFeatureType(site));
  PT_ASSIGN(const FeatureRows rows, FeatureRowsOf(site));
  PT_ASSIGN(const SvmNode node, OrInvalid(ReadSvm(site.node), site));
  const std::vector<float>&coefficients = node.coefficients, &rho = node.rho;
  if (rho.size() != 1) return site.Invalid("rho has " + std::to_string(rho.size()) + " values; one is expected");
  const int64_t supports = node.supports;
  SupportVectors vectors{node.support_vectors, supports, rows.features, ComparisonOf(node)};
  std::vector<float> factors = coefficients;
  if (supports == 0) {
    vectors = {coefficients, 1, rows.features, {}};
    factors = {1};
  }
  PT_CHECK_OK(CheckVectors(site, vectors, supports == 0 ? "coefficients" : "support_vectors"));
  if (std::ssize(factors) != vectors.count) {
    return site.Invalid("coefficients has " + std::to_string(factors.size()) + " values for " +
                        std::to_string(vectors.count) + " support vectors");
  }
  PT_CHECK_OK(site.Out(0, DataType::kFloat32, {rows.count, 1}));
  return PerRow(site, rows, std::move(vectors), 0,
                [factors, rho = static_cast<double>(rho[0]), one_class = node.one_class](
                    const TensorCall& run, int64_t row, const double* kernels, double*) {
                  double sum = rho;
                  for (size_t v = 0; v < factors.size(); ++v) sum += static_cast<double>(factors[v]) * kernels[v];
                  run.out<float>()[row] = static_cast<float>(one_class ? (sum > 0 ? 1.0 : -1.0) : sum);
                });
}

// ---- classifiers ----

// Probabilities p of classes from those of pairs, r[i, j] that of i against j: Wu, Lin and Weng, Probability Estimates
// for Multi-class Classification by Pairwise Coupling, algorithm 2, as in libsvm. q and qp are room for classes² and
// classes numbers.
void CouplePairs(int64_t classes, const double* r, double* p, double* q, double* qp) {
  const auto at = [classes](int64_t i, int64_t j) { return i * classes + j; };
  for (int64_t i = 0; i < classes; ++i) {
    p[i] = 1 / static_cast<double>(classes);
    q[at(i, i)] = 0;
    for (int64_t j = 0; j < classes; ++j) {
      if (j == i) continue;
      q[at(i, i)] += r[at(j, i)] * r[at(j, i)];
      q[at(i, j)] = -r[at(j, i)] * r[at(i, j)];
    }
  }
  const double close = 0.005 / static_cast<double>(classes);
  for (int round = 0; round < 100; ++round) {
    double pqp = 0;
    for (int64_t i = 0; i < classes; ++i) {
      qp[i] = std::inner_product(p, p + classes, q + at(i, 0), 0.0);
      pqp += p[i] * qp[i];
    }
    double error = 0;
    for (int64_t i = 0; i < classes; ++i) error = std::max(error, std::fabs(qp[i] - pqp));
    if (error < close) break;
    for (int64_t i = 0; i < classes; ++i) {
      const double step = (pqp - qp[i]) / q[at(i, i)], shrink = 1 + step;
      p[i] += step;
      pqp = (pqp + step * (step * q[at(i, i)] + 2 * qp[i])) / shrink / shrink;
      for (int64_t j = 0; j < classes; ++j) {
        qp[j] = (qp[j] + step * q[at(i, j)]) / shrink;
        p[j] /= shrink;
      }
    }
  }
}

// A classifier of pairs of classes: each pair has a sum over the support vectors of both.
struct Pairs {
  std::vector<int64_t> labels;
  std::vector<size_t> begin;  // by class, and an end: which support vectors are its own
  std::vector<float> coefficients, rho, a, b;
  int64_t classes() const { return std::ssize(labels); }
  int64_t pairs() const { return classes() * (classes() - 1) / 2; }
  int64_t columns() const { return !a.empty() ? classes() : classes() == 2 ? 2 : pairs(); }
  // Of doubles: sums of pairs, votes, r, q, qp, p.
  int64_t room() const { return pairs() + 3 * classes() + 2 * classes() * classes(); }

  void Score(const TensorCall& run, int64_t row, const double* kernels, double* room) const {
    const int64_t n = classes();
    double *const sums = room, *const votes = sums + pairs();
    Compare(kernels, sums, votes);
    run.out<int64_t>()[row] = labels[static_cast<size_t>(std::max_element(votes, votes + n) - votes)];
    float* const scores = run.out<float>(1);
    if (scores == nullptr) return;
    float* const out = scores + row * columns();
    if (!a.empty()) {
      Estimate(sums, votes + n, out);
    } else if (n == 2) {
      out[0] = static_cast<float>(-sums[0]);
      out[1] = static_cast<float>(sums[0]);
    } else {
      for (int64_t k = 0; k < pairs(); ++k) out[k] = static_cast<float>(sums[k]);
    }
  }

 private:
  void Compare(const double* kernels, double* sums, double* votes) const {
    const size_t count = labels.size(), vectors = begin.back();
    std::fill_n(votes, count, 0.0);
    size_t pair = 0;
    for (size_t i = 0; i < count; ++i) {
      for (size_t j = i + 1; j < count; ++j, ++pair) {
        double sum = rho[pair];
        for (size_t v = begin[i]; v < begin[i + 1]; ++v)
          sum += static_cast<double>(coefficients[(j - 1) * vectors + v]) * kernels[v];
        for (size_t v = begin[j]; v < begin[j + 1]; ++v)
          sum += static_cast<double>(coefficients[i * vectors + v]) * kernels[v];
        sums[pair] = sum;
        ++votes[sum > 0 ? i : j];
      }
    }
  }

  void Estimate(const double* sums, double* room, float* out) const {
    const int64_t n = classes();
    double *const r = room, *const q = r + n * n, *const qp = q + n * n, *const p = qp + n;
    int64_t pair = 0;
    for (int64_t i = 0; i < n; ++i) {
      r[i * n + i] = 0;
      for (int64_t j = i + 1; j < n; ++j, ++pair) {
        const auto k = static_cast<size_t>(pair);
        const double first = std::clamp(1 - Logistic(sums[pair] * a[k] + b[k]), 1e-7, 1 - 1e-7);
        r[i * n + j] = first;
        r[j * n + i] = 1 - first;
      }
    }
    CouplePairs(n, r, p, q, qp);
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(p[i]);
  }
};

Result<Pairs> PairsOf(const ReferenceSite& site, const SvmNode& node) {
  Pairs pairs{node.labels, {0}, node.coefficients, node.rho, node.prob_a, node.prob_b};
  const std::vector<int64_t>& counts = node.vectors_per_class;
  if (pairs.classes() < 2 || pairs.classes() > 65535)
    return site.Unsupported("is not supported with " + std::to_string(pairs.classes()) + " integer labels");
  if (std::ssize(counts) != pairs.classes()) {
    return site.Invalid("vectors_per_class has " + std::to_string(counts.size()) + " values for " +
                        std::to_string(pairs.classes()) + " labels");
  }
  for (const int64_t count : counts) {
    if (count < 0 || count > INT32_MAX) return site.Invalid("vectors_per_class has a " + std::to_string(count));
    pairs.begin.push_back(pairs.begin.back() + static_cast<size_t>(count));
  }
  const auto need = [&](const char* name, size_t is, size_t wanted) -> Status {
    if (is == wanted) return {};
    return site.Invalid(std::string(name) + " has " + std::to_string(is) + " values; " + std::to_string(wanted) +
                        " are expected for " + std::to_string(pairs.classes()) + " classes");
  };
  const auto all = static_cast<size_t>(pairs.pairs());
  PT_CHECK_OK(need("rho", pairs.rho.size(), all));
  PT_CHECK_OK(need("coefficients", pairs.coefficients.size(), (pairs.labels.size() - 1) * pairs.begin.back()));
  PT_CHECK_OK(need("prob_a", pairs.a.size(), pairs.b.empty() ? 0 : all));
  PT_CHECK_OK(need("prob_b", pairs.b.size(), pairs.a.empty() ? 0 : all));
  return pairs;
}

// Without support vectors: a score for each class, of which the greatest wins.
Result<ReferenceRoutine> LinearClasses(ReferenceSite& site, const SvmNode& node, const FeatureRows& rows) {
  const std::vector<int64_t>& labels = node.labels;
  const std::vector<float>& rho = node.rho;
  const int64_t classes = std::ssize(labels);
  if (classes < 3) return site.Unsupported("is not supported with less than three classes and no support vectors");
  if (rho.empty()) return site.Invalid("rho has no values");
  if (!node.prob_a.empty()) return site.Unsupported("is not supported with prob_a and no support vectors");
  SupportVectors vectors{node.coefficients, classes, rows.features, {}};
  PT_CHECK_OK(CheckVectors(site, vectors, "coefficients"));
  PT_CHECK_OK(site.Out(0, DataType::kInt64, {rows.count}));
  if (site.wants(1)) PT_CHECK_OK(site.Out(1, DataType::kFloat32, {rows.count, classes}));
  return PerRow(site, rows, std::move(vectors), 0,
                [labels, classes, rho = static_cast<double>(rho[0])](const TensorCall& run, int64_t row,
                                                                     const double* kernels, double*) {
                  const auto top = static_cast<size_t>(std::max_element(kernels, kernels + classes) - kernels);
                  run.out<int64_t>()[row] = labels[top];
                  float* const out = run.out<float>(1);
                  for (int64_t c = 0; out != nullptr && c < classes; ++c)
                    out[row * classes + c] = static_cast<float>(kernels[c] + rho);
                });
}

Result<ReferenceRoutine> SvmClassifier(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  PT_CHECK_OK(NeedNoTransform(site));
  PT_CHECK_OK(NeedFeatureType(site));
  PT_ASSIGN(const FeatureRows rows, FeatureRowsOf(site));
  PT_ASSIGN(const SvmNode node, OrInvalid(ReadSvm(site.node), site));
  const std::vector<int64_t>& counts = node.vectors_per_class;
  if (std::all_of(counts.begin(), counts.end(), [](int64_t count) { return count == 0; }))
    return LinearClasses(site, node, rows);
  PT_ASSIGN(Pairs pairs, PairsOf(site, node));
  SupportVectors vectors{node.support_vectors, static_cast<int64_t>(pairs.begin.back()), rows.features,
                         ComparisonOf(node)};
  PT_CHECK_OK(CheckVectors(site, vectors, "support_vectors"));
  PT_CHECK_OK(site.Out(0, DataType::kInt64, {rows.count}));
  if (site.wants(1)) PT_CHECK_OK(site.Out(1, DataType::kFloat32, {rows.count, pairs.columns()}));
  const int64_t room = pairs.room();
  return PerRow(site, rows, std::move(vectors), room,
                [pairs = std::move(pairs)](const TensorCall& run, int64_t row, const double* kernels, double* rest) {
                  pairs.Score(run, row, kernels, rest);
                });
}

constexpr std::array kSupportVectorOperators = {
    ReferenceRow{.op = "SVMClassifier", .make = SvmClassifier, .domain = "ai.onnx.ml"},
    ReferenceRow{.op = "SVMRegressor", .make = SvmRegressor, .domain = "ai.onnx.ml"},
};

}  // namespace

std::span<const ReferenceRow> SupportVectorOperators() { return kSupportVectorOperators; }

}  // namespace pt::reference
