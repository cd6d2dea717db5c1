// Gelu in its forms.
#include "lib/onnx/contrib/inference.h"
#include "lib/onnx/contrib/rewrite.h"

namespace pt::contrib {
namespace {

using A = proto::AttributeProto;

Status Gelu(Rewrite& r) {
  r.Finish(0, "Gelu", {r.in(0)});
  return {};
}

// ONNX Runtime's kernels take a bias of one dim, that of X's last. Add would take more.
Result<std::string> Biased(Rewrite& r) {
  const auto rank = r.rank(r.in(1)), length = r.dim(r.in(1), 0), columns = r.dim(r.in(0), -1);
  if (rank && *rank != 1) return Rewrite::Invalid("its bias has " + std::to_string(*rank) + " dims; it needs one");
  if (length && columns && *length != *columns) {
    return Rewrite::Invalid("its bias has " + std::to_string(*length) +
                            " elements where the last dim of its input is " + std::to_string(*columns));
  }
  return r.Add("Add", {r.in(0), r.in(1)});
}

Status BiasGelu(Rewrite& r) {
  PT_ASSIGN(const std::string x, Biased(r));
  r.Finish(0, "Gelu", {x});
  return {};
}

// Of 16 bits ONNX Runtime has no kernel: there it runs the operator's definition, whose Add broadcasts.
Status FastGelu(Rewrite& r) {
  std::string x = r.in(0);
  if (r.has(1)) {
    const auto type = r.element_type(x);
    if (type == proto::TensorProto::FLOAT16 || type == proto::TensorProto::BFLOAT16) {
      x = r.Add("Add", {x, r.in(1)});
    } else {
      PT_ASSIGN(x, Biased(r));
    }
  }
  r.Finish(0, "Gelu", {x}, {TextAttribute("approximate", "tanh")});
  return {};
}

// x · sigmoid(alpha · x), of operators that have fast kernels; Swish has none.
Status QuickGelu(Rewrite& r) {
  PT_ASSIGN(const int32_t type, r.NeedElementType(r.in(0), "X"));
  const std::string scaled = r.Add("Mul", {r.in(0), r.AddScalar(type, r.Float("alpha", 1.702F))});
  r.Finish(0, "Mul", {r.in(0), r.Add("Sigmoid", {scaled})});
  return {};
}

}  // namespace

std::vector<Row> ActivationRows() {
  return {
      {"BiasGelu", {"A", "B"}, {"C"}, {}, LikeFirst, BiasGelu},
      {"FastGelu", {"X", "bias?"}, {"Y"}, {}, LikeFirst, FastGelu},
      {"Gelu", {"X"}, {"Y"}, {}, LikeFirst, Gelu},
      {"QuickGelu", {"X"}, {"Y"}, {{"alpha", A::FLOAT}}, LikeFirst, QuickGelu},
  };
}

}  // namespace pt::contrib
