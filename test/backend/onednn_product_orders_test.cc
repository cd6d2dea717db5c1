// Products of stacks of matrices over every order of the dims of one of the three tensors, with gaps and without, over
// dims of one and batches that broadcast: what the library compiles must be right. Each begins with another order,
// since oneDNN's cache of primitives takes descriptors for equal that differ in strides of dims of one: the first of
// them answers for all.
#include <algorithm>
#include <cmath>

#include "test/backend/onednn_lab.h"

namespace pt::onednn_lab::onednn_product_orders_test {
namespace {

// A tensor within one that is twice as long along the dim `gap`; none where that is its rank.
TensorLayout Lying(const std::vector<int64_t>& dims, const Layout& order, size_t gap) {
  std::vector<int64_t> whole = dims;
  if (gap < dims.size()) whole[gap] *= 2;
  TensorLayout layout = DenseLayout(DataType::kFloat32, whole, order).value();
  layout.dims = dims;
  return layout;
}

std::vector<Layout> OrdersOf(size_t rank) {
  std::vector<Layout> orders;
  Layout layout = RowMajor(rank);
  do {
    orders.push_back(layout);
  } while (std::next_permutation(layout.order.begin(), layout.order.end()));
  return orders;
}

struct Outcome {
  int right = 0, refused = 0;
};

class ProductLab {
 public:
  ProductLab(const std::vector<int64_t>& a, const std::vector<int64_t>& b)
      : lab_(GraphOf("input a float32" + DimsText(a) + "\ninput b float32" + DimsText(b) +
                     "\ny = MatMul(a, b)\noutput y\n")) {
    values_ = {lab_.graph().inputs()[0], lab_.graph().inputs()[1], lab_.graph().outputs()[0]};
    candidate_ = lab_.CandidatesOf("MatMul").at(0);
  }

  std::vector<int64_t> DimsOf(size_t tensor) const { return *lab_.graph().value(values_[tensor]).type.static_dims(); }

  // One of left side, right side and result lies so, the others row-major.
  void Check(size_t tensor, const Layout& order, size_t gap, Outcome& outcome) {
    std::vector<TensorLayout> layouts;
    for (size_t t = 0; t < values_.size(); ++t) {
      const std::vector<int64_t> dims = DimsOf(t);
      layouts.push_back(t == tensor ? Lying(dims, order, gap) : Lying(dims, RowMajor(dims.size()), dims.size()));
    }
    for (size_t t = 0; t < 2; ++t) candidate_.in[t].layout = layouts[t].layout;
    candidate_.out[0].layout = layouts[2].layout;
    ThreadTeam team(1);
    CompileContext compile = lab_.context(team);
    const std::span<const TensorLayout> all(layouts);
    auto kernel = lab_.library().Compile(lab_.graph(), candidate_, all.first(2), all.subspan(2), compile);
    if (!kernel.ok()) {
      ++outcome.refused;
      return;
    }
    Buffer a(lab_.device(), layouts[0]), b(lab_.device(), layouts[1]), y(lab_.device(), layouts[2], kFiller);
    a.Set(lab_.Expected(values_[0]));
    b.Set(lab_.Expected(values_[1]));
    const std::vector<TensorView> views = {a.view(), b.view()};
    auto bound = (*kernel)->Bind(SlotsOf(views), SlotsOf({&y.view(), 1}), {});
    REQUIRE(bound.ok());
    const auto stream = MakeHostStream(team);
    REQUIRE((*bound)->Enqueue(StaticRun(*stream)).ok());
    const Floats got = y.Get();
    INFO("tensor " << tensor << " lies " << ToString(order) << ", gap " << gap);
    CHECK(lab_.Error(candidate_, got) < 1e-5);
    y.Set(Floats(got.size(), kFiller));
    const uint64_t elements = BytesOf(layouts[2]).value() / sizeof(float);
    CHECK(std::all_of(y.floats(), y.floats() + elements, [](float x) { return x == kFiller; }));
    ++outcome.right;
  }

 private:
  static constexpr float kFiller = -77;

  static std::string DimsText(const std::vector<int64_t>& dims) {
    std::string text;
    for (const int64_t dim : dims) text += (text.empty() ? "[" : ",") + std::to_string(dim);
    return text + "]";
  }

  Lab lab_;
  std::vector<ValueId> values_;
  Candidate candidate_;
};

// The batches of the right side: each as on the left side, or one.
std::vector<std::vector<int64_t>> RightBatches(const std::vector<int64_t>& a) {
  std::vector<std::vector<int64_t>> all = {{}};
  for (size_t d = 0; d + 2 < a.size(); ++d) {
    const size_t count = all.size();
    for (size_t i = 0; i < count; ++i) {
      if (a[d] != 1) all.push_back(all[i]);
      if (a[d] != 1) all.back().push_back(1);
      all[i].push_back(a[d]);
    }
  }
  return all;
}

Outcome CheckOrders(size_t rank, const std::vector<int64_t>& sizes, bool every_gap) {
  const std::vector<Layout> orders = OrdersOf(rank);
  Outcome outcome;
  size_t labs = 0;
  for (size_t number = 0; number < static_cast<size_t>(std::pow(sizes.size(), rank + 1)); ++number) {
    std::vector<int64_t> a;
    size_t rest = number;
    for (size_t d = 0; d < rank; ++d, rest /= sizes.size()) a.push_back(sizes[rest % sizes.size()]);
    for (std::vector<int64_t> b : RightBatches(a)) {
      b.insert(b.end(), {a.back(), sizes[rest]});
      ProductLab lab(a, b);
      CAPTURE(a, b);
      for (size_t tensor = 0; tensor < 3; ++tensor) {
        for (size_t i = 0; i < orders.size(); ++i) {
          const Layout& order = orders[(i + labs * 7) % orders.size()];
          lab.Check(tensor, order, rank, outcome);
          for (size_t gap = 0; gap < rank; ++gap) {
            if (every_gap || gap == (i + labs) % rank) lab.Check(tensor, order, gap, outcome);
          }
        }
        ++labs;
      }
    }
  }
  return outcome;
}

}  // namespace

TEST_CASE("OneDnn, ProductsOfStacksAreRightInEveryOrder", "[backend]") {
  for (const size_t rank : {2, 3, 4}) {
    const Outcome outcome = rank < 4 ? CheckOrders(rank, {1, 2, 3}, true) : CheckOrders(rank, {1, 2}, false);
    CAPTURE(rank, outcome.right, outcome.refused);
    CHECK(outcome.right > outcome.refused);
  }
}

TEST_CASE("OneDnn, ProductsOfStacksAreRightInEveryOrderAndWithEveryGap", "[.nightly]") {
  for (const size_t rank : {2, 3, 4}) CheckOrders(rank, {1, 2, 3}, true);
}

}  // namespace pt::onednn_lab::onednn_product_orders_test
