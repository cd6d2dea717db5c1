#include "plugins/cuda/product.h"

#include <algorithm>
#include <cstdint>

#include "partitiontuner/graph/uses.h"
#include "plugins/cuda/index_space.h"

namespace pt::cuda {
namespace {

bool Is(const Node& node, std::string_view op) { return node.domain.empty() && node.op == op; }

// The last two dims as a matrix; their inner stride must be 1.
Result<Matrix> MatrixOf(const Site& site, const TensorLayout& layout) {
  const size_t rank = layout.dims.size();
  if (rank < 2) return site.Unsupported("a matrix has less than two dims");
  Matrix matrix;
  matrix.rows = layout.dims[rank - 2];
  matrix.columns = layout.dims[rank - 1];
  if (layout.strides[rank - 1] != 1 && matrix.columns > 1) return site.Unsupported("a row does not lie in one piece");
  // The stride of a single row is never used, but must be one that a matrix can have.
  matrix.row_stride = matrix.rows > 1 ? layout.strides[rank - 2] : std::max<int64_t>(matrix.columns, 1);
  if (matrix.row_stride < matrix.columns) return site.Unsupported("the rows of a matrix overlap");
  return matrix;
}

TensorLayout LeadingDims(const TensorLayout& layout) {
  TensorLayout leading;
  leading.type = layout.type;
  leading.dims.assign(layout.dims.begin(), layout.dims.end() - 2);
  leading.strides.assign(layout.strides.begin(), layout.strides.end() - 2);
  return leading;
}

// Builds the product from the site's nodes.
class ProductMaker {
 public:
  explicit ProductMaker(const Site& site) : site_(site) {}

  Result<Product> Make() {
    for (const Operand& operand : site_.in) {
      if (operand.type() != DataType::kFloat32) return site_.Unsupported("it is not of float32");
    }
    if (site_.out.size() != 1) return site_.Unsupported("something else reads what is within the group");
    PT_ASSIGN(const Operand* a, Need(0));
    PT_ASSIGN(const Operand* b, Need(1));
    PT_ASSIGN(product_.a, MatrixOf(site_, a->layout));
    PT_ASSIGN(product_.b, MatrixOf(site_, b->layout));
    PT_ASSIGN(product_.result, MatrixOf(site_, out().layout));
    product_.a_input = IndexOf(a);
    product_.b_input = IndexOf(b);
    if (Is(site_.node(), "MatMul")) {
      PT_CHECK_OK(MakeBatches(a->layout, b->layout));
    } else if (Is(site_.node(), "Gemm")) {
      PT_CHECK_OK(TakeGemm());
    } else {
      return site_.Unsupported("it is no product");
    }
    const int64_t inner = product_.a.transposed ? product_.a.rows : product_.a.columns;
    if (inner == 0) return site_.Unsupported("its inner dim is 0");
    PT_CHECK_OK(TakeFollowers());
    return product_;
  }

 private:
  const Operand& out() const { return site_.out.front(); }
  uint32_t IndexOf(const Operand* operand) const { return static_cast<uint32_t>(operand - site_.in.data()); }

  Result<const Operand*> Need(size_t input) const {
    const Operand* const operand = site_.Input(input);
    if (operand == nullptr) return site_.Unsupported("an input is missing");
    return operand;
  }

  // Leading dims that broadcast. Where b is one matrix for all of a's, a's rows lie behind each other: one product.
  Status MakeBatches(const TensorLayout& a, const TensorLayout& b) {
    const TensorLayout leading = LeadingDims(out().layout);
    const auto a_strides = BroadcastStrides(LeadingDims(a), leading.dims);
    const auto b_strides = BroadcastStrides(LeadingDims(b), leading.dims);
    if (!a_strides || !b_strides) return site_.Unsupported("its leading dims do not fit");
    const IndexSpace space(leading.dims, {*a_strides, *b_strides, leading.strides});
    if (space.dims().size() > 1) return site_.Unsupported("its matrices do not lie at even distances");
    product_.batch = space.count();
    if (product_.batch <= 1) return {};
    product_.a.batch_stride = space.stride(0, 0);
    product_.b.batch_stride = space.stride(1, 0);
    product_.result.batch_stride = space.stride(2, 0);
    FoldBatches();
    if (product_.batch <= INT32_MAX) return {};
    return site_.Unsupported("it is " + std::to_string(product_.batch) + " products, and cuBLASLt counts in 32 bits");
  }

