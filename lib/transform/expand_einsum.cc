// Einsum as the products that it stands for: labels of one input alone are summed first; then inputs are multiplied two
// by two, those first that come to the least, by MatMul where labels are summed and by Mul elsewhere. What libraries
// have for these is much faster than any loop over all labels.
#include <algorithm>
#include <map>
#include <set>

#include "lib/transform/edit.h"
#include "lib/transform/pass_list.h"
#include "partitiontuner/graph/operators/einsum.h"
#include "partitiontuner/support/checked.h"

namespace pt {
namespace {

using Labels = std::string;  // as EinsumNode has them

struct Term {
  ValueId value;
  Labels labels;
};

bool IsRepeated(const Labels& labels) { return std::set<char>(labels.begin(), labels.end()).size() != labels.size(); }

Labels Where(const Labels& labels, auto&& wanted) {
  Labels found;
  std::ranges::copy_if(labels, std::back_inserter(found), wanted);
  return found;
}

bool Has(const Labels& labels, char label) { return labels.find(label) != Labels::npos; }

// The order of products is sought among all pairs, each time anew.
constexpr size_t kMostInputs = 26;

class EinsumExpander {
 public:
  EinsumExpander(GraphBuilder& builder, const Graph& graph, NodeId id)
      : builder_(builder), graph_(graph), id_(id), node_(graph.node(id)) {}

  // False, and nothing changed, where the node is left as it is.
  bool Expand() {
    if (!Read()) return false;
    for (size_t i = 0; i < terms_.size(); ++i) SumAlone(i);
    while (terms_.size() > 1) MultiplyTwo();
    const ValueId ordered = Permuted(terms_[0].value, terms_[0].labels, output_);
    Node last;
    last.op = "Identity";
    last.inputs = {ordered};
    last.outputs = node_.outputs;
    builder_.RemoveNode(id_);
    Add(std::move(last));
    return true;
  }

 private:
  bool Read() {
    if (node_.inputs.size() > kMostInputs) return false;
    std::vector<size_t> ranks;
    for (const ValueId input : node_.inputs) {
      const ValueType& type = graph_.value(input).type;
      if (type.type != DataType::kFloat32 || !type.is_static()) return false;
      ranks.push_back(type.dims.size());
    }
    const Result<EinsumNode> einsum = ReadEinsum(node_, ranks);
    if (!einsum.ok() || IsRepeated(einsum->output)) return false;
    output_ = einsum->output;
    for (size_t i = 0; i < node_.inputs.size(); ++i) {
      const Labels& labels = einsum->inputs[i];
      if (IsRepeated(labels)) return false;
      const std::vector<int64_t> dims = *graph_.value(node_.inputs[i]).type.static_dims();
      for (size_t d = 0; d < dims.size(); ++d) {
        const auto [at, is_new] = sizes_.emplace(labels[d], dims[d]);
        if (dims[d] < 1 || at->second != dims[d]) return false;  // dims of one that are repeated among them
      }
      terms_.push_back({node_.inputs[i], labels});
    }
    if (!std::ranges::all_of(output_, [&](char label) { return sizes_.contains(label); })) return false;
    Labels all;
    for (const auto& [label, size] : sizes_) all += label;
    return CheckedProduct(DimsOf(all)).has_value();  // no part of it overflows either
  }

  std::vector<int64_t> DimsOf(const Labels& labels) const {
    std::vector<int64_t> dims;
    for (const char label : labels) dims.push_back(sizes_.at(label));
    return dims;
  }
  int64_t SizeOf(const Labels& labels) const { return *CheckedProduct(DimsOf(labels)); }

  // Of the result, or of a term other than these two.
  bool IsNeeded(char label, size_t i, size_t j) const {
    if (Has(output_, label)) return true;
    for (size_t k = 0; k < terms_.size(); ++k) {
      if (k != i && k != j && Has(terms_[k].labels, label)) return true;
    }
    return false;
  }

  void Add(Node node) {
    node.source = node_.source;
    builder_.AddNode(std::move(node));
  }
  ValueId NewValue(const std::vector<int64_t>& dims) {
    return builder_.AddValue("", StaticType(DataType::kFloat32, dims));
  }
  ValueId AddOp(std::string op, std::vector<ValueId> inputs, const std::vector<int64_t>& dims,
                std::map<std::string, Attribute, std::less<>> attributes = {}) {
    Node node;
    node.op = std::move(op);
    node.inputs = std::move(inputs);
    node.outputs = {NewValue(dims)};
    node.attributes = std::move(attributes);
    const ValueId made = node.outputs[0];
    Add(std::move(node));
    return made;
  }

  ValueId Reshaped(ValueId value, const std::vector<int64_t>& from, const std::vector<int64_t>& to) {
    if (from == to) return value;
    const ValueId made = NewValue(to);
    builder_.node(AddReshape(builder_, value, made)).source = node_.source;
    return made;
  }
  // The same labels in another order.
  ValueId Permuted(ValueId value, const Labels& from, const Labels& to) {
    if (from == to) return value;
    std::vector<int64_t> perm;
    for (const char label : to) perm.push_back(static_cast<int64_t>(from.find(label)));
    return AddOp("Transpose", {value}, DimsOf(to), {{"perm", std::move(perm)}});
  }

