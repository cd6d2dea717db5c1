// The oneDNN library's candidates: right in every layout, on every width, in every group.
#include <algorithm>
#include <cmath>
#include <set>

#include "test/backend/onednn_lab.h"

namespace pt::onednn_lab::onednn_library_test {
namespace {

void CheckAll(std::string_view text, const std::set<std::string>& groups) {
  Lab lab(GraphOf(text));
  std::set<std::string> seen;
  for (const Candidate& candidate : lab.AllCandidates()) {
    const std::string operators = lab.OperatorsOf(candidate);
    seen.insert(operators);
    INFO(operators << " " << candidate.variant << " on " << lab.platform().unit_class(candidate.unit_class).name);
    CHECK(lab.Error(candidate, lab.Run(candidate)) < 2e-5);
  }
  for (const std::string& group : groups) {
    INFO(group);
    CHECK(seen.contains(group));
  }
}

std::set<std::string> LayoutsOf(const std::vector<Candidate>& candidates) {
  std::set<std::string> layouts;
  for (const Candidate& candidate : candidates) layouts.insert(ToString(candidate.out[0].layout));
  return layouts;
}

}  // namespace

TEST_CASE("OneDnn, ResidualBlockEqualsTheReferenceInEveryLayoutAndGroup", "[backend]") {
  CheckAll(
      R"(
input x float32[1,3,30,22]
const w1 float32[32,3,7,7] random 1
const b1 float32[32] random 2
const w2 float32[32,32,3,3] random 3
const w3 float32[20,32,1,1] random 4
a = Conv(x, w1, b1) pads=[3,3,3,3] strides=[2,2]
b = Relu(a)
c = MaxPool(b) kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]
d = Conv(c, w2) pads=[1,1,1,1]
e = Relu(d)
f = Conv(e, w2) pads=[1,1,1,1]
g = Add(f, c)
h = Relu(g)
i = Conv(h, w3)
j = Concat(i, h) axis=1
k = GlobalAveragePool(j)
output k
)",
      {"Conv", "Conv+Relu", "Conv+Add", "Conv+Add+Relu", "Add+Relu", "Relu", "MaxPool", "Concat", "GlobalAveragePool"});
}

TEST_CASE("OneDnn, GroupedDilatedAndUnevenlyPaddedConvolutions", "[backend]") {
  CheckAll(R"(
input x float32[2,20,13,9]
const w float32[24,5,3,3] random 7
const wd float32[24,1,3,3] random 2
const wt float32[24,6,4,4] random 5
const w1 float32[8,6,5] random 5
const wtg float32[24,2,3,3] random 6
a = Conv(x, w) pads=[1,2,1,0] group=4
b = Conv(a, wd) pads=[2,2,2,2] dilations=[2,2] group=24
c = ConvTranspose(b, wt) strides=[2,2] pads=[1,1,1,1]
d = Conv(a, wd) auto_pad="SAME_UPPER" strides=[2,2] group=24
e = ConvTranspose(d, wtg) strides=[2,3] output_padding=[1,0] group=3
input l float32[1,6,40]
f = Conv(l, w1) pads=[1,3] strides=[3]
input v float32[1,16,5,6,7]
const wv float32[16,16,3,3,3] random 8
g = Conv(v, wv) pads=[1,1,1,1,1,1]
output c
output e
output f
output g
)",
           {"Conv", "ConvTranspose"});
}

TEST_CASE("OneDnn, PostOperationsFollowConvolutionsAndProducts", "[backend]") {
  CheckAll(R"(
input x float32[1,32,9,11]
input r float32[1,32,9,11]
input se float32[1,32,1,1]
const w float32[32,32,3,3] random 7
const ch float32[32,1,1] random 9
const slope float32[32,1,1] random 3
const c0 float32[] value 0
const c3 float32[] value 3
const c6 float32[] value 6
const two float32[] value 2
a = Conv(x, w) pads=[1,1,1,1]
a1 = Add(a, ch)
a2 = Sigmoid(a1)
a3 = Mul(a1, a2)
a4 = Mul(a3, se)
b = Conv(x, w) pads=[1,1,1,1]
b1 = Add(b, c3)
b2 = Clip(b1, c0, c6)
b3 = Mul(b, b2)
b4 = Div(b3, c6)
b5 = Add(r, b4)
c = Conv(x, w) pads=[1,1,1,1]
c1 = PRelu(c, slope)
d = Conv(x, w) pads=[1,1,1,1]
d1 = Mul(d, two)
d2 = Sub(r, d1)
d3 = Tanh(d2)
output a4
output b5
output c1
output d3
)",
           {"Conv+Add", "Conv+Add+Sigmoid+Mul", "Conv+Add+Clip+Mul+Div", "Conv+Add+Clip+Mul+Div+Add", "Conv+Mul",
            "Conv+Mul+Sub", "Conv+Mul+Sub+Tanh"});
}