  void FoldBatches() {
    const auto continues = [](const Matrix& m) { return m.batch_stride == m.rows * m.row_stride; };
    if (product_.b.batch_stride != 0 || !continues(product_.a) || !continues(product_.result)) return;
    product_.a.rows *= product_.batch;
    product_.result.rows *= product_.batch;
    product_.a.batch_stride = product_.result.batch_stride = 0;
    product_.batch = 1;
  }

  Status TakeGemm() {
    const Node& node = site_.node();
    product_.a.transposed = node.int_or("transA", 0) != 0;
    product_.b.transposed = node.int_or("transB", 0) != 0;
    product_.alpha = node.float_or("alpha", 1.0F);
    const float beta = node.float_or("beta", 1.0F);
    const Operand* const c = site_.Input(2);
    if (c == nullptr || beta == 0.0F) return {};
    return TakeSum(*c, beta);
  }

  // What is added to every row, or to the whole result.
  Status TakeSum(const Operand& operand, float beta) {
    if (product_.bias_input || product_.added_input) return site_.Unsupported("more than one thing is added");
    const std::vector<int64_t>& dims = operand.dims();
    if (dims == out().dims() && (dims.size() == 2 || product_.batch == 1)) {
      PT_ASSIGN(product_.added, MatrixOf(site_, operand.layout));
      // Several matrices as one: only where what is added lies like that as well.
      if (product_.added.rows != product_.result.rows && !IsDense(operand.layout)) {
        return site_.Unsupported("what is added does not lie in one piece");
      }
      product_.added.rows = product_.result.rows;
      product_.added_input = IndexOf(&operand);
      product_.beta = beta;
      return {};
    }
    const bool row = !dims.empty() && dims.back() == product_.result.columns &&
                     std::all_of(dims.begin(), dims.end() - 1, [](int64_t dim) { return dim == 1; }) &&
                     dims.size() <= out().dims().size();
    if (!row || beta != 1.0F) return site_.Unsupported("what is added is neither a row nor the whole result");
    if (dims.back() > 1 && operand.strides().back() != 1)
      return site_.Unsupported("the bias does not lie in one piece");
    product_.bias_input = IndexOf(&operand);
    return {};
  }

  Status TakeFollowers() {
    ValueId last = site_.node().outputs[0];
    for (size_t n = 1; n < site_.nodes.size(); ++n) {
      const Node& node = site_.graph.node(site_.nodes[n]);
      const bool continues = std::ranges::find(node.inputs, last) != node.inputs.end();
      if (!continues || product_.relu) return site_.Unsupported("its nodes are no product with an Add and a Relu");
      if (Is(node, "Relu")) {
        product_.relu = true;
      } else if (Is(node, "Add")) {
        const ValueId other = node.inputs[0] == last ? node.inputs[1] : node.inputs[0];
        const std::optional<uint32_t> at = site_.FindInput(other);
        if (!at) return site_.Unsupported("what is added is made within the group");
        PT_CHECK_OK(TakeSum(site_.in[*at], 1.0F));
      } else {
        return site_.Unsupported("it cannot be followed by " + node.op);
      }
      last = node.outputs[0];
      if (site_.graph.value(last).type.static_dims() != site_.graph.value(site_.node().outputs[0]).type.static_dims()) {
        return site_.Unsupported("what is added makes the result larger");
      }
    }
    return last == out().value ? Status() : site_.Unsupported("its last node does not make the result");
  }

  const Site& site_;
  Product product_;
};

}  // namespace

Result<Product> MakeProduct(const Site& site) { return ProductMaker(site).Make(); }

std::vector<std::vector<NodeId>> ProductGroups(const Graph& graph) {
  std::vector<std::vector<NodeId>> groups;
  for (uint32_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& first = graph.node(NodeId(n));
    if (!Is(first, "MatMul") && !Is(first, "Gemm")) continue;
    std::vector<NodeId> nodes = {NodeId(n)};
    while (nodes.size() < 3) {
      const NodeId next = OnlyReader(graph, graph.node(nodes.back()).outputs[0]);
      if (!next.valid() || (!Is(graph.node(next), "Add") && !Is(graph.node(next), "Relu"))) break;
      nodes.push_back(next);
      groups.push_back(nodes);
    }
  }
  return groups;
}

}  // namespace pt::cuda
