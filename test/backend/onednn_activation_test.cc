// Activations spelled out in several nodes are taken for what they are and for nothing else, and every function that
// oneDNN computes for us is held to its definition at the edges of float32.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "lib/backend/onednn/pointwise.h"
#include "test/backend/onednn_lab.h"

namespace pt::onednn_lab::onednn_activation_test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kMost = std::numeric_limits<float>::max();
constexpr float kTiny = std::numeric_limits<float>::min();
constexpr float kDenormal = std::numeric_limits<float>::denorm_min();

Floats Edges() {
  Floats edges{0.0F,    kDenormal, kTiny / 2, kTiny, 1e-20F, 1e-6F, 0.1F,  0.5F,      1.0F,  1.5F,     2.5F,
               2.9999F, 3.0F,      3.0001F,   5.0F,  6.0F,   9.0F,  10.0F, 19.0F,     21.0F, 44.0F,    45.0F,
               87.0F,   89.0F,     104.0F,    1e3F,  1e9F,   1e13F, 1e20F, kMost / 8, kMost, kInfinity};
  for (size_t i = 0, count = edges.size(); i < count; ++i) edges.push_back(-edges[i]);
  edges.push_back(std::nanf(""));
  return edges;
}

// The largest activation that starts at the graph's first input.
std::optional<onednn::Activation> Found(const Graph& graph) {
  return onednn::FindActivation(graph, graph.inputs()[0], /*closed=*/true);
}

struct Spelling {
  std::string name, text;
  dnnl::algorithm algorithm;
  float alpha;
};

std::string WithConstants(const std::string& text, std::string whole = "input x float32[4,16]\n") {
  const std::pair<const char*, const char*> constants[] = {{"c0", "0"},
                                                           {"c1", "1"},
                                                           {"c2", "2"},
                                                           {"c3", "3"},
                                                           {"c6", "6"},
                                                           {"m1", "-1"},
                                                           {"m3", "-3"},
                                                           {"half", "0.5"},
                                                           {"sixth", "0.16666667"},
                                                           {"quick", "1.702"},
                                                           {"root2", "1.4142135"},
                                                           {"inv", "0.70710677"},
                                                           {"cubic", "0.044715"},
                                                           {"root", "0.7978846"},
                                                           {"root_2", "1.5957691"},
                                                           {"m20", "-20"},
                                                           {"c20", "20"},
                                                           {"magic", "12582912"},
                                                           {"huge", "1e30"},
                                                           {"tiny", "1e-30"},
                                                           {"denormal", "1e-40"}};
  for (const auto& [name, value] : constants) {
    if (text.find(name) == std::string::npos) continue;
    whole += std::string("const ") + name + " float32[] value " + value + "\n";
  }
  return whole + text + "output y\n";
}