TEST_CASE("OneDnn, ProductsWithBatchesBroadcastingAndTransposes", "[backend]") {
  CheckAll(R"(
input x float32[2,3,7,16]
input y float32[2,3,16,5]
input z float32[3,16,5]
input q float32[7,16]
input m float32[1,1,1,5]
const w float32[16,24] random 1
const wt float32[24,16] random 2
const b float32[24] random 3
const bc float32[7,1] random 4
const row float32[16] random 5
a = MatMul(x, w)
a1 = Add(a, b)
a2 = Relu(a1)
c = MatMul(x, y)
c1 = Add(c, m)
d = MatMul(x, z)
e = Gemm(q, wt, b) transB=1 alpha=0.5 beta=2.0
f = Gemm(q, w, bc)
f1 = Sigmoid(f)
h = Gemm(q, wt, b) transB=1
h1 = Relu(h)
i = MatMul(q, row)
output a2
output c1
output d
output e
output f1
output h1
output i
)",
           {"MatMul", "MatMul+Add", "MatMul+Add+Relu", "Gemm", "Gemm+Relu"});
}

TEST_CASE("OneDnn, PoolingsReductionsNormalizationsAndMoves", "[backend]") {
  CheckAll(R"(
input x float32[2,24,13,9]
const s float32[24] random 1
const t float32[24] random 2
const mean float32[24] random 3
const var float32[24] value 0.7
const axes01 int64[2] ints 2 3
const axes1 int64[1] ints 1
const last int64[1] ints -1
const w float32[24,24,1,1] random 3
a = Conv(x, w)
b = AveragePool(a) kernel_shape=[3,3] pads=[1,1,1,1] strides=[2,2] count_include_pad=1
c = AveragePool(a) kernel_shape=[3,2] strides=[2,2] ceil_mode=1
d = MaxPool(a) kernel_shape=[2,2] strides=[2,2] ceil_mode=1 dilations=[2,1]
e = ReduceMean(a, axes01) keepdims=0
f = ReduceSum(a, axes1) keepdims=1
g = ReduceL2(a, last) keepdims=1
h = Softmax(a) axis=1
i = LogSoftmax(a) axis=-1
j = LRN(a) size=5 alpha=0.001 beta=0.75 bias=2.0
k = BatchNormalization(a, s, t, mean, var)
k1 = LeakyRelu(k) alpha=0.2
l = Transpose(a) perm=[0,2,3,1]
m = LayerNormalization(l, s, t) axis=-1
o = GlobalMaxPool(a)
output b
output c
output d
output e
output f
output g
output h
output i
output j
output k1
output m
output o
)",
           {"AveragePool", "MaxPool", "ReduceMean", "Softmax", "LogSoftmax", "LRN", "BatchNormalization",
            "BatchNormalization+LeakyRelu", "Transpose", "LayerNormalization", "GlobalMaxPool"});
}

// oneDNN has vectors for sums along the last dims of a large tensor, and loops over single elements for others.
TEST_CASE("OneDnn, ReductionsByPlainLoopsAreNotOffered", "[backend]") {
  const auto offers = [](const std::string& axis) {
    Lab lab(GraphOf("input x float32[8,64,1024]\nconst axis int64[1] ints " + axis +
                    "\ny = ReduceSum(x, axis)\noutput y\n"));
    return !lab.CandidatesOf("ReduceSum").empty();
  };
  CHECK_FALSE(offers("0"));
  CHECK_FALSE(offers("1"));
}

