// Losses: NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss.
#include <array>
#include <cmath>

#include "lib/backend/reference/operator.h"
#include "lib/backend/reference/types.h"
#include "partitiontuner/graph/operators/or_refuse.h"
#include "partitiontuner/graph/operators/training.h"

namespace pt::reference {
namespace {

// Scores [n, c, d...], one class a position [n, d...], optionally a weight a class.
struct Loss {
  int64_t batch = 0, classes = 0, inner = 1;
  LossNode node;
  bool wide = true;  // class indices are int64
};

Result<Loss> MakeLoss(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(2, 3));
  const std::vector<int64_t>& x = site.in[0].dims;
  if (x.size() < 2) return site.Invalid("the scores have no class dim");
  std::vector<int64_t> positions = x;
  positions.erase(positions.begin() + 1);
  if (!IsIndexType(site.in[1].type) || site.in[1].dims != positions)
    return site.Invalid("the targets are not one class a position");
  if (site.has(2) && (site.in[2].dims != std::vector<int64_t>{x[1]} || site.in[2].type != site.in[0].type))
    return site.Invalid("the weights are not one value a class");
  Loss loss;
  PT_ASSIGN(loss.node, OrInvalid(ReadLoss(site.node), site));
  loss.batch = x[0];
  loss.classes = x[1];
  for (size_t d = 2; d < x.size(); ++d) loss.inner *= x[d];
  loss.wide = site.in[1].type == DataType::kInt64;
  PT_CHECK_OK(
      site.Out(0, site.in[0].type, loss.node.reduction == LossReduction::kNone ? positions : std::vector<int64_t>{}));
  return loss;
}

// log_probability(position, class) gives what the loss weighs.
template <typename T, typename F>
Status SumLoss(const Loss& loss, const TensorCall& run, F&& log_probability) {
  const Indices targets{run.in<void>(1), loss.wide};
  double sum = 0, weights = 0;
  for (int64_t i = 0; i < loss.batch * loss.inner; ++i) {
    const int64_t target = targets[i];
    const bool ignored = loss.node.ignored && target == *loss.node.ignored;
    if (!ignored && (target < 0 || target >= loss.classes)) {
      return MakeError(ErrorCode::kInvalidInput, "reference.index",
                       "a loss: class " + std::to_string(target) + " does not exist");
    }
    const double weight = ignored ? 0 : run.in<T>(2) != nullptr ? static_cast<double>(run.in<T>(2)[target]) : 1;
    const double value = ignored ? 0 : -weight * log_probability(i, target);
    if (loss.node.reduction == LossReduction::kNone) run.out<T>()[i] = static_cast<T>(value);
    sum += value;
    weights += weight;
  }
  if (loss.node.reduction != LossReduction::kNone && run.out<T>() != nullptr) {
    *run.out<T>() = static_cast<T>(loss.node.reduction == LossReduction::kMean ? sum / weights : sum);
  }
  return {};
}

Result<ReferenceRoutine> NegativeLogLikelihoodLoss(ReferenceSite& site) {
  PT_ASSIGN(const Loss loss, MakeLoss(site));
  return VisitFloats(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return ReferenceRoutine{[loss](const TensorCall& run) -> Status {
      return SumLoss<T>(loss, run, [&](int64_t i, int64_t target) {
        return static_cast<double>(
            run.in<T>(0)[(i / loss.inner * loss.classes + target) * loss.inner + i % loss.inner]);
      });
    }};
  });
}

Result<ReferenceRoutine> SoftmaxCrossEntropyLoss(ReferenceSite& site) {
  PT_ASSIGN(const Loss loss, MakeLoss(site));
  PT_CHECK_OK(site.Out(1, site.in[0].type, site.in[0].dims));
  return VisitFloats(site, site.in[0].type, [&]<typename T>() -> Result<ReferenceRoutine> {
    return ReferenceRoutine{[loss](const TensorCall& run) -> Status {
      // log(sum of exp) of a position, shifted by its largest score.
      const auto log_sum = [&](const T* x) {
        double most = -HUGE_VAL, sum = 0;
        for (int64_t c = 0; c < loss.classes; ++c) most = std::fmax(most, static_cast<double>(x[c * loss.inner]));
        for (int64_t c = 0; c < loss.classes; ++c) sum += std::exp(static_cast<double>(x[c * loss.inner]) - most);
        return most + std::log(sum);
      };
      const auto scores = [&](int64_t i) { return i / loss.inner * loss.classes * loss.inner + i % loss.inner; };
      for (int64_t i = 0; i < loss.batch * loss.inner && run.out<T>(1) != nullptr; ++i) {
        const T* x = run.in<T>(0) + scores(i);
        const double whole = log_sum(x);
        for (int64_t c = 0; c < loss.classes; ++c)
          run.out<T>(1)[scores(i) + c * loss.inner] = static_cast<T>(static_cast<double>(x[c * loss.inner]) - whole);
      }
      return SumLoss<T>(loss, run, [&](int64_t i, int64_t target) {
        const T* x = run.in<T>(0) + scores(i);
        return static_cast<double>(x[target * loss.inner]) - log_sum(x);
      });
    }};
  });
}

constexpr std::array kLossOperators = {
    ReferenceRow{.op = "NegativeLogLikelihoodLoss", .make = NegativeLogLikelihoodLoss, .feeding = Feeding::kWidened},
    ReferenceRow{.op = "SoftmaxCrossEntropyLoss", .make = SoftmaxCrossEntropyLoss, .feeding = Feeding::kWidened},
};

}  // namespace

std::span<const ReferenceRow> LossOperators() { return kLossOperators; }

}  // namespace pt::reference
