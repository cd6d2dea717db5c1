// DynamicQuantizeLSTM: an LSTM whose weights are integers, as ONNX Runtime's dynamic quantisation leaves it.
#include "lib/onnx/contrib/inference.h"
#include "lib/onnx/contrib/rewrite.h"

namespace pt::contrib {
namespace {

using A = proto::AttributeProto;

enum LstmInput { kSteps, kRecurrence = 2, kWeightScale = 8, kRecurrenceScale = 10 };

// No operators of ONNX say it: what is multiplied with the weights is rounded to 8 bits, in every step anew.
Status DynamicQuantizeLstm(Rewrite& r) {
  for (const int scale : {kWeightScale, kRecurrenceScale}) {
    for (const int input : {scale, scale + 1}) {
      PT_ASSIGN(const int64_t rank, r.NeedRank(r.in(input), "input " + std::to_string(input)));
      if (rank == 1 || rank == 2) continue;
      return Rewrite::Invalid("input " + std::to_string(input) + " has " + std::to_string(rank) +
                              " dims; it needs one or two");
    }
  }
  r.Keep();
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