const std::vector<Spelling>& Spellings() {
  using dnnl::algorithm;
  static const std::vector<Spelling> spellings{
      {"swish", "s = Sigmoid(x)\ny = Mul(x, s)\n", algorithm::eltwise_swish, 1},
      {"swish the other way round", "s = Sigmoid(x)\ny = Mul(s, x)\n", algorithm::eltwise_swish, 1},
      {"swish with alpha", "a = Mul(x, quick)\ns = Sigmoid(a)\ny = Mul(x, s)\n", algorithm::eltwise_swish, 1.702F},
      {"swish as a quotient", "n = Neg(x)\ne = Exp(n)\nd = Add(e, c1)\ny = Div(x, d)\n", algorithm::eltwise_swish, 1},
      {"swish as a product with a quotient",
       "n = Mul(x, m1)\ne = Exp(n)\nd = Add(c1, e)\nq = Div(c1, d)\ny = Mul(q, x)\n", algorithm::eltwise_swish, 1},
      {"gelu", "a = Div(x, root2)\ne = Erf(a)\np = Add(e, c1)\nm = Mul(x, p)\ny = Mul(m, half)\n",
       algorithm::eltwise_gelu_erf, 0},
      {"gelu with the half first", "h = Mul(x, half)\na = Mul(x, inv)\ne = Erf(a)\np = Add(c1, e)\ny = Mul(h, p)\n",
       algorithm::eltwise_gelu_erf, 0},
      {"gelu with the half inside", "a = Mul(x, inv)\ne = Erf(a)\nh = Mul(e, half)\np = Add(h, half)\ny = Mul(x, p)\n",
       algorithm::eltwise_gelu_erf, 0},
      {"gelu by tanh of a power",
       "q = Pow(x, c3)\nm = Mul(q, cubic)\ns = Add(x, m)\na = Mul(s, root)\nt = Tanh(a)\np = Add(t, c1)\nh = Mul(x, "
       "half)\n"
       "y = Mul(h, p)\n",
       algorithm::eltwise_gelu_tanh, 0},
      {"gelu by a sigmoid",
       "q = Pow(x, c3)\nm = Mul(q, cubic)\ns = Add(x, m)\na = Mul(s, root_2)\nt = Sigmoid(a)\ny = Mul(x, t)\n",
       algorithm::eltwise_gelu_tanh, 0},
      {"hard sigmoid", "a = Add(x, c3)\nc = Clip(a, c0, c6)\ny = Div(c, c6)\n", algorithm::eltwise_hardsigmoid,
       1.0F / 6},
      {"hard sigmoid, scaled first", "a = Mul(x, sixth)\nb = Add(a, half)\ny = Clip(b, c0, c1)\n",
       algorithm::eltwise_hardsigmoid, 1.0F / 6},
      {"hard sigmoid by a chain of clips", "a = Add(x, c3)\nr = Relu(a)\nc = Clip(r, m3, c6)\ny = Mul(c, sixth)\n",
       algorithm::eltwise_hardsigmoid, 1.0F / 6},
      {"hard swish", "a = Add(x, c3)\nc = Clip(a, c0, c6)\nm = Mul(x, c)\ny = Div(m, c6)\n",
       algorithm::eltwise_hardswish, 1.0F / 6},
      {"hard swish by a hard sigmoid", "h = HardSigmoid(x) alpha=0.16666667\ny = Mul(x, h)\n",
       algorithm::eltwise_hardswish, 1.0F / 6},
      {"hard swish of another slope", "h = HardSigmoid(x)\ny = Mul(x, h)\n", algorithm::eltwise_hardswish, 0.2F},
      {"mish", "s = Softplus(x)\nt = Tanh(s)\ny = Mul(x, t)\n", algorithm::eltwise_mish, 0},
  };
  return spellings;
}

// Almost activations: each differs from one somewhere, most of them far from zero.
const std::vector<std::pair<std::string, std::string>>& Impostors() {
  static const std::vector<std::pair<std::string, std::string>> impostors{
      {"swish of a clipped factor", "c = Clip(x, m20, c20)\ns = Sigmoid(x)\ny = Mul(c, s)\n"},
      {"swish of a clipped argument", "c = Clip(x, m20, c20)\ns = Sigmoid(c)\ny = Mul(x, s)\n"},
      {"gelu with a clipped factor",
       "c = Clip(x, m20, c20)\na = Div(x, root2)\ne = Erf(a)\np = Add(e, c1)\nm = Mul(c, p)\n"
       "y = Mul(m, half)\n"},
      {"mish with a clipped factor", "c = Clip(x, m20, c20)\ns = Softplus(x)\nt = Tanh(s)\ny = Mul(c, t)\n"},
      {"hard swish with a clipped factor",
       "b = Clip(x, m20, c20)\na = Add(x, c3)\nc = Clip(a, c0, c6)\nm = Mul(b, c)\n"
       "y = Div(m, c6)\n"},
      {"a square root of a square for x", "q = Mul(x, x)\nr = Pow(q, half)\ns = Sigmoid(x)\ny = Mul(r, s)\n"},
      {"swish after rounding", "a = Add(x, magic)\nb = Sub(a, magic)\ns = Sigmoid(x)\ny = Mul(b, s)\n"},
      {"rounding alone", "a = Add(x, magic)\ny = Sub(a, magic)\n"},
      {"gelu by tanh, not quite",
       "q = Pow(x, c3)\nm = Mul(q, sixth)\ns = Add(x, m)\na = Mul(s, root)\nt = Tanh(a)\n"
       "p = Add(t, c1)\nh = Mul(x, half)\ny = Mul(h, p)\n"},
      {"hard sigmoid, not quite", "a = Add(x, c2)\nc = Clip(a, c0, c3)\ny = Div(c, c6)\n"},
      {"scales that overflow on the way", "a = Mul(x, huge)\nb = Mul(a, huge)\ny = Mul(b, tiny)\n"},
      {"scales that underflow on the way", "a = Mul(x, tiny)\nb = Mul(a, tiny)\nc = Mul(b, huge)\ny = Mul(c, huge)\n"},
      {"division by a denormal", "y = Div(x, denormal)\n"},
      {"bounds as attributes", "y = Clip(x) min=-1.5 max=2.5\n"},
      {"relu again and again", "a = Relu(x)\nb = Relu(a)\ny = Relu(b)\n"},
      {"bounded below, times x", "a = Relu(x)\nb = Relu(a)\ny = Mul(x, b)\n"},
      {"bounded below by two clips", "a = Clip(x, m3)\ny = Clip(a, c0)\n"},
      {"swish of the negative", "n = Neg(x)\ns = Sigmoid(n)\ny = Mul(x, s)\n"},
  };
  return impostors;
}