TEST_CASE("OneDnn, SoftmaxBeforeOperatorSet13IsOverAllDimsFromItsAxisOn", "[backend]") {
  const auto library = MakeOneDnnLibrary();
  const auto why = [&](const std::string& softmax) {
    const Graph graph = GraphOf("opset 12\ninput x float32[2,3,4]\ny = " + softmax + "\noutput y\n");
    return library->WhyUnsupported(graph, NodeId(0U));
  };
  CHECK(why("Softmax(x)").has_value());
  CHECK(why("LogSoftmax(x) axis=1").has_value());
  CHECK(why("Softmax(x) axis=3").has_value());
  CHECK_FALSE(why("Softmax(x) axis=2").has_value());
  CheckAll("opset 12\ninput x float32[2,3,4]\nr = Relu(x)\ny = LogSoftmax(r) axis=-1\noutput y\n",
           {"Relu", "LogSoftmax"});
}

TEST_CASE("OneDnn, ElementwiseOperatorsAndTheirChains", "[backend]") {
  CheckAll(R"(
input x float32[2,8,5,7]
input y float32[2,8,5,7]
input c float32[8,1,1]
const p float32[] value 3
const slope float32[8,1,1] random 3
a = Elu(x) alpha=0.7
b = Selu(a)
d = Abs(b)
e = Sqrt(d)
f = Exp(y)
g = Pow(e, p)
i = HardSigmoid(y)
j = HardSwish(y)
k = Gelu(y)
l = Gelu(y) approximate="tanh"
n = Div(p, f)
o = Max(x, y, c)
q = Min(o, p)
r = Sum(x, y, y)
s = PRelu(y, slope)
t = Neg(s)
u = Sub(c, y)
v = Round(y)
w = Mul(x, x)
z = Div(x, f)
aa = Reciprocal(f)
output g
output i
output j
output k
output l
output n
output q
output r
output t
output u
output v
output w
output z
output aa
)",
           {"Elu", "Elu+Selu", "Abs", "Sqrt", "Exp", "Pow", "HardSigmoid", "HardSwish", "Gelu", "Div", "Max", "Max+Min",
            "Sum", "PRelu", "Neg", "Sub", "Round", "Mul", "Reciprocal"});
}

TEST_CASE("OneDnn, ActivationsAreKnownHoweverTheyAreWritten", "[backend]") {
  CheckAll(
      R"(
input x float32[1,16,6,6]
const c0 float32[] value 0
const c1 float32[] value 1
const c3 float32[] value 3
const c6 float32[] value 6
const half float32[] value 0.5
const sixth float32[] value 0.16666667
const root float32[] value 1.4142135
const inverse float32[] value 0.70710677
a1 = Div(x, root)
a2 = Erf(a1)
a3 = Add(a2, c1)
a4 = Mul(x, a3)
a5 = Mul(a4, half)
b = Abs(x)
b1 = Mul(b, half)
b2 = Mul(b, inverse)
b3 = Erf(b2)
b4 = Add(c1, b3)
b5 = Mul(b1, b4)
d = Neg(x)
d1 = Add(d, c3)
d2 = Clip(d1, c0, c6)
d3 = Mul(d2, sixth)
d4 = Mul(d, d3)
e = Softplus(d4)
e1 = Tanh(e)
e2 = Mul(d4, e1)
output a5
output b5
output e2
)",
      {"Div+Erf+Add+Mul+Mul", "Mul+Mul+Erf+Add+Mul", "Neg+Add+Clip+Mul+Mul", "Softplus+Tanh+Mul"});
}

