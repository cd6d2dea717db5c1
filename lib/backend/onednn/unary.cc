#include "lib/backend/onednn/unary.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "partitiontuner/graph/operators/elementwise.h"

namespace pt::onednn {
namespace {

using Algorithm = dnnl::algorithm;
using Ops = std::vector<Pointwise>;
using MaybeOps = std::optional<Ops>;
using Function = Formula::Function;

// ---- as operations of oneDNN

template <Algorithm kAlgorithm>
MaybeOps Plain(const Graph&, const Node&) {
  return Ops{Eltwise(kAlgorithm)};
}

template <Algorithm kAlgorithm>
MaybeOps WithAlpha(const Graph&, const Node& node) {
  return Ops{Eltwise(kAlgorithm, ReadActivation(node).alpha)};
}

MaybeOps SeluOps(const Graph&, const Node& node) {
  const auto [alpha, gamma] = ReadActivation(node);
  return Ops{Eltwise(Algorithm::eltwise_elu, alpha), Eltwise(Algorithm::eltwise_linear, gamma)};
}

// With another alpha it divides the exponent, which no function of oneDNN does.
MaybeOps CeluOps(const Graph&, const Node& node) {
  if (ReadActivation(node).alpha != 1.0F) return std::nullopt;
  return Ops{Eltwise(Algorithm::eltwise_elu, 1.0F)};
}

MaybeOps HardSigmoidOps(const Graph&, const Node& node) {
  const auto [alpha, beta] = ReadActivation(node);
  return Ops{Eltwise(Algorithm::eltwise_hardsigmoid, alpha, beta)};
}
MaybeOps HardSwishOps(const Graph&, const Node&) {
  return Ops{Eltwise(Algorithm::eltwise_hardswish, 1.0F / 6.0F, 0.5F)};
}

MaybeOps GeluOps(const Graph&, const Node& node) {
  const Result<GeluForm> form = ReadGelu(node);
  if (!form.ok()) return std::nullopt;
  return Ops{Eltwise(*form == GeluForm::kTanh ? Algorithm::eltwise_gelu_tanh : Algorithm::eltwise_gelu_erf)};
}

MaybeOps NegOps(const Graph&, const Node&) {
  return Ops{Eltwise(Algorithm::eltwise_linear, -1.0F, -0.0F)};  // -0: the sign of zero stays right
}
MaybeOps ReciprocalOps(const Graph&, const Node&) { return Ops{Eltwise(Algorithm::eltwise_pow, 1.0F, -1.0F)}; }

struct Bounds {
  float low, high;
};
// Attributes before operator set 11, inputs since then.
std::optional<Bounds> BoundsOf(const Graph& graph, const Node& node) {
  const BoundsNode named = ReadNamedBounds(node);
  const auto low = ScalarInput(graph, node, 1, named.low), high = ScalarInput(graph, node, 2, named.high);
  if (!low || !high || !(*low <= *high)) return std::nullopt;
  return Bounds{*low, *high};
}

MaybeOps ClipOps(const Graph& graph, const Node& node) {
  const auto bounds = BoundsOf(graph, node);
  if (!bounds) return std::nullopt;
  if (std::isinf(bounds->low) && std::isinf(bounds->high)) return Ops{};  // oneDNN would make -inf of NaN
  return Ops{Eltwise(Algorithm::eltwise_clip, bounds->low, bounds->high)};
}

// ---- as formulas and at one number

template <Function kFunction>
MaybeFormula FormulaOf(const Graph&, const Node&, const Formula& x) {
  return Applied(kFunction, x);
}
template <double (*kFunction)(double)>
double ValueOf(const Graph&, const Node&, double x) {
  return kFunction(x);
}

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double Tanh(double x) { return std::tanh(x); }
double Erf(double x) { return std::erf(x); }
double Exp(double x) { return std::exp(x); }
double Softplus(double x) { return std::fmax(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }
double Negative(double x) { return -x; }
double Relu(double x) { return x < 0 ? 0 : x; }

MaybeFormula NegFormula(const Graph&, const Node&, const Formula& x) { return Scaled(x, -1); }
MaybeFormula ReluFormula(const Graph&, const Node&, const Formula& x) { return Clipped(x, 0, HUGE_VAL); }

double Clamp(double x, double low, double high) { return x < low ? low : x > high ? high : x; }

MaybeFormula ClipFormula(const Graph& graph, const Node& node, const Formula& x) {
  const auto bounds = BoundsOf(graph, node);
  return bounds ? Clipped(x, bounds->low, bounds->high) : std::nullopt;
}
double ClipValue(const Graph& graph, const Node& node, double x) {
  const auto bounds = BoundsOf(graph, node);
  return bounds ? Clamp(x, bounds->low, bounds->high) : std::nan("");
}

MaybeFormula HardSigmoidFormula(const Graph&, const Node& node, const Formula& x) {
  const auto [alpha, beta] = ReadActivation(node);
  const MaybeFormula scaled = Scaled(x, alpha);
  const MaybeFormula shift = Formula::Constant(beta);
  const MaybeFormula inner = scaled && shift ? Sum(*scaled, *shift) : std::nullopt;
  return inner ? Clipped(*inner, 0, 1) : std::nullopt;
}
double HardSigmoidValue(const Graph&, const Node& node, double x) {
  const auto [alpha, beta] = ReadActivation(node);
  return Clamp(alpha * x + beta, 0, 1);
}

// Log and Softplus have no operations on purpose: oneDNN's logarithm is off by 1.4e-6 near one, where the result itself
// is as small as that.
constexpr UnaryOperator kOperators[] = {
    {"Relu", Plain<Algorithm::eltwise_relu>, ReluFormula, ValueOf<Relu>},
    {"LeakyRelu", WithAlpha<Algorithm::eltwise_relu>, nullptr, nullptr},
    {"Sigmoid", Plain<Algorithm::eltwise_logistic>, FormulaOf<Function::kSigmoid>, ValueOf<Sigmoid>},
    {"Tanh", Plain<Algorithm::eltwise_tanh>, FormulaOf<Function::kTanh>, ValueOf<Tanh>},
    {"Elu", WithAlpha<Algorithm::eltwise_elu>, nullptr, nullptr},
    {"Selu", SeluOps, nullptr, nullptr},
    {"Celu", CeluOps, nullptr, nullptr},
    {"HardSigmoid", HardSigmoidOps, HardSigmoidFormula, HardSigmoidValue},
    {"HardSwish", HardSwishOps, nullptr, nullptr},
    {"Swish", WithAlpha<Algorithm::eltwise_swish>, nullptr, nullptr},
    {"Gelu", GeluOps, nullptr, nullptr},
    {"Mish", Plain<Algorithm::eltwise_mish>, nullptr, nullptr},
    {"Exp", Plain<Algorithm::eltwise_exp>, FormulaOf<Function::kExp>, ValueOf<Exp>},
    {"Sqrt", Plain<Algorithm::eltwise_sqrt>, nullptr, nullptr},
    {"Abs", Plain<Algorithm::eltwise_abs>, nullptr, nullptr},
    {"Neg", NegOps, NegFormula, ValueOf<Negative>},
    {"Round", Plain<Algorithm::eltwise_round>, nullptr, nullptr},
    {"Reciprocal", ReciprocalOps, nullptr, nullptr},
    {"Clip", ClipOps, ClipFormula, ClipValue},
    {"Erf", nullptr, FormulaOf<Function::kErf>, ValueOf<Erf>},
    {"Softplus", nullptr, FormulaOf<Function::kSoftplus>, ValueOf<Softplus>},
};

}  // namespace

const UnaryOperator* FindUnary(const Node& node) {
  if (!node.domain.empty()) return nullptr;
  const auto* found = std::find_if(std::begin(kOperators), std::end(kOperators),
                                   [&](const UnaryOperator& row) { return row.op == node.op; });
  return found == std::end(kOperators) ? nullptr : found;
}

std::optional<float> ScalarInput(const Graph& graph, const Node& node, size_t i, float otherwise) {
  if (i >= node.inputs.size() || !node.inputs[i].valid()) return otherwise;
  const Value& value = graph.value(node.inputs[i]);
  if (!value.constant || value.constant->type() != DataType::kFloat32 || value.constant->element_count() != 1) {
    return std::nullopt;
  }
  return value.constant->values<float>()[0];
}

}  // namespace pt::onednn