  void SumAlone(size_t i) {
    Term& term = terms_[i];
    const Labels kept = Where(term.labels, [&](char label) { return IsNeeded(label, i, i); });
    if (kept == term.labels) return;
    std::vector<int64_t> axes;
    for (size_t d = 0; d < term.labels.size(); ++d) {
      if (!Has(kept, term.labels[d])) axes.push_back(static_cast<int64_t>(d));
    }
    std::vector<ValueId> inputs = {term.value};
    std::map<std::string, Attribute, std::less<>> attributes = {{"keepdims", int64_t{0}}};
    if (graph_.opset() >= 13) {
      inputs.push_back(builder_.AddConstant("", Tensor::Int64({static_cast<int64_t>(axes.size())}, axes)));
    } else {
      attributes.emplace("axes", axes);
    }
    term = {AddOp("ReduceSum", std::move(inputs), DimsOf(kept), std::move(attributes)), kept};
  }

  // What the product of two terms has: labels of either that something else needs, the first one's first.
  Labels ProductLabels(size_t i, size_t j) const {
    const Labels &a = terms_[i].labels, &b = terms_[j].labels;
    return Where(a + Where(b, [&](char label) { return !Has(a, label); }),
                 [&](char label) { return IsNeeded(label, i, j); });
  }

  void MultiplyTwo() {
    size_t first = 0, second = 1;
    for (size_t i = 0; i < terms_.size(); ++i) {
      for (size_t j = i + 1; j < terms_.size(); ++j) {
        if (SizeOf(ProductLabels(i, j)) < SizeOf(ProductLabels(first, second)))
          std::tie(first, second) = std::pair(i, j);
      }
    }
    const Labels &a = terms_[first].labels, &b = terms_[second].labels;
    const Labels summed = Where(a, [&](char label) { return Has(b, label) && !IsNeeded(label, first, second); });
    const Term product = summed.empty() ? Multiplied(first, second) : Contracted(first, second, summed);
    terms_.erase(terms_.begin() + static_cast<std::ptrdiff_t>(second));
    terms_[first] = product;
  }

  // Element by element, each term repeated along the labels that it lacks.
  Term Multiplied(size_t i, size_t j) {
    const Labels labels = terms_.size() == 2 ? output_ : ProductLabels(i, j);
    std::vector<ValueId> inputs;
    for (const Term& term : {terms_[i], terms_[j]}) {
      const Labels own = Where(labels, [&](char label) { return Has(term.labels, label); });
      std::vector<int64_t> dims;
      for (const char label : labels) dims.push_back(Has(own, label) ? sizes_.at(label) : 1);
      inputs.push_back(Reshaped(Permuted(term.value, term.labels, own), DimsOf(own), dims));
    }
    return {AddOp("Mul", std::move(inputs), DimsOf(labels)), labels};
  }

  // Matrices, one for each combination of the labels that both have and the product as well.
  Term Contracted(size_t i, size_t j, const Labels& summed) {
    const auto is_kept = [&](char label) { return !Has(summed, label); };
    Term a = terms_[i], b = terms_[j];
    const auto only = [&](const Term& one, const Term& other) {
      return Where(one.labels, [&](char label) { return !Has(other.labels, label); });
    };
    const Labels batch = Where(Where(a.labels, is_kept), [&](char label) { return Has(b.labels, label); });
    const Labels from_b = only(b, a);
    const Labels rest = Where(output_, [&](char label) { return !Has(batch, label); });
    if (!rest.empty() && Has(from_b, rest[0])) std::swap(a, b);  // the product's rows are the result's
    const Labels rows = only(a, b), columns = only(b, a);
    const auto dims_of = [&](const Labels& x, const Labels& y) {
      std::vector<int64_t> dims = {SizeOf(x), SizeOf(y)};
      if (!batch.empty()) dims.insert(dims.begin(), SizeOf(batch));
      return dims;
    };
    const Labels left = batch + rows + summed, right = batch + summed + columns, made = batch + rows + columns;
    const ValueId x = Reshaped(Permuted(a.value, a.labels, left), DimsOf(left), dims_of(rows, summed));
    const ValueId y = Reshaped(Permuted(b.value, b.labels, right), DimsOf(right), dims_of(summed, columns));
    const std::vector<int64_t> dims = dims_of(rows, columns);
    return {Reshaped(AddOp("MatMul", {x, y}, dims), dims, DimsOf(made)), made};
  }

  GraphBuilder& builder_;
  const Graph& graph_;
  const NodeId id_;
  const Node& node_;
  Labels output_;
  std::map<char, int64_t> sizes_;
  std::vector<Term> terms_;
};

}  // namespace

Result<std::optional<Graph>> ExpandEinsum(const Graph& graph, const PassContext&) {
  GraphBuilder builder(graph);
  bool changed = false;
  for (uint32_t n = 0; n < graph.nodes().size(); ++n) {
    if (IsOp(graph.node(NodeId(n)), "Einsum")) changed = EinsumExpander(builder, graph, NodeId(n)).Expand() || changed;
  }
  return BuildIfChanged(builder, changed);
}

}  // namespace pt
