// QuantizeLinear and DequantizeLinear with scales by blocks, and DynamicQuantizeLinear. Scales for whole tensors or
// along an axis are elementwise: expression.cc.
#include <algorithm>
#include <array>

#include "partitiontuner/graph/linear_quantisation.h"
#include "partitiontuner/graph/operators/axis.h"
#include "partitiontuner/graph/operators/or_refuse.h"
#include "plugins/cuda/element_kernel.h"
#include "plugins/cuda/expression.h"
#include "plugins/cuda/operators.h"
#include "plugins/cuda/quantisation.h"

namespace pt::cuda {
namespace {

std::string N(int64_t n) { return std::to_string(n); }

// How many indices of the axis share a scale. The same as the reference library's, which takes the fewest that fit
// where the node does not say.
Result<int64_t> BlockSize(const CudaSite& site, const CudaOperand& x, const CudaOperand& scale, size_t axis) {
  const int64_t dim = x.dims()[axis], blocks = scale.dims()[axis];
  if (blocks < 1) return site.Unsupported("its scale does not fit its input");
  const int64_t given = ReadBlockSize(site.node());
  const int64_t size = std::max<int64_t>(given > 0 ? given : (dim + blocks - 1) / blocks, 1);
  std::vector<int64_t> expected = x.dims();
  expected[axis] = (dim + size - 1) / size;
  if (scale.dims() != expected) return site.Unsupported("its scale does not fit its input");
  return size;
}

// Where the scale or zero point of the element at c0, c1, … lies.
std::string ParameterText(const CudaSite& site, const CudaOperand& parameter, size_t axis, int64_t block) {
  std::string text = site.NameOf(parameter) + "[0";
  for (size_t d = 0; d < parameter.dims().size(); ++d) {
    const std::string at = "c" + N(static_cast<int64_t>(d)) + (d == axis ? " / " + N(block) : "");
    text += " + " + at + " * " + N(parameter.strides()[d]);
  }
  return text + "]";
}

Result<CudaRoutine> ByBlocks(const CudaSite& site, const CudaOperand& x, const CudaOperand& scale) {
  const CudaOperand& y = site.out[0];
  const CudaOperand* const zero = site.Input(2);
  const bool to_integers = IsQuantisation(site.node());
  const CudaOperand &integers = to_integers ? y : x, &reals = to_integers ? x : y;
  const bool known = to_integers ? IsQuantised(integers.type()) : IsDequantisable(integers.type());
  if (!known || !(IsReal(reals.type()) || (to_integers && x.type() == DataType::kInt32)) || !IsReal(scale.type())) {
    return site.Unsupported("it does not run from " + std::string(DataTypeName(x.type())) + " to " +
                            std::string(DataTypeName(y.type())));
  }
  if (y.dims() != x.dims() || scale.dims().size() != x.dims().size()) {
    return site.Unsupported("its scale does not fit its input");
  }
  PT_ASSIGN(const size_t axis, OrUnsupported(ReadAxis(site.node(), site.graph.opset(), x.dims().size()), site));
  PT_ASSIGN(const int64_t block, BlockSize(site, x, scale, axis));
  if (zero != nullptr && (zero->type() != integers.type() || zero->dims() != scale.dims())) {
    return site.Unsupported("its zero point does not fit its scale");
  }
  const IndexSpace space = IndexSpace::Whole(y.dims(), {x.strides(), y.strides()});
  const std::string element = site.NameOf(x) + "[" + space.OffsetText(0) + "]";
  const std::string step = "(float)" + ParameterText(site, scale, axis, block);
  const std::string shift = zero == nullptr ? "" : ParameterText(site, *zero, axis, block);
  const std::string result = to_integers ? QuantisedText("(float)" + element, step, shift, y.type())
                                         : DequantisedText(element, step, shift, x.type());
  return CudaRoutine{
      {ElementKernel(site, space, "    " + site.NameOf(y) + "[" + space.OffsetText(1) + "] = " + result + ";\n")}};
}

Result<CudaRoutine> Quantisation(const CudaSite& site) {
  const CudaOperand *const x = site.Input(0), *const scale = site.Input(1);
  if (x == nullptr || scale == nullptr) return site.Unsupported("it has no input or no scale");
  if (scale->dims().size() > 1 && scale->elements() > 0) return ByBlocks(site, *x, *scale);
  PT_ASSIGN(KernelText kernel, MakeElementwise(site));
  return CudaRoutine{{std::move(kernel)}, InPlaceInputs(site)};
}

constexpr int64_t kThreads = 256;
constexpr int64_t kPiece = 4096;      // elements that a block looks at before others do
constexpr int64_t kMostPieces = 256;  // whose ends one block's threads fold together, one each

// Statements that leave the least and the greatest of all threads' `low` and `high` in least[0] and most[0].
constexpr std::string_view kFoldEnds = R"(    least[threadIdx.x] = low;
    most[threadIdx.x] = high;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
      if (threadIdx.x < half) {
        least[threadIdx.x] = fminf(least[threadIdx.x], least[threadIdx.x + half]);
        most[threadIdx.x] = fmaxf(most[threadIdx.x], most[threadIdx.x + half]);
      }
      __syncthreads();
    }
)";