TEST_CASE("OneDnn, AnAlmostActivationIsNotTakenForOne", "[backend]") {
  Lab lab(GraphOf(R"(
input x float32[1,16,6,6]
const c0 float32[] value 0
const c3 float32[] value 3
const c5 float32[] value 5.9
const c6 float32[] value 6
a = Add(x, c3)
b = Clip(a, c0, c5)
c = Mul(x, b)
d = Div(c, c6)
output d
)"));
  // As a chain of four operations it may run, but x occurs twice in it, which only an activation
  // allows.
  for (const Candidate& candidate : lab.AllCandidates()) {
    INFO(lab.OperatorsOf(candidate));
    CHECK(lab.Error(candidate, lab.Run(candidate)) < 2e-5);
  }
}

TEST_CASE("OneDnn, ResizeIsOfferedOnlyWherePositionsAgree", "[backend]") {
  Lab lab(GraphOf(R"(
input x float32[1,16,5,6]
const none float32[0] zeros
const sizes int64[4] ints 1 16 10 12
const sizes3 int64[4] ints 1 16 15 9
a = Resize(x, none, none, sizes) mode="nearest" coordinate_transformation_mode="asymmetric" nearest_mode="floor"
b = Resize(x, none, none, sizes) mode="linear" coordinate_transformation_mode="half_pixel"
c = Resize(x, none, none, sizes) mode="linear" coordinate_transformation_mode="align_corners"
d = Resize(x, none, none, sizes) mode="nearest" coordinate_transformation_mode="half_pixel" nearest_mode="floor"
e = Resize(x, none, none, sizes3) mode="linear" coordinate_transformation_mode="pytorch_half_pixel"
f = Resize(x, none, none, sizes) mode="cubic"
output a
output b
output c
output d
output e
output f
)"));
  std::set<NodeId> offered;
  for (const Candidate& candidate : lab.CandidatesOf("Resize")) {
    offered.insert(candidate.nodes[0]);
    CHECK(lab.Error(candidate, lab.Run(candidate)) < 2e-5);
  }
  CHECK(offered == std::set<NodeId>{NodeId(0U), NodeId(1U), NodeId(4U)});
  CHECK(lab.library().WhyUnsupported(lab.graph(), NodeId(2U)) == "Resize: it samples at other positions than oneDNN");
}

TEST_CASE("OneDnn, ConvolutionsOfferBlockedAndChannelsLastLayouts", "[backend]") {
  Lab lab(GraphOf(R"(
input x float32[1,3,16,16]
const w1 float32[32,3,3,3] random 1
const w2 float32[32,32,3,3] random 2
a = Conv(x, w1) pads=[1,1,1,1]
b = Conv(a, w2) pads=[1,1,1,1]
c = Relu(b)
output c
)"));
  const std::set<std::string> relu = LayoutsOf(lab.CandidatesOf("Relu"));
  CHECK(relu.contains("abcd"));
  CHECK(relu.contains("acdb"));
  CHECK(relu.size() == 3);  // and the blocked layout that suits this processor
  const std::set<std::string> convolutions = LayoutsOf(lab.CandidatesOf("Conv+Relu"));
  CHECK(convolutions.contains("acdb"));
  CHECK_FALSE(convolutions.contains("abcd"));
}

TEST_CASE("OneDnn, SumPostOperationUsesUpItsOperand", "[backend]") {
  Lab lab(GraphOf(R"(
input x float32[1,32,8,8]
input r float32[1,32,8,8]
const w float32[32,32,3,3] random 2
a = Conv(x, w) pads=[1,1,1,1]
b = Add(r, a)
c = Conv(x, w) pads=[1,1,1,1]
d = Add(x, c)
output b
output d
)"));
  size_t sums = 0;
  for (const Candidate& candidate : lab.CandidatesOf("Conv+Add")) {
    const bool required = std::any_of(candidate.aliases.begin(), candidate.aliases.end(),
                                      [](const Alias& alias) { return alias.kind == Alias::Kind::kRequired; });
    CHECK(required == candidate.variant.ends_with("+sum"));
    if (!required) continue;
    ++sums;
    // Adding to its own input would overwrite what it still reads.
    CHECK(candidate.nodes[0] == NodeId(0U));
    CHECK(candidate.in[candidate.aliases[0].in] == candidate.out[0]);
  }
  CHECK(sums > 0);
}

// Of oneDNN 3.7: in place, two threads compute some elements twice.
TEST_CASE("OneDnn, PReluIsNotInPlace", "[backend]") {
  for (const char* slopes : {"8,9", "8,1", "1"}) {
    Lab lab(GraphOf("input x float32[1,8,9]\nconst s float32[" + std::string(slopes) +
                    "] random 2\ny = PRelu(x, s)\noutput y\n"));
    size_t count = 0;
    for (const Candidate& candidate : lab.AllCandidates()) {
      ++count;
      INFO(slopes << ": " << candidate.variant);
      CHECK(candidate.aliases.empty());
      CHECK(lab.Error(candidate, lab.Run(candidate)) < 2e-5);
    }
    CHECK(count > 0);
  }
}

TEST_CASE("OneDnn, PaddingOfBlocksIsWrittenAsZeros", "[backend]") {
  Lab lab(GraphOf(R"(
input x float32[1,16,4,4]
const w float32[20,16,1,1] random 2
const c float32[] value 1
a = Conv(x, w)
b = Exp(a)
d = Add(a, b)
e = Add(d, c)
output e
)"));
  size_t blocked = 0;
  for (const Candidate& candidate : lab.AllCandidates()) {
    if (candidate.out[0].layout.blocks.empty()) continue;
    ++blocked;
    INFO(lab.OperatorsOf(candidate) << " " << candidate.variant);
    std::vector<float> raw;
    const Floats got = lab.Run(candidate, 7.0F, &raw);
    CHECK(lab.Error(candidate, got) < 2e-5);
    const auto nonzero = std::count_if(raw.begin(), raw.end(), [](float f) { return f != 0; });
    const auto elements = std::count_if(got.begin(), got.end(), [](float f) { return f != 0; });
    CHECK(nonzero == elements);
  }
  CHECK(blocked > 0);
}

TEST_CASE("OneDnn, InPlaceGivesTheSameBits", "[backend]") {
  Lab lab(GraphOf(R"(
input x float32[1,16,9,9]
input y float32[1,16,9,9]
a = Add(x, y)
b = Tanh(a)
c = Mul(b, y)
d = Softmax(c) axis=1
output d
)"));
  for (const Candidate& candidate : lab.AllCandidates()) {
    const Floats apart = lab.Run(candidate);
    for (Alias& alias : const_cast<Candidate&>(candidate).aliases) {  // NOLINT
      Candidate in_place = candidate;
      CHECK(alias.kind == Alias::Kind::kAllowed);
      in_place.aliases = {{alias.out, alias.in, Alias::Kind::kRequired}};
      INFO(lab.OperatorsOf(candidate) << " input " << alias.in);
      CHECK(lab.Run(in_place) == apart);
    }
  }
}

TEST_CASE("OneDnn, TypedRefusalsNameTheOperatorAndTheReason", "[backend]") {
  const Graph graph = GraphOf(R"(
input x float32[1,16,9,9]
input n int64[4]
input u float32[1,batch,9,9]
a, i = MaxPool(x) kernel_shape=[2,2]
b = Add(n, n)
c = NonZero(x)
d = Relu(u)
e = LRN(x) size=4
output a
output i
output b
output c
output d
output e
)");
  const auto library = MakeOneDnnLibrary();
  CHECK(library->WhyUnsupported(graph, NodeId(0U)) == "MaxPool: output 1 is used");
  CHECK(library->WhyUnsupported(graph, NodeId(1U))->starts_with("Add: its inputs are not float32"));
  CHECK(library->WhyUnsupported(graph, NodeId(2U)) == "oneDNN library has no operator NonZero");
  CHECK(library->WhyUnsupported(graph, NodeId(3U))->starts_with("Relu:"));
  CHECK(library->WhyUnsupported(graph, NodeId(4U)) == "LRN: its size is not odd");
  CHECK(library->Candidates(graph, TwoCores(), Precision()).empty());
}

TEST_CASE("OneDnn, CandidatesForFindsEveryOfferedGroupAndNoOther", "[backend]") {
  Lab lab(GraphOf(R"(
input x float32[1,16,9,9]
const w float32[16,16,3,3] random 2
a = Conv(x, w) pads=[1,1,1,1]
b = Sigmoid(a)
c = Mul(a, b)
d = Add(c, x)
e = Relu(d)
f = MaxPool(e) kernel_shape=[2,2]
output f
)"));
  for (const Candidate& candidate : lab.AllCandidates()) {
    const auto found = lab.library().CandidatesFor(lab.graph(), lab.platform(), candidate.nodes, Precision());
    INFO(lab.OperatorsOf(candidate) << " " << candidate.variant);
    CHECK(std::any_of(found.begin(), found.end(), [&](const Candidate& other) {
      return other.variant == candidate.variant && other.unit_class == candidate.unit_class &&
             other.in == candidate.in && other.aliases == candidate.aliases;
    }));
  }
  const std::vector<NodeId> relu_and_pool{NodeId(4U), NodeId(5U)}, conv_and_mul{NodeId(0U), NodeId(2U)};
  CHECK(lab.library().CandidatesFor(lab.graph(), lab.platform(), relu_and_pool, Precision()).empty());
  CHECK(lab.library().CandidatesFor(lab.graph(), lab.platform(), conv_and_mul, Precision()).empty());
  CHECK(lab.library().CandidatesFor(lab.graph(), lab.platform(), {}, Precision()).empty());
}

TEST_CASE("OneDnn, AskingTwiceGivesTheSameCandidates", "[backend]") {
  const Graph graph = GraphOf(R"(
input x float32[1,16,9,9]
const w float32[16,16,3,3] random 2
a = Conv(x, w) pads=[1,1,1,1]
b = Add(a, x)
c = Relu(b)
output c
)");
  const auto library = MakeOneDnnLibrary(), other = MakeOneDnnLibrary();
  const auto first = library->Candidates(graph, TwoCores(), Precision());
  for (const auto& again :
       {library->Candidates(graph, TwoCores(), Precision()), other->Candidates(graph, TwoCores(), Precision())}) {
    REQUIRE(again.size() == first.size());
    for (size_t i = 0; i < first.size(); ++i) {
      CHECK(again[i].nodes == first[i].nodes);
      CHECK(again[i].variant == first[i].variant);
      CHECK(again[i].scratch_bytes == first[i].scratch_bytes);
    }
  }
}

TEST_CASE("OneDnn, ConcatIsSlicesOnlyWhereTheyAreContiguous", "[backend]") {
  Lab lab(GraphOf(R"(
input x float32[1,32,5,5]
const w float32[32,32,1,1] random 1
a = Conv(x, w)
b = Relu(a)
c = Concat(a, b) axis=1
d = Concat(a, b) axis=3
output c
output d
)"));
  for (const Candidate& candidate : lab.CandidatesOf("Concat")) {
    const std::string layout = ToString(candidate.out[0].layout);
    INFO(layout << " node " << candidate.nodes[0].value);
    CHECK((candidate.elision == Elision::kSlicesOfOutput) == (candidate.nodes[0] == NodeId(2U) && layout != "acdb"));
  }
}

TEST_CASE("OneDnn, TransposeThatMatchesTheLayoutMovesNothing", "[backend]") {
  Lab lab(GraphOf(R"(
input x float32[1,32,5,5]
const w float32[32,32,1,1] random 1
a = Conv(x, w)
b = Transpose(a) perm=[0,2,3,1]
output b
)"));
  for (const Candidate& candidate : lab.CandidatesOf("Transpose")) {
    INFO(candidate.variant);
    CHECK((candidate.elision == Elision::kViewOfInput) == (candidate.variant == "acdb>abcd"));
  }
}

// As in networks whose blocks end in products channels last, before a sum of images.
TEST_CASE("OneDnn, TransposeBeforeASumOfImagesMovesNothing", "[backend]") {
  Lab lab(GraphOf(R"(
input x float32[1,16,8,8]
input t float32[1,8,8,32]
const k float32[32,16,3,3] random 1
const l float32[16,32,3,3] random 2
a = Conv(x, k) pads=[1,1,1,1]
b = Transpose(t) perm=[0,3,1,2]
c = Add(a, b)
y = Conv(c, l) pads=[1,1,1,1]
output y
)"));
  std::set<std::string> views;
  for (const Candidate& candidate : lab.CandidatesOf("Transpose")) {
    if (candidate.elision == Elision::kViewOfInput) views.insert(candidate.variant);
  }
  CHECK(views == std::set<std::string>{"abcd>acdb"});
}

TEST_CASE("OneDnn, TransposesAroundProductsMoveNothing", "[backend]") {
  Lab lab(GraphOf(R"(
input q float32[1,7,2,16]
input k float32[1,7,2,16]
input v float32[1,7,2,16]
a = Transpose(q) perm=[0,2,1,3]
b = Transpose(k) perm=[0,2,3,1]
c = Transpose(v) perm=[0,2,1,3]
s = MatMul(a, b)
o = MatMul(s, c)
y = Transpose(o) perm=[0,2,1,3]
output y
)"));
  std::set<std::string> variants, views;
  for (const Candidate& candidate : lab.CandidatesOf("MatMul")) variants.insert(candidate.variant);
  CHECK(variants ==
        std::set<std::string>{"abcd>abcd", "acbd,adbc>abcd", "abcd,acbd>abcd", "abcd,abcd>acbd", "abcd,acbd>acbd"});
  for (const Candidate& candidate : lab.CandidatesOf("Transpose")) {
    if (candidate.elision == Elision::kViewOfInput) views.insert(candidate.variant);
  }
  CHECK(views == std::set<std::string>{"abcd>acbd", "abcd>adbc", "acbd>abcd"});
}

}  // namespace pt::onednn_lab::onednn_library_test