bool SameClass(float want, float got) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got);
  if (std::isinf(want) || std::isinf(got)) return want == got;
  return std::abs(static_cast<double>(want) - got) <= 2e-6 * std::max(1.0, std::abs(static_cast<double>(want)));
}

// docs/decisions/0003-edges-of-activations.md: where oneDNN leaves the definition and is used all the same.
enum class Kernels : uint8_t { kAll, kAvx512, kNarrower };  // oneDNN's Gelu is another polynomial without AVX-512
struct Accepted {
  std::string_view name;  // how the case's name ends or what it contains
  float x, got;
  Kernels kernels = Kernels::kAll;
};
constexpr Accepted kAccepted[] = {
    {"Relu(x)", NAN, 0},
    {"Clip(x, c0)", NAN, 0},
    {"Clip(x, c0, c6)", NAN, 0},
    {"HardSigmoid(x)", NAN, 1},
    {"hard sigmoid", NAN, 1},
    {"Max(x, c3)", NAN, 3},
    {"Min(x, c3)", NAN, 3},
    {"Exp(x)", NAN, kInfinity},
    {"hard swish", kMost, kMost},
    {"Gelu(x)", kMost, kInfinity, Kernels::kAvx512},
    {"gelu", kMost, kInfinity, Kernels::kAvx512},
    {"gelu", kMost, kMost, Kernels::kNarrower},
};

bool IsOfThisProcessor(const Accepted& row) {
  const bool avx512 = onednn::MistakesInfinity(onednn::Eltwise(dnnl::algorithm::eltwise_gelu_erf));
  return row.kernels == Kernels::kAll || (row.kernels == Kernels::kAvx512) == avx512;
}

bool Same(float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// "op: x -> got, not want" for each edge at which the candidate leaves its definition.
std::set<std::string> Differences(const std::string& name, Lab& lab, const Candidate& candidate,
                                  std::set<size_t>* used = nullptr) {
  const Floats& x = lab.Expected(lab.graph().inputs()[0]);
  const Floats& want = lab.Expected(GroupOutputs(lab.graph(), candidate.nodes)[0]);
  const Floats got = lab.Run(candidate);
  std::set<std::string> differences;
  for (size_t i = 0; i < want.size(); ++i) {
    if (SameClass(want[i], got[i])) continue;
    const auto* accepted = std::find_if(std::begin(kAccepted), std::end(kAccepted), [&](const Accepted& row) {
      return IsOfThisProcessor(row) && name.find(row.name) != std::string::npos && Same(row.x, x[i]) &&
             Same(row.got, got[i]);
    });
    if (used != nullptr && accepted != std::end(kAccepted)) {
      used->insert(static_cast<size_t>(accepted - kAccepted));
      continue;
    }
    char text[200];
    std::snprintf(text, sizeof text, "%s: %g -> %g, not %g", name.c_str(), static_cast<double>(x[i]),
                  static_cast<double>(got[i]), static_cast<double>(want[i]));
    differences.insert(text);
  }
  return differences;
}

}  // namespace

TEST_CASE("Activation, EverySpellingIsKnown", "[backend]") {
  for (const Spelling& spelling : Spellings()) {
    INFO(spelling.name);
    const Graph graph = GraphOf(WithConstants(spelling.text));
    const auto found = Found(graph);
    REQUIRE(found);
    CHECK(found->result == graph.outputs()[0]);
    CHECK(found->nodes.size() == graph.nodes().size());
    CHECK(found->op.algorithm == spelling.algorithm);
    CHECK(std::abs(found->op.alpha - spelling.alpha) < 1e-6F);
  }
}

