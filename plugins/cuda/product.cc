#include "plugins/cuda/product.h"

#include <algorithm>
#include <cstdint>

#include "partitiontuner/graph/operators/elementwise.h"
#include "partitiontuner/graph/operators/gemm.h"
#include "partitiontuner/graph/operators/windows.h"
#include "partitiontuner/graph/uses.h"
#include "plugins/cuda/index_space.h"

namespace pt::cuda {
namespace {

bool Is(const Node& node, std::string_view op) { return node.domain.empty() && node.op == op; }

// A bound for what a step launches.
constexpr int64_t kMostCalls = 64;

// The last two dims as a matrix; their inner stride must be 1.
Result<Matrix> MatrixOf(const CudaSite& site, const TensorLayout& layout) {
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

// [batch, channels, spatial...] as a matrix for each image, a row a channel.
Result<Matrix> ImageOf(const CudaSite& site, const TensorLayout& image) {
  const std::vector<int64_t>&dims = image.dims, &strides = image.strides;
  Matrix matrix{dims[1], 1, 0, strides[0], false};
  for (size_t d = dims.size(); d-- > 2; matrix.columns *= dims[d]) {
    if (dims[d] > 1 && strides[d] != matrix.columns) return site.Unsupported("a channel does not lie in one piece");
  }
  // The stride of a single row is never used, but must be one that a matrix can have.
  matrix.row_stride = matrix.rows > 1 ? strides[1] : std::max<int64_t>(matrix.columns, 1);
  if (matrix.row_stride < matrix.columns) return site.Unsupported("the channels of an image overlap");
  return matrix;
}

// [batch, channels, spatial...] with channels last as a matrix for each image, a row a place.
Result<Matrix> PlacesOf(const CudaSite& site, const TensorLayout& image) {
  const std::vector<int64_t>&dims = image.dims, &strides = image.strides;
  if (dims[1] > 1 && strides[1] != 1) return site.Unsupported("the channels of a place do not lie in one piece");
  // The stride of a single row is never used, but must be one that a matrix can have.
  Matrix matrix{1, dims[1], std::max<int64_t>(dims[1], 1), strides[0], false};
  for (size_t d = dims.size(); d-- > 2; matrix.rows *= dims[d]) {
    if (dims[d] <= 1) continue;
    if (matrix.rows == 1) matrix.row_stride = strides[d];
    if (strides[d] != matrix.rows * matrix.row_stride) return site.Unsupported("an image does not lie in one piece");
  }
  if (matrix.row_stride < matrix.columns) return site.Unsupported("the places of an image overlap");
  return matrix;
}

// Builds the product from the site's nodes.
class ProductMaker {
 public:
  explicit ProductMaker(const CudaSite& site) : site_(site) {}

  Result<Product> Make() {
    PT_CHECK_OK(CheckTypes());
    if (site_.out.size() != 1) return site_.Unsupported("something else reads what is within the group");
    if (IsPointwise(site_.graph, site_.node())) return MakePointwise();
    const bool matmul = Is(site_.node(), "MatMul");
    if (!matmul && !Is(site_.node(), "Gemm")) return site_.Unsupported("it is not a product");
    PT_ASSIGN(const CudaOperand* a, Need(0));
    PT_ASSIGN(const CudaOperand* b, Need(1));
    product_.a_input = IndexOf(a);
    product_.b_input = IndexOf(b);
    TensorLayout left = a->layout, right = b->layout, result = out().layout;
    if (matmul) {
      PT_CHECK_OK(MakeMatrices(left, right, result));
    }
    PT_ASSIGN(product_.a, MatrixOf(site_, left));
    PT_ASSIGN(product_.b, MatrixOf(site_, right));
    PT_ASSIGN(product_.result, MatrixOf(site_, result));
    PT_CHECK_OK(matmul ? MakeBatches(left, right, result) : TakeGemm());
    const int64_t inner = product_.a.transposed ? product_.a.rows : product_.a.columns;
    if (inner == 0) return site_.Unsupported("its inner dim is 0");
    return Finish();
  }

 private:
  const CudaOperand& out() const { return site_.out.front(); }
  uint32_t IndexOf(const CudaOperand* operand) const { return static_cast<uint32_t>(operand - site_.in.data()); }

  // Filters [out channels, channels] times each image [channels, places], or, where channels lie last, each image
  // [places, channels] times the filters the other way round.
  Result<Product> MakePointwise() {
    PT_ASSIGN(const CudaOperand* x, Need(0));
    PT_ASSIGN(const CudaOperand* w, Need(1));
    if (!IsDense(w->layout)) return site_.Unsupported("its filters have gaps");
    if (w->dims()[1] == 0) return site_.Unsupported("its inner dim is 0");
    is_pointwise_ = true;
    channels_last_ = out().layout.layout == ChannelsLast(out().dims().size());
    const Matrix filters = {w->dims()[0], w->dims()[1], w->dims()[1], 0, channels_last_};
    PT_ASSIGN(const Matrix image, MatrixOfImage(x->layout));
    PT_ASSIGN(product_.result, MatrixOfImage(out().layout));
    product_.a_input = IndexOf(channels_last_ ? x : w);
    product_.b_input = IndexOf(channels_last_ ? w : x);
    product_.a = channels_last_ ? image : filters;
    product_.b = channels_last_ ? filters : image;
    if (ChannelsOf(image) != filters.columns || ChannelsOf(product_.result) != filters.rows ||
        PlacesIn(image) != PlacesIn(product_.result)) {
      return site_.Unsupported("its filters do not fit its image");
    }
    product_.batch = x->dims()[0];
    if (product_.batch > INT32_MAX) return site_.Unsupported("it has more images than cuBLASLt counts");
    if (const CudaOperand* const bias = site_.Input(2); bias != nullptr) PT_CHECK_OK(TakeImage(*bias, bias->dims()));
    return Finish();
  }

  Result<Matrix> MatrixOfImage(const TensorLayout& image) const {
    return channels_last_ ? PlacesOf(site_, image) : ImageOf(site_, image);
  }
  int64_t ChannelsOf(const Matrix& image) const { return channels_last_ ? image.columns : image.rows; }
  int64_t PlacesIn(const Matrix& image) const { return channels_last_ ? image.rows : image.columns; }

  Result<Product> Finish() {
    PT_CHECK_OK(TakeFollowers());
    if (channels_last_) FoldBatches();
    for (const uint32_t factor : {product_.a_input, product_.b_input}) {
      const bool added = product_.bias_input == factor || product_.added_input == factor;
      if (added && product_.factor_type != product_.result_type) {
        return site_.Unsupported("one tensor is factor and summand, which differ in type");
      }
    }
    return product_;
  }

  Result<const CudaOperand*> Need(size_t input) const {
    const CudaOperand* const operand = site_.Input(input);
    if (operand == nullptr) return site_.Unsupported("an input is missing");
    return operand;
  }

  // Factors are stored alike, and so is the result with what is added. Constants are brought to that.
  Status CheckTypes() {
    product_.result_type = site_.out.empty() ? DataType::kFloat32 : site_.out[0].type();
    product_.factor_type = DataType::kUndefined;
    for (const CudaOperand& operand : site_.in) {
      if (!IsReal(operand.type()) || operand.value_type != site_.in[0].value_type) {
        return site_.Unsupported("it is not of float32, float16 or bfloat16 alone");
      }
      if (operand.constant != nullptr) continue;
      const bool factor = operand.value == site_.node().inputs[0] || operand.value == site_.node().inputs[1];
      if (factor && product_.factor_type == DataType::kUndefined) product_.factor_type = operand.type();
      if (factor && product_.factor_type != operand.type()) return site_.Unsupported("its factors differ in type");
      const auto is_added = [&](ValueId value) { return value == operand.value; };
      const bool first_adds = site_.node().inputs.size() > 2 && is_added(site_.node().inputs[2]);
      const bool added = first_adds || std::any_of(site_.nodes.begin() + 1, site_.nodes.end(), [&](NodeId id) {
                           return std::ranges::any_of(site_.graph.node(id).inputs, is_added);
                         });
      if (added && operand.type() != product_.result_type) return site_.Unsupported("what is added is of another type");
    }
    const bool lone = product_.factor_type == product_.result_type;
    const bool widened = IsReal(product_.factor_type) && product_.result_type == DataType::kFloat32;
    return lone || widened ? Status() : site_.Unsupported("its result is of another type than its factors");
  }

  // A list counts as a matrix of one row, or of one column; the result has a dim less then.
  Status MakeMatrices(TensorLayout& a, TensorLayout& b, TensorLayout& result) const {
    const auto insert = [](TensorLayout& layout, size_t at, int64_t stride) {
      layout.dims.insert(layout.dims.begin() + static_cast<ptrdiff_t>(at), 1);
      layout.strides.insert(layout.strides.begin() + static_cast<ptrdiff_t>(at), stride);
    };
    if (a.dims.empty() || b.dims.empty()) return site_.Unsupported("a factor is a scalar");
    const bool row = a.dims.size() == 1, column = b.dims.size() == 1;
    if ((row || column) && site_.nodes.size() > 1) return site_.Unsupported("nothing can follow a product of a list");
    if (column) {
      insert(b, 1, 1);
      insert(result, result.dims.size(), 1);
    }
    if (row) {
      insert(a, 0, a.dims[0]);
      insert(result, result.dims.size() - 1, std::max<int64_t>(result.dims.back(), 1));
    }
    return {};
  }

  // What is added to images: a tensor of the result's dims, or a number a channel; `by_channel` are dims that say so.
  Status TakeImage(const CudaOperand& operand, const std::vector<int64_t>& by_channel) {
    if (operand.dims() == out().dims() && !product_.added_input) {
      PT_ASSIGN(product_.added, MatrixOfImage(operand.layout));
      product_.added_input = IndexOf(&operand);
      product_.beta = 1;
      return {};
    }
    const bool fits = !by_channel.empty() && by_channel.front() == ChannelsOf(product_.result) &&
                      std::all_of(by_channel.begin() + 1, by_channel.end(), [](int64_t dim) { return dim == 1; });
    if (!fits || product_.bias_input)
      return site_.Unsupported("what is added is neither a tensor nor a number a channel");
    if (!channels_last_)
      return site_.Unsupported("a number a channel is added to images whose channels do not lie last");
    if (!IsDense(operand.layout)) return site_.Unsupported("the bias does not lie in one piece");
    product_.bias_input = IndexOf(&operand);
    return {};
  }
  // [1, C, 1, 1] or [C, 1, 1], from the channels on.
  std::vector<int64_t> FromChannels(const CudaOperand& operand) const {
    const size_t rank = out().dims().size();
    std::vector<int64_t> dims = operand.dims();
    if (dims.size() == rank && dims.front() == 1) dims.erase(dims.begin());
    return dims.size() + 1 == rank ? dims : std::vector<int64_t>();
  }

  // Leading dims that broadcast. Where b is one matrix for all of a's, a's rows lie behind each other: one product.
  Status MakeBatches(const TensorLayout& a, const TensorLayout& b, const TensorLayout& result) {
    const TensorLayout leading = LeadingDims(result);
    const auto a_strides = BroadcastStrides(LeadingDims(a), leading.dims);
    const auto b_strides = BroadcastStrides(LeadingDims(b), leading.dims);
    if (!a_strides || !b_strides) return site_.Unsupported("its leading dims do not fit");
    const IndexSpace space(leading.dims, {*a_strides, *b_strides, leading.strides});
    if (space.dims().empty() || space.count() == 0) {
      product_.batch = space.count();
      return {};
    }
    // The longest dim goes into a batch, each element of the others is a call of its own.
    const size_t inner = static_cast<size_t>(std::ranges::max_element(space.dims()) - space.dims().begin());
    product_.batch = space.dims()[inner];
    product_.a.batch_stride = space.stride(0, inner);
    product_.b.batch_stride = space.stride(1, inner);
    product_.result.batch_stride = space.stride(2, inner);
    PT_CHECK_OK(MakeCalls(space, inner));
    FoldBatches();
    if (product_.batch <= INT32_MAX) return {};
    return site_.Unsupported("it is " + std::to_string(product_.batch) + " products, and cuBLASLt counts in 32 bits");
  }

  Status MakeCalls(const IndexSpace& space, size_t inner) {
    std::vector<int64_t> dims;
    std::vector<std::vector<int64_t>> strides(3);
    for (size_t d = 0; d < space.dims().size(); ++d) {
      if (d == inner) continue;
      dims.push_back(space.dims()[d]);
      for (size_t t = 0; t < 3; ++t) strides[t].push_back(space.stride(t, d));
    }
    const IndexSpace others(dims, std::move(strides));
    if (others.count() > kMostCalls) {
      return site_.Unsupported("its matrices do not lie at even distances, and it would be " +
                               std::to_string(others.count()) + " products");
    }
    product_.calls.clear();
    for (int64_t i = 0; i < others.count(); ++i) {
      product_.calls.push_back({others.OffsetAt(0, i), others.OffsetAt(1, i), others.OffsetAt(2, i)});
    }
    return {};
  }

  void FoldBatches() {
    const auto continues = [](const Matrix& m) { return m.batch_stride == m.rows * m.row_stride; };
    if (product_.b.batch_stride != 0 || !continues(product_.a) || !continues(product_.result)) return;
    if (product_.added_input && !continues(product_.added)) return;
    for (Matrix* const matrix : {&product_.a, &product_.result, &product_.added}) {
      matrix->rows *= product_.batch;
      matrix->batch_stride = 0;
    }
    product_.batch = 1;
  }

  Status TakeGemm() {
    const GemmNode gemm = ReadGemm(site_.node());
    product_.a.transposed = gemm.transpose_a;
    product_.b.transposed = gemm.transpose_b;
    product_.alpha = gemm.alpha;
    const CudaOperand* const c = site_.Input(2);
    if (c == nullptr || gemm.beta == 0.0F) return {};
    return TakeSum(*c, gemm.beta);
  }

  // What is added to every row, or to the whole result.
  Status TakeSum(const CudaOperand& operand, float beta) {
    if (product_.bias_input || product_.added_input) return site_.Unsupported("more than one thing is added");
    const std::vector<int64_t>& dims = operand.dims();
    if (dims == out().dims() && product_.calls.size() == 1 && (dims.size() == 2 || product_.batch == 1)) {
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
      if (!continues || product_.activation != ProductActivation::kNone) {
        return site_.Unsupported("its nodes are not a product with an Add and an activation");
      }
      if (Is(node, "Relu")) {
        product_.activation = ProductActivation::kRelu;
      } else if (Is(node, "Gelu") && IsGelu(node, GeluForm::kTanh)) {
        product_.activation = ProductActivation::kGelu;
      } else if (Is(node, "Add")) {
        const ValueId other = node.inputs[0] == last ? node.inputs[1] : node.inputs[0];
        const std::optional<uint32_t> at = site_.FindInput(other);
        if (!at) return site_.Unsupported("what is added is made within the group");
        const CudaOperand& added = site_.in[*at];
        PT_CHECK_OK(is_pointwise_ ? TakeImage(added, FromChannels(added)) : TakeSum(added, 1.0F));
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

  const CudaSite& site_;
  Product product_;
  bool is_pointwise_ = false, channels_last_ = false;
};

}  // namespace

bool IsPointwise(const Graph& graph, const Node& node) {
  if (!Is(node, "Conv") || node.outputs.size() != 1) return false;
  const std::vector<Dim>& x = graph.value(node.inputs[0]).type.dims;
  const auto w = graph.value(node.inputs[1]).type.static_dims();
  if (!w || w->size() != x.size() || w->size() < 3 || ReadConvolutionGroups(node) != 1) return false;
  const Result<WindowNode> window = ReadWindowNode(node, w->size() - 2);
  const auto is = [](int64_t wanted) { return [wanted](int64_t n) { return n == wanted; }; };
  return window.ok() && std::ranges::all_of(window->strides, is(1)) && std::ranges::all_of(window->pads, is(0)) &&
         std::all_of(w->begin() + 2, w->end(), is(1));
}

Result<Product> MakeProduct(const CudaSite& site) { return ProductMaker(site).Make(); }

std::vector<std::vector<NodeId>> ProductGroups(const Graph& graph) {
  std::vector<std::vector<NodeId>> groups;
  for (uint32_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& first = graph.node(NodeId(n));
    const bool pointwise = IsPointwise(graph, first);
    if (!Is(first, "MatMul") && !Is(first, "Gemm") && !pointwise) continue;
    const size_t most = pointwise ? 4 : 3;  // a bias and a tensor are two Adds
    std::vector<NodeId> nodes = {NodeId(n)};
    while (nodes.size() < most) {
      const NodeId next = OnlyReader(graph, graph.node(nodes.back()).outputs[0]);
      if (!next.valid()) break;
      const Node& node = graph.node(next);
      if (!Is(node, "Add") && !Is(node, "Relu") && !Is(node, "Gelu")) break;
      nodes.push_back(next);
      groups.push_back(nodes);
    }
  }
  return groups;
}

}  // namespace pt::cuda
