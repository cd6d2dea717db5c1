// DynamicQuantizeLSTM: an LSTM whose weights are integers, as ONNX Runtime's dynamic quantisation leaves it.
#include "lib/onnx/contrib/inference.h"
#include "lib/onnx/contrib/rewrite.h"

namespace pt::contrib {
namespace {

using A = proto::AttributeProto;

enum LstmInput { kSteps, kWeights, kRecurrence, kFirstOther, kWeightScale = 8, kRecurrenceScale = 10 };

// [directions, in, 4 · hidden] with a scale and a zero point a direction, or one a column; as LSTM has them.
Result<std::string> RealWeights(Rewrite& r, int weights, int scale) {
  const auto beside = [&](int input) -> Result<std::string> {
    PT_ASSIGN(const int64_t rank, r.NeedRank(r.in(input), "input " + std::to_string(input)));
    if (rank == 1) return r.Add("Unsqueeze", {r.in(input), r.AddInts({1, 2})});
    if (rank == 2) return r.Add("Unsqueeze", {r.in(input), r.AddInts({1})});
    return Rewrite::Invalid("input " + std::to_string(input) + " has " + std::to_string(rank) +
                            " dims; it needs one or two");
  };
  PT_ASSIGN(const int32_t type, r.NeedElementType(r.in(scale), "input " + std::to_string(scale)));
  PT_ASSIGN(const std::string scales, beside(scale));
  PT_ASSIGN(const std::string zeros, beside(scale + 1));
  const auto real = [&](const std::string& value) { return r.Add("Cast", {value}, {IntAttribute("to", type)}); };
  const std::string scaled = r.Add("Mul", {r.Add("Sub", {real(r.in(weights)), real(zeros)}), scales});
  return r.Add("Transpose", {scaled}, {IntsAttribute("perm", {0, 2, 1})});
}

// ONNX Runtime rounds what is multiplied with the weights to 8 bits, anew in every step; here that is not rounded.
Status DynamicQuantizeLstm(Rewrite& r) {
  PT_ASSIGN(const std::string weights, RealWeights(r, kWeights, kWeightScale));
  PT_ASSIGN(const std::string recurrence, RealWeights(r, kRecurrence, kRecurrenceScale));
  std::vector<std::string> inputs = {r.in(kSteps), weights, recurrence};
  for (int input = kFirstOther; input < kWeightScale; ++input) inputs.push_back(r.in(input));
  while (inputs.back().empty()) inputs.pop_back();
  r.FinishAll("LSTM", inputs,
              r.Copies({"activation_alpha", "activation_beta", "activations", "clip", "direction", "hidden_size",
                        "input_forget"}));
  return {};
}

void InferLstm(proto::InferenceContext& context) {
  for (size_t output = 0; output < 3; ++output) CopyElementType(context, output, 0);
  const InferenceDim directions = DimOf(context, kRecurrence, 0), hidden = DimOf(context, kRecurrence, 1);
  const InferenceDim batch = DimOf(context, kSteps, 1);
  SetShape(context, 0, {DimOf(context, kSteps, 0), directions, batch, hidden});
  SetShape(context, 1, {directions, batch, hidden});
  SetShape(context, 2, {directions, batch, hidden});
}

}  // namespace

std::vector<Row> QuantizedRecurrenceRows() {
  return {{"DynamicQuantizeLSTM",
           {"X", "W", "R", "B?", "sequence_lens?", "initial_h?", "initial_c?", "P?", "W_scale", "W_zero_point",
            "R_scale", "R_zero_point"},
           {"Y", "Y_h", "Y_c"},
           {{"activation_alpha", A::FLOATS},
            {"activation_beta", A::FLOATS},
            {"activations", A::STRINGS},
            {"clip", A::FLOAT},
            {"direction", A::STRING},
            {"hidden_size", A::INT},
            {"input_forget", A::INT}},
           InferLstm,
           DynamicQuantizeLstm}};
}

}  // namespace pt::contrib