TEST_CASE("Activation, ImpostorsAreNotTakenForOne", "[backend]") {
  for (const auto& [name, text] : Impostors()) {
    INFO(name);
    const Graph graph = GraphOf(WithConstants(text));
    const auto found = Found(graph);
    CHECK(!(found && found->result == graph.outputs()[0]));
  }
}

// The wrong answer that comparing at points between -10 and 10 gave.
TEST_CASE("Activation, ImpostorsAreComputedRightEverywhere", "[backend]") {
  for (const auto& [name, text] : Impostors()) {
    INFO(name);
    Floats finite;
    for (float x : Edges()) {
      if (std::abs(x) <= 1e3F) finite.push_back(x);
    }
    Lab lab(GraphOf(WithConstants(text)), finite);
    for (const Candidate& candidate : lab.AllCandidates()) {
      INFO(lab.OperatorsOf(candidate));
      CHECK(Differences(name, lab, candidate) == std::set<std::string>());
    }
  }
}

TEST_CASE("Activation, EdgesOfFloatAreAsDefinedOrDecided", "[backend]") {
  std::vector<std::pair<std::string, std::string>> cases;
  for (const Spelling& spelling : Spellings()) cases.emplace_back(spelling.name, spelling.text);
  const char* const operators[] = {"Relu(x)",
                                   "LeakyRelu(x)",
                                   "LeakyRelu(x) alpha=-0.5",
                                   "Sigmoid(x)",
                                   "Tanh(x)",
                                   "Elu(x)",
                                   "Elu(x) alpha=2.0",
                                   "Selu(x)",
                                   "Celu(x)",
                                   "HardSigmoid(x)",
                                   "HardSwish(x)",
                                   "Swish(x)",
                                   "Swish(x) alpha=2.0",
                                   "Gelu(x)",
                                   "Gelu(x) approximate=\"tanh\"",
                                   "Mish(x)",
                                   "Exp(x)",
                                   "Sqrt(x)",
                                   "Abs(x)",
                                   "Neg(x)",
                                   "Round(x)",
                                   "Reciprocal(x)",
                                   "Clip(x)",
                                   "Clip(x, c0)",
                                   "Clip(x, c0, c6)",
                                   "Add(x, c3)",
                                   "Sub(c3, x)",
                                   "Mul(x, c3)",
                                   "Div(x, c3)",
                                   "Div(c3, x)",
                                   "Pow(x, c2)",
                                   "Pow(x, c3)",
                                   "Pow(x, half)",
                                   "Max(x, c3)",
                                   "Min(x, c3)"};
  for (const char* op : operators) cases.emplace_back(op, std::string("y = ") + op + "\n");
  // Alone, and as what follows a binary operation, a convolution that leaves each element as it is, and a product.
  const std::pair<std::string, std::string> starts[] = {
      {"", "input x float32[1,16,2,3]\n"},
      {"Mul + ", "input z float32[1,16,2,3]\nconst ones float32[1,16,2,3] value 1\nx = Mul(z, ones)\n"},
      {"Conv + ", "input z float32[1,16,2,3]\nconst ones float32[16,1,1,1] value 1\nx = Conv(z, ones) group=16\n"},
      {"MatMul + ", "input z float32[66,1]\nconst ones float32[1,1] value 1\nx = MatMul(z, ones)\n"}};
  std::set<std::string> differences;
  std::set<size_t> used;  // rows of kAccepted
  size_t compared = 0;
  for (const auto& [name, text] : cases) {
    for (const auto& [start, lines] : starts) {
      Lab lab(GraphOf(WithConstants(text, lines)), Edges());
      for (const Candidate& candidate : lab.AllCandidates()) {
        if (candidate.nodes.size() != lab.graph().nodes().size()) continue;
        ++compared;
        for (const std::string& line : Differences(start + name, lab, candidate, &used)) differences.insert(line);
      }
    }
  }
  CHECK(compared > 4 * cases.size());
  std::string text;
  for (const std::string& line : differences) text += line + "\n";
  INFO(text);
  CHECK(differences.empty());
  // The list can only shrink.
  CHECK(used.size() ==
        static_cast<size_t>(std::count_if(std::begin(kAccepted), std::end(kAccepted), IsOfThisProcessor)));
}

}  // namespace pt::onednn_lab::onednn_activation_test