// The ends of each piece's range, zero included, into memory of the kernels' own; then, in each block, those of all
// pieces, and its piece as integers.
class RangeKernels {
 public:
  RangeKernels(const CudaSite& site, const CudaOperand& x)
      : site_(site),
        x_(x),
        count_(x.elements()),
        pieces_(std::clamp<int64_t>((count_ + kPiece - 1) / kPiece, 1, kMostPieces)) {}

  CudaRoutine Make() const {
    const std::string each =
        "      low = fminf(low, " + Element() + ");\n      high = fmaxf(high, " + Element() + ");\n";
    const std::string ends =
        "    float low = 0.0f, high = 0.0f;\n" + ForPiece(each) + std::string(kFoldEnds) +
        "    if (threadIdx.x == 0) {\n      ends[2 * piece] = least[0];\n      ends[2 * piece + 1] = most[0];\n    }\n"
        "    __syncthreads();\n";
    CudaRoutine routine{{Kernel(ends), Kernel(Quantised())}};
    routine.scratch_bytes = static_cast<uint64_t>(2 * pieces_) * sizeof(float);
    return routine;
  }

 private:
  std::string Element() const { return site_.NameOf(x_) + "[" + Space().OffsetText(0) + "]"; }
  // Tensor 0 is x, 1 the first result where somebody reads it.
  IndexSpace Space() const {
    std::vector<std::vector<int64_t>> strides = {x_.strides()};
    if (const CudaOperand* const y = site_.Output(0)) strides.push_back(y->strides());
    return {x_.dims(), std::move(strides)};
  }
  std::string ForPiece(const std::string& statements) const {
    const IndexSpace space = Space();
    return "    for (Index i = piece * " + N(kThreads) + " + threadIdx.x; i < " + N(count_) +
           "; i += " + N(kThreads * pieces_) + ") {\n" + space.CoordinatesText("i") + statements + "    }\n";
  }

  std::string Quantised() const {
    std::string text = "    float low = 0.0f, high = 0.0f;\n    for (int i = threadIdx.x; i < " + N(pieces_) +
                       "; i += " + N(kThreads) + ") {\n      low = fminf(low, ends[2 * i]);\n" +
                       "      high = fmaxf(high, ends[2 * i + 1]);\n    }\n" + std::string(kFoldEnds) +
                       "    const float scale = (most[0] - least[0]) / 255.0f;\n"
                       "    const int zero = scale == 0.0f ? 0 : pt_steps(-least[0] / scale, 0, 0, 255);\n";
    if (const CudaOperand* const y = site_.Output(0)) {
      text += ForPiece("      " + site_.NameOf(*y) + "[" + Space().OffsetText(1) +
                       "] = (unsigned char)(scale == 0.0f ? 0 : pt_steps(" + Element() + " / scale, zero, 0, 255));\n");
    }
    std::string alone;
    if (const CudaOperand* const scale = site_.Output(1)) alone += "      " + site_.NameOf(*scale) + "[0] = scale;\n";
    if (const CudaOperand* const zero = site_.Output(2))
      alone += "      " + site_.NameOf(*zero) + "[0] = (unsigned char)zero;\n";
    return text + "    if (piece == 0 && threadIdx.x == 0) {\n" + alone + "    }\n    __syncthreads();\n";
  }

  KernelText Kernel(const std::string& body) const {
    const IndexSpace space = Space();
    KernelText kernel;
    kernel.elements = pieces_;
    kernel.threads_an_element = kThreads;
    kernel.text = "extern \"C\" __global__ void pt_kernel(const Arguments arguments) {\n  typedef " +
                  std::string(space.index_type()) + " Index;\n" + OperandTexts(site_) +
                  "  float* const ends = (float*)arguments.at[" + N(static_cast<int64_t>(Scratch())) +
                  "];\n  __shared__ float least[" + N(kThreads) + "], most[" + N(kThreads) +
                  "];\n  for (Index piece = blockIdx.x; piece < " + N(pieces_) + "; piece += gridDim.x) {\n" + body +
                  "  }\n}\n";
    return kernel;
  }
  size_t Scratch() const { return site_.in.size() + site_.out.size(); }

  const CudaSite& site_;
  const CudaOperand& x_;
  const int64_t count_, pieces_;
};

Result<CudaRoutine> DynamicQuantizeLinear(const CudaSite& site) {
  const CudaOperand* const x = site.Input(0);
  if (x == nullptr || x->type() != DataType::kFloat32) return site.Unsupported("its input is not of float32");
  if (site.in.size() + site.out.size() >= kMostArguments) return site.Unsupported("it has too many tensors");
  return RangeKernels(site, *x).Make();
}

constexpr std::array kRows = {CudaRow{"DequantizeLinear", Quantisation},
                              CudaRow{"DynamicQuantizeLinear", DynamicQuantizeLinear},
                              CudaRow{"QuantizeLinear", Quantisation}};

}  // namespace

std::span<const CudaRow> QuantisationOperators() { return kRows; }

}  // namespace pt::cuda
