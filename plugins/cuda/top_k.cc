#include "plugins/cuda/top_k.h"

#include <algorithm>
#include <bit>

#include "partitiontuner/graph/operators/or_refuse.h"
#include "partitiontuner/graph/operators/reductions.h"
#include "plugins/cuda/element_kernel.h"

namespace pt::cuda {
namespace {

constexpr std::string_view kSort = "sort", kRanks = "ranks";

// A piece that is sorted in shared memory holds the best so far and as many new elements or more.
constexpr int64_t kMostPiece = 2048;
constexpr int64_t kMostKept = kMostPiece / 2;
// Ranks take as many comparisons as the line's length squared.
constexpr int64_t kMostRanked = 16384;
constexpr int64_t kMostLength = int64_t{1} << 30;
constexpr uint32_t kThreads = 256;

std::string N(int64_t n) { return std::to_string(n); }

struct TopK {
  const CudaOperand* x = nullptr;
  std::optional<size_t> values, places;              // outputs of the site
  int64_t length = 0, k = 0;                         // of a line, and how many are wanted
  int64_t step = 0, value_step = 0, place_step = 0;  // strides along the line
  std::vector<int64_t> lines;                        // the other dims, and strides of them
  std::vector<std::vector<int64_t>> strides;         // x, then values, then places
  bool largest = true;
};

Result<TopK> Read(const CudaSite& site) {
  const Node& node = site.node();
  TopK top;
  top.x = site.Input(0);
  if (site.nodes.size() != 1 || top.x == nullptr || top.x->constant != nullptr) {
    return site.Unsupported("its input is a constant");
  }
  const DataType type = top.x->type();
  if (!IsReal(type) && type != DataType::kInt32 && type != DataType::kInt64) {
    return site.Unsupported("it does not run on " + std::string(DataTypeName(type)));
  }
  // Roundings would change which of two elements is the greater.
  if (type != top.x->value_type) return site.Unsupported("its input is rounded");
  PT_ASSIGN(const TopKNode said, OrUnsupported(ReadTopK(node, site.graph.opset(), top.x->dims().size()), site));
  const size_t axis = said.axis;
  PT_ASSIGN(const auto k, site.Ints(1, "k"));
  if (!k || k->size() != 1) return site.Unsupported("its k is not a single number");
  top.k = k->front();
  top.length = top.x->dims()[axis];
  if (top.k < 0 || top.k > top.length || top.length > kMostLength) {
    return site.Unsupported("its k is outside the dim, or the dim too long");
  }
  top.largest = said.largest;
  std::vector<int64_t> expected = top.x->dims();
  expected[axis] = top.k;
  top.step = top.x->strides()[axis];
  const auto add = [&](const std::vector<int64_t>& strides) {
    top.strides.push_back(strides);
    top.strides.back().erase(top.strides.back().begin() + static_cast<ptrdiff_t>(axis));
  };
  top.lines = top.x->dims();
  top.lines.erase(top.lines.begin() + static_cast<ptrdiff_t>(axis));
  add(top.x->strides());
  for (size_t i = 0; i < site.out.size(); ++i) {
    const CudaOperand& out = site.out[i];
    const bool is_values = out.value == node.outputs[0];
    if (out.dims() != expected || out.type() != (is_values ? type : DataType::kInt64)) {
      return site.Unsupported("its results are of other types or dims");
    }
    (is_values ? top.values : top.places) = i;
    (is_values ? top.value_step : top.place_step) = out.strides()[axis];
    add(out.strides());
  }
  return top;
}

// Defines `before`: whether element a (a number and its place) comes before b. A place of kNone: no element, behind all
// others.
std::string Before(const TopK& top) {
  std::string text = "  typedef " + std::string(ComputeTypeOf(top.x->type())) +
                     " Number;\n  const int kNone = 0x7fffffff;\n"
                     "  const auto before = [](Number a, int at_a, Number b, int at_b) -> bool {\n"
                     "    if (at_a == kNone || at_b == kNone) return at_a < at_b;\n";
  if (IsReal(top.x->type())) {
    text += "    if (a != a && b != b) return at_a < at_b;\n    if (a != a || b != b) return " +
            std::string(top.largest ? "a != a" : "b != b") + ";\n";
  }
  return text + "    return a == b ? at_a < at_b : a " + (top.largest ? ">" : "<") + " b;\n  };\n";
}

// Statements that write the number and its place as the `rank`-th of the line.
std::string Store(const TopK& top, const IndexSpace& lines, const std::string& rank, const std::string& number,
                  const std::string& place) {
  std::string text;
  const auto store = [&](size_t out, int64_t step, const std::string& what) {
    text += "      out" + std::to_string(out) + "[" + lines.OffsetText(out + 1) + " + " + rank + " * (Index)" +
            N(step) + "] = " + what + ";\n";
  };
  if (top.values) store(*top.values, top.value_step, number);
  if (top.places) store(*top.places, top.place_step, place);
  return text;
}

IndexSpace LinesOf(const CudaSite& site, const TopK& top) {
  IndexSpace lines = IndexSpace::Whole(top.lines, top.strides);
  bool wide = IsWide(top.x->layout);
  for (const CudaOperand& out : site.out) wide = wide || IsWide(out.layout);
  if (wide) lines.Widen();
  return lines;
}

// Bitonic sorting: pairs at a distance that halves, in runs that double.
constexpr std::string_view kSortText = R"(
      for (int run = 2; run <= kPiece; run *= 2) {
        for (int apart = run / 2; apart > 0; apart /= 2) {
          __syncthreads();
          for (int i = threadIdx.x; i < kPiece / 2; i += blockDim.x) {
            const int a = 2 * i - (i & (apart - 1)), b = a + apart;
            const bool forward = (a & run) == 0;
            const bool turned = forward ? before(numbers[b], places[b], numbers[a], places[a])
                                        : before(numbers[a], places[a], numbers[b], places[b]);
            if (turned) {
              const Number number = numbers[a];
              numbers[a] = numbers[b];
              numbers[b] = number;
              const int place = places[a];
              places[a] = places[b];
              places[b] = place;
            }
          }
        }
      }
      __syncthreads();
)";

CudaRoutine SortLines(const CudaSite& site, const TopK& top) {
  const IndexSpace lines = LinesOf(site, top);
  const int64_t kept = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(top.k, 1))));
  const auto whole = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(top.length)));
  const int64_t piece = std::min(kMostPiece, whole);
  KernelText kernel;
  kernel.elements = lines.count();
  kernel.threads_an_element = static_cast<uint32_t>(std::clamp<int64_t>(piece / 2, 32, kThreads));
  const std::string x = "in0[" + lines.OffsetText(0);
  kernel.text =
      "extern \"C\" __global__ void pt_kernel(const Arguments arguments) {\n  typedef " +
      std::string(lines.index_type()) + " Index;\n" + OperandTexts(site) + Before(top) +
      "  const int kPiece = " + N(piece) + ", kKept = " + N(kept) + ", kLength = " + N(top.length) +
      ", kWanted = " + N(top.k) +
      ";\n  __shared__ Number numbers[kPiece];\n"
      "  __shared__ int places[kPiece];\n  for (Index line = blockIdx.x; line < " +
      N(lines.count()) + "; line += gridDim.x) {\n" + lines.CoordinatesText("line") +
      // The first piece is all new; of the others the front is what is best so far.
      "    int from = 0;\n    for (int start = 0; start < kLength; start += kPiece - from) {\n"
      "      from = start == 0 ? 0 : kKept;\n"
      "      for (int i = from + threadIdx.x; i < kPiece; i += blockDim.x) {\n        const int place = start + i - "
      "from;\n"
      "        places[i] = place < kLength ? place : kNone;\n        numbers[i] = place < kLength ? (Number)" +
      x + " + place * (Index)" + N(top.step) + "] : (Number)0;\n      }\n" + std::string(kSortText) +
      "    }\n    for (int i = threadIdx.x; i < kWanted; i += blockDim.x) {\n" +
      Store(top, lines, "i", "numbers[i]", "places[i]") + "    }\n    __syncthreads();\n  }\n}\n";
  return CudaRoutine{{std::move(kernel)}};
}

