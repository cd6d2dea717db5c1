// oneDNN's recurrent operators where the conformance suite does not go: values at the edges, refusals, tensors that lie
// as slices.
#include <cmath>
#include <limits>

#include "test/backend/onednn_lab.h"

namespace pt::onednn_lab {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::string Refusal(const std::string& text) {
  Lab lab(GraphOf(text));
  CHECK(lab.AllCandidates().empty());
  return lab.library().WhyUnsupported(lab.graph(), NodeId(0U)).value_or("");
}

}  // namespace

// Gates saturate to the same values, and what is no number stays none.
TEST_CASE("OneDnn, RecurrentGatesSaturateLikeTheReference", "[backend]") {
  const Floats edges{0.0F,   -0.0F,   1e-30F, -1e-30F, 0.5F, -5.0F, 20.0F, -20.0F,
                     100.0F, -100.0F, 1e30F,  -1e30F,  kInf, -kInf, kNan,  1.0F};
  for (const char* node : {"LSTM(x, w4, r4)", "GRU(x, w3, r3)", "GRU(x, w3, r3) linear_before_reset=1",
                           "RNN(x, w1, r1)", "RNN(x, w1, r1) activations=[\"Relu\"]"}) {
    INFO(node);
    Lab lab(GraphOf("input x float32[16,1,1]\nconst w4 float32[1,76,1] ones\nconst r4 float32[1,76,19] zeros\n"
                    "const w3 float32[1,57,1] ones\nconst r3 float32[1,57,19] zeros\n"
                    "const w1 float32[1,19,1] ones\nconst r1 float32[1,19,19] zeros\ny = " +
                    std::string(node) + " hidden_size=19\noutput y\n"),
            edges);
    const std::vector<Candidate> candidates = lab.AllCandidates();
    REQUIRE(candidates.size() == 2);
    for (const Candidate& candidate : candidates) {
      const Floats got = lab.Run(candidate, 7.0F);
      const Floats& want = lab.Expected(GroupOutputs(lab.graph(), candidate.nodes)[0]);
      for (size_t i = 0; i < got.size(); ++i) {
        INFO("element " << i << " of step " << i / 19 << ": " << got[i] << " instead of " << want[i]);
        const bool same = std::isfinite(want[i])
                              ? std::abs(got[i] - want[i]) <= 2e-6F * std::max(1.0F, std::abs(want[i]))
                          : std::isnan(want[i]) ? std::isnan(got[i])
                                                : got[i] == want[i];
        CHECK(same);
      }
    }
  }
}

TEST_CASE("OneDnn, RecurrentOperatorsThatItCannotExpressAreRefusedWithTheReason", "[backend]") {
  const std::string head =
      "input x float32[5,2,3]\nconst w float32[1,16,3] random 1\nconst r float32[1,16,4] random 2\n";
  const std::string tail = " hidden_size=4\noutput y\n";
  CHECK(Refusal(head + "y = LSTM(x, w, r) clip=3.0" + tail) == "LSTM: it clips");
  CHECK(Refusal(head + "y = LSTM(x, w, r) input_forget=1" + tail) == "LSTM: it couples the input and forget gates");
  CHECK(Refusal(head + "y = LSTM(x, w, r) activations=[\"Sigmoid\",\"Tanh\",\"Relu\"]" + tail) ==
        "LSTM: activation Relu is not the usual one");
  CHECK(Refusal(head + "const l int32[2] ints 5 3\ny = LSTM(x, w, r, _, l)" + tail) ==
        "LSTM: sequence_lens holds other lengths than the full one");
  CHECK(Refusal(head + "input b float32[1,32]\ny = LSTM(x, w, r, b)" + tail) == "LSTM: B is not constant");
  CHECK(Refusal("input x float32[5,2,3]\ninput w float32[1,16,3]\nconst r float32[1,16,4] random 2\n"
                "y = LSTM(x, w, r) hidden_size=4\noutput y\n") == "LSTM: W is not constant");
  CHECK(Refusal("input x float32[0,2,3]\nconst w float32[1,16,3] random 1\nconst r float32[1,16,4] random 2\n"
                "y = LSTM(x, w, r) hidden_size=4\noutput y\n") == "LSTM: a dim is zero or too large");
}

}  // namespace pt::onednn_lab
