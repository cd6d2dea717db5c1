#include "lib/onnx/einsum_inference.h"

#include <onnx/defs/shape_inference.h>

#include <map>
#include <vector>

#include "lib/onnx/einsum.h"

namespace pt {
namespace {

using Shape = proto::TensorShapeProto;
using Dim = proto::TensorShapeProto::Dimension;

bool IsOne(const Dim& dim) { return dim.has_dim_value() && dim.dim_value() == 1; }

// One dim that several operands have: one of 1 gives way, and a number says more than a name.
void Merge(const Dim& dim, Dim& merged) {
  if (IsOne(dim) || (merged.has_dim_value() && !IsOne(merged))) return;
  if (IsOne(merged) || dim.has_dim_value()) {
    merged = dim;
  } else if (merged.dim_param() != dim.dim_param()) {
    merged.Clear();
  }
}

// Over all operands.
class Dims {
 public:
  // `shape`: null when it is not known. False when it does not fit the term.
  bool Add(const EinsumTerm& term, const Shape* shape) {
    for (const char label : term.labels) ++uses_[label];
    if (shape == nullptr) {
      for (const char label : term.labels) AddLabel(label, Dim());
      ellipsis_known_ = ellipsis_known_ && !term.ellipsis;
      return true;
    }
    const auto rank = static_cast<size_t>(shape->dim_size()), own = term.labels.size();
    if (rank < own || (!term.ellipsis && rank != own)) return false;
    const size_t before = term.ellipsis.value_or(own), inside = rank - own;
    for (size_t d = 0; d < rank; ++d) {
      const Dim& dim = shape->dim(static_cast<int>(d));
      if (d < before) {
        AddLabel(term.labels[d], dim);
      } else if (d < before + inside) {
        AddToEllipsis(before + inside - 1 - d, dim);
      } else {
        AddLabel(term.labels[d - inside], dim);
      }
    }
    return true;
  }

  // Without an output the equation means all dims that the operands do not share.
  EinsumTerm Implied() const {
    EinsumTerm term{{}, 0};
    for (const auto& [label, count] : uses_) {
      if (count == 1) term.labels += label;
    }
    return term;
  }

  // False when it is not known how many dims there are.
  bool Write(const EinsumTerm& term, Shape& to) const {
    if (term.ellipsis && !ellipsis_known_) return false;
    for (size_t i = 0; i <= term.labels.size(); ++i) {
      if (term.ellipsis == i) {
        for (auto dim = ellipsis_.rbegin(); dim != ellipsis_.rend(); ++dim) *to.add_dim() = *dim;
      }
      if (i < term.labels.size()) *to.add_dim() = labels_.at(term.labels[i]);
    }
    return true;
  }

 private:
  void AddLabel(char label, const Dim& dim) {
    const auto [at, is_new] = labels_.emplace(label, dim);
    if (!is_new) Merge(dim, at->second);
  }
  void AddToEllipsis(size_t from_behind, const Dim& dim) {
    if (from_behind < ellipsis_.size()) return Merge(dim, ellipsis_[from_behind]);
    Dim one;
    one.set_dim_value(1);
    ellipsis_.resize(from_behind + 1, one);
    ellipsis_[from_behind] = dim;
  }

  std::map<char, Dim> labels_;
  std::map<char, int> uses_;
  std::vector<Dim> ellipsis_;  // the last first
  bool ellipsis_known_ = true;
};

}  // namespace

void InferEinsum(proto::InferenceContext& context) {
  const size_t operands = context.getNumInputs();
  const proto::AttributeProto* attribute = context.getAttribute("equation");
  if (operands == 0 || attribute == nullptr || !EinsumFault(attribute->s(), operands).empty()) return;
  const proto::TypeProto* first = context.getInputType(0);
  if (first == nullptr || !first->has_tensor_type()) return;
  context.getOutputType(0)->mutable_tensor_type()->set_elem_type(first->tensor_type().elem_type());

  const std::string_view equation = attribute->s();
  const size_t arrow = equation.find("->");
  std::string_view left = equation.substr(0, arrow);
  Dims dims;
  for (size_t i = 0; i < operands; ++i) {
    const auto term = ReadEinsumTerm(left);
    if (!left.empty()) left.remove_prefix(1);  // the comma
    const proto::TypeProto* type = context.getInputType(i);
    const bool known = type != nullptr && type->has_tensor_type() && type->tensor_type().has_shape();
    if (!term || !dims.Add(*term, known ? &type->tensor_type().shape() : nullptr)) return;
  }
  std::optional<EinsumTerm> made = dims.Implied();
  if (arrow != std::string_view::npos) {
    std::string_view right = equation.substr(arrow + 2);
    made = ReadEinsumTerm(right);
  }
  Shape shape;
  if (made && dims.Write(*made, shape)) *context.getOutputType(0)->mutable_tensor_type()->mutable_shape() = shape;
}

}  // namespace pt