CudaRoutine CountRanks(const CudaSite& site, const TopK& top) {
  TopK elements = top;
  elements.lines.push_back(top.length);
  elements.strides[0].push_back(0);
  for (size_t t = 1; t < elements.strides.size(); ++t) elements.strides[t].push_back(0);
  const IndexSpace space = LinesOf(site, elements);
  const std::string x = "in0[" + space.OffsetText(0), place = "c" + std::to_string(top.lines.size()),
                    step = " * (Index)" + N(top.step) + "]";
  const std::string body =
      Before(top) + "    const Number mine = " + x + " + " + place + step +
      ";\n    Index rank = 0;\n    for (int k = 0; k < " + N(top.length) + "; ++k) {\n      const Number other = " + x +
      " + k" + step + ";\n      rank += before(other, k, mine, (int)" + place + ") ? 1 : 0;\n    }\n    if (rank < " +
      N(top.k) + ") {\n" + Store(top, space, "rank", "mine", place) + "    }\n";
  return CudaRoutine{{ElementKernel(site, space, body)}};
}

}  // namespace

bool IsTopK(const Node& node) { return node.domain.empty() && node.op == "TopK"; }

Result<std::vector<std::string>> TopKVariants(const CudaSite& site) {
  PT_ASSIGN(const TopK top, Read(site));
  std::vector<std::string> variants;
  if (top.k <= kMostKept || top.length <= kMostPiece) variants.emplace_back(kSort);
  if (top.length <= kMostRanked) variants.emplace_back(kRanks);
  if (variants.empty()) {
    return site.Unsupported("its k is above " + N(kMostKept) + ", and its lines are longer than " + N(kMostRanked));
  }
  return variants;
}

Result<CudaRoutine> MakeTopK(const CudaSite& site, std::string_view variant) {
  PT_ASSIGN(const TopK top, Read(site));
  if (top.k == 0 || std::ranges::find(top.lines, 0) != top.lines.end()) return CudaRoutine{};
  if (variant == kSort) return SortLines(site, top);
  if (variant == kRanks) return CountRanks(site, top);
  return site.Unsupported("there is no variant \"" + std::string(variant) + "\" of it");
}

}  // namespace pt::cuda
