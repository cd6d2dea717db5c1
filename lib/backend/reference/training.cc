// Steps of optimisers, of the domain ai.onnx.preview.training: Adagrad, Adam, Momentum.
#include "partitiontuner/graph/operators/training.h"

#include <array>
#include <cmath>

#include "lib/backend/reference/operator.h"
#include "lib/backend/reference/types.h"
#include "partitiontuner/graph/operators/or_refuse.h"

namespace pt::reference {
namespace {

// Inputs are the learning rate, the number of steps done, then for each of `count` tensors X its value, then its
// gradients, then its states; outputs are the new values, then the new states.
struct Optimised {
  size_t count = 0, states = 0;
  DataType rate_type = DataType::kUndefined;
  std::vector<DataType> types;    // by tensor
  std::vector<int64_t> elements;  // by tensor

  size_t input(size_t part, size_t tensor) const { return 2 + part * count + tensor; }
};

Result<Optimised> ReadOptimised(ReferenceSite& site, size_t states) {
  const size_t parts = states + 2;
  if (site.in.size() < 2 + parts || (site.in.size() - 2) % parts != 0)
    return site.Invalid("has " + std::to_string(site.in.size()) + " inputs; expected 2 and " + std::to_string(parts) +
                        " for each tensor");
  PT_CHECK_OK(site.NeedInputs(site.in.size(), site.in.size()));
  Optimised o{(site.in.size() - 2) / parts, states, site.in[0].type, {}, {}};
  if (site.in[0].count() != 1 || site.in[1].count() != 1 || site.in[1].type != DataType::kInt64)
    return site.Invalid("the learning rate is not one number, or the number of steps not one int64");
  PT_CHECK_OK(NeedLoadable(site, 0));
  if (site.out.size() > o.count * (1 + states)) return site.Invalid("has too many outputs");
  for (size_t t = 0; t < o.count; ++t) {
    const TensorFacts x = site.in[o.input(0, t)];
    if (x.type != DataType::kFloat32 && x.type != DataType::kFloat64) return UnsupportedType(site, x.type);
    for (size_t part = 1; part < parts; ++part) {
      const TensorFacts& other = site.in[o.input(part, t)];
      if (other.type != x.type || other.dims != x.dims)
        return site.Invalid("input " + std::to_string(o.input(part, t)) + " is not like its tensor");
    }
    for (size_t part = 0; part < 1 + states; ++part) PT_CHECK_OK(site.Out(part * o.count + t, x.type, x.dims));
    o.types.push_back(x.type);
    o.elements.push_back(x.count());
  }
  return o;
}

// What a rule works on, element by element.
struct Element {
  double x = 0, gradient = 0;
  std::array<double, 2> states{};
};

// rule(rate, steps) gives what changes one element; all arithmetic is in float64.
template <typename Rule>
ReferenceRoutine OptimiserRoutine(Optimised o, Rule rule) {
  return {[o = std::move(o), rule](const TensorCall& run) -> Status {
    const auto step = rule(LoadAs<double>(o.rate_type, run.in<void>(0), 0), *run.in<int64_t>(1));
    const auto visit = [&]<typename T>(size_t t) {
      for (int64_t i = 0; i < o.elements[t]; ++i) {
        Element e{run.in<T>(o.input(0, t))[i], run.in<T>(o.input(1, t))[i], {}};
        for (size_t s = 0; s < o.states; ++s) e.states[s] = run.in<T>(o.input(2 + s, t))[i];
        step(e);
        if (run.out<T>(t) != nullptr) run.out<T>(t)[i] = static_cast<T>(e.x);
        for (size_t s = 0; s < o.states; ++s) {
          T* out = run.out<T>((1 + s) * o.count + t);
          if (out != nullptr) out[i] = static_cast<T>(e.states[s]);
        }
      }
    };
    for (size_t t = 0; t < o.count; ++t) {
      if (o.types[t] == DataType::kFloat32) {
        visit.template operator()<float>(t);
      } else {
        visit.template operator()<double>(t);
      }
    }
    return {};
  }};
}

// Duchi et al., JMLR 12 (2011).
Result<ReferenceRoutine> Adagrad(ReferenceSite& site) {
  PT_ASSIGN(Optimised optimised, ReadOptimised(site, 1));
  const AdagradNode node = ReadAdagrad(site.node);
  const double decay = node.decay, epsilon = node.epsilon, norm = node.norm;
  return OptimiserRoutine(std::move(optimised), [=](double rate, int64_t steps) {
    return [=, adjusted = rate / (1 + static_cast<double>(steps) * decay)](Element& e) {
      const double gradient = norm * e.x + e.gradient;
      e.states[0] += gradient * gradient;
      e.x -= adjusted * gradient / (std::sqrt(e.states[0]) + epsilon);
    };
  });
}

// Kingma and Ba, ICLR 2015. The states are the averages of gradients and of their squares.
Result<ReferenceRoutine> Adam(ReferenceSite& site) {
  PT_ASSIGN(Optimised optimised, ReadOptimised(site, 2));
  const AdamNode node = ReadAdam(site.node);
  const double alpha = node.alpha, beta = node.beta, epsilon = node.epsilon, norm = node.norm,
               norm_after = node.norm_after;
  return OptimiserRoutine(std::move(optimised), [=](double rate, int64_t steps) {
    const auto t = static_cast<double>(steps);
    const double adjusted = steps > 0 ? rate * std::sqrt(1 - std::pow(beta, t)) / (1 - std::pow(alpha, t)) : rate;
    return [=](Element& e) {
      const double gradient = norm * e.x + e.gradient;
      e.states[0] = alpha * e.states[0] + (1 - alpha) * gradient;
      e.states[1] = beta * e.states[1] + (1 - beta) * gradient * gradient;
      e.x = (1 - norm_after) * (e.x - adjusted * e.states[0] / (std::sqrt(e.states[1]) + epsilon));
    };
  });
}

Result<ReferenceRoutine> Momentum(ReferenceSite& site) {
  PT_ASSIGN(Optimised optimised, ReadOptimised(site, 1));
  PT_ASSIGN(const MomentumNode node, OrInvalid(ReadMomentum(site.node), site));
  const double alpha = node.alpha, beta = node.beta, norm = node.norm;
  return OptimiserRoutine(std::move(optimised), [=, nesterov = node.nesterov](double rate, int64_t steps) {
    const double weight = steps > 0 ? beta : 1;
    return [=](Element& e) {
      const double gradient = norm * e.x + e.gradient;
      e.states[0] = alpha * e.states[0] + weight * gradient;
      e.x -= rate * (nesterov ? gradient + alpha * e.states[0] : e.states[0]);
    };
  });
}

constexpr std::string_view kDomain = "ai.onnx.preview.training";
constexpr std::array kTrainingOperators = {
    ReferenceRow{.op = "Adagrad", .make = Adagrad, .domain = kDomain},
    ReferenceRow{.op = "Adam", .make = Adam, .domain = kDomain},
    ReferenceRow{.op = "Momentum", .make = Momentum, .domain = kDomain},
};

}  // namespace

std::span<const ReferenceRow> TrainingOperators() { return kTrainingOperators; }

}  // namespace pt::reference
