// Normalisations by channel: with given statistics (BatchNormalization), of groups of channels (GroupNormalization,
// InstanceNormalization), across neighbouring channels (LRN).
#include <algorithm>
#include <array>

#include "partitiontuner/graph/operators/normalizations.h"
#include "partitiontuner/graph/operators/or_refuse.h"
#include "plugins/cuda/element_kernel.h"
#include "plugins/cuda/rows.h"

namespace pt::cuda {
namespace {

// One number a channel, or `count` of them.
Result<const CudaOperand*> ChannelVector(const CudaSite& site, size_t i, int64_t count) {
  const CudaOperand* const operand = site.Input(i);
  if (operand == nullptr || !IsReal(operand->type()) || operand->dims() != std::vector<int64_t>{count}) {
    return site.Unsupported("input " + std::to_string(i) + " is not one real number a channel");
  }
  return operand;
}

Status NeedSameDims(const CudaSite& site) {
  if (site.out[0].dims() != site.in[0].dims()) return site.Unsupported("its result has other dims");
  return {};
}

Result<std::string> Epsilon(const CudaSite& site) {
  std::string text = FloatLiteral(ReadEpsilon(site.node()));
  if (text.empty()) return site.Unsupported("\"epsilon\" is not a number");
  return text;
}

Result<CudaRoutine> BatchNormalization(const CudaSite& site) {
  PT_CHECK_OK(NeedFloats(site));
  PT_CHECK_OK(NeedSameDims(site));
  if (ReadBatchNormalization(site.node()).training) return site.Unsupported("it is in training");
  PT_ASSIGN(const std::string epsilon, Epsilon(site));
  const CudaOperand &x = site.in[0], &y = site.out[0];
  if (x.dims().empty()) return site.Unsupported("its input is a scalar");
  const int64_t channels = x.dims().size() > 1 ? x.dims()[1] : 1;
  std::vector<std::vector<int64_t>> strides(site.in.size(), std::vector<int64_t>(x.dims().size(), 0));
  strides[0] = x.strides();
  std::array<std::string, 4> loads;  // scale, bias, mean, variance
  for (size_t i = 0; i < loads.size(); ++i) {
    PT_ASSIGN(const CudaOperand* const operand, ChannelVector(site, i + 1, channels));
    const auto at = static_cast<size_t>(operand - site.in.data());
    if (at == 0) return site.Unsupported("its input is its own statistics");
    if (x.dims().size() > 1) strides[at][1] = operand->strides()[0];
    loads[i] = "(float)$L" + std::to_string(at) + "$";
  }
  strides.push_back(y.strides());
  const std::string body = "    $S0$ = ((float)$L0$ - " + loads[2] + ") * (" + loads[0] + " / sqrtf(" + loads[3] +
                           " + " + epsilon + ")) + " + loads[1] + ";\n";
  CudaRoutine routine{{TogetherKernel(site, IndexSpace(y.dims(), std::move(strides)), body)}};
  if (x.type() == y.type()) routine.in_place = {0};
  return routine;
}

// Groups of channels of each batch entry; scale and bias a channel (a group before operator set 21).
Result<CudaRoutine> ByGroups(const CudaSite& site, int64_t groups) {
  PT_CHECK_OK(NeedFloats(site));
  PT_CHECK_OK(NeedSameDims(site));
  PT_ASSIGN(const std::string epsilon, Epsilon(site));
  const CudaOperand &x = site.in[0], &y = site.out[0];
  const int64_t channels = x.dims()[1];
  if (groups < 1 || channels % groups != 0) return site.Unsupported("its groups do not divide its channels");
  const int64_t each = channels / groups;
  const CudaOperand* const first = site.Input(1);
  const bool by_group = first != nullptr && first->dims() == std::vector<int64_t>{groups} && groups != channels;
  PT_ASSIGN(const CudaOperand* const scale, ChannelVector(site, 1, by_group ? groups : channels));
  PT_ASSIGN(const CudaOperand* const bias, ChannelVector(site, 2, by_group ? groups : channels));
  std::vector<int64_t> dims = {each};
  std::vector<std::vector<int64_t>> elements, rows;
  for (const CudaOperand* const operand : {&x, &y}) {
    elements.push_back({operand->strides()[1]});
    elements.back().insert(elements.back().end(), operand->strides().begin() + 2, operand->strides().end());
    rows.push_back({operand->strides()[0], each * operand->strides()[1]});
  }
  dims.insert(dims.end(), x.dims().begin() + 2, x.dims().end());
  for (const CudaOperand* const operand : {scale, bias}) {
    elements.emplace_back(dims.size(), 0);
    if (!by_group) elements.back()[0] = operand->strides()[0];
    rows.push_back({0, (by_group ? 1 : each) * operand->strides()[0]});
  }
  Rows kernel(site, IndexSpace(std::vector<int64_t>{x.dims()[0], groups}, std::move(rows)),
              IndexSpace(dims, std::move(elements)));
  if (kernel.length() == 0) return CudaRoutine{};
  kernel.AddFold("sum", kSum, "x");
  kernel.Add("    const float mean = sum / " + kernel.length_text() + ";\n");
  kernel.AddFold("squares", kSum, "(x - mean) * (x - mean)");
  kernel.Add("    const float inverse = 1.0f / sqrtf(squares / " + kernel.length_text() + " + " + epsilon + ");\n");
  kernel.ForEach("    out0[" + kernel.At(1) + "] = (x - mean) * (inverse * (float)" + site.NameOf(*scale) + "[" +
                 kernel.At(2) + "]) + (float)" + site.NameOf(*bias) + "[" + kernel.At(3) + "];\n");
  return CudaRoutine{{kernel.Finish()}};
}

Result<CudaRoutine> GroupNormalization(const CudaSite& site) {
  if (site.in.empty() || site.in[0].dims().size() < 2) return site.Unsupported("its input has no channels");
  return ByGroups(site, ReadGroups(site.node()));
}
Result<CudaRoutine> InstanceNormalization(const CudaSite& site) {
  if (site.in.empty() || site.in[0].dims().size() < 2) return site.Unsupported("its input has no channels");
  return ByGroups(site, std::max<int64_t>(1, site.in[0].dims()[1]));
}

Result<CudaRoutine> Lrn(const CudaSite& site) {
  PT_CHECK_OK(NeedFloats(site));
  PT_CHECK_OK(NeedSameDims(site));
  const CudaOperand &x = site.in[0], &y = site.out[0];
  PT_ASSIGN(const LrnNode lrn, OrUnsupported(ReadLrn(site.node()), site));
  const int64_t size = lrn.size;
  if (x.dims().size() < 2) return site.Unsupported("it has no channels");
  const std::string share =
      FloatLiteral(static_cast<float>(static_cast<double>(lrn.alpha) / static_cast<double>(size)));
  const std::string bias = FloatLiteral(lrn.bias), power = FloatLiteral(-lrn.beta);
  if (share.empty() || bias.empty() || power.empty()) return site.Unsupported("an attribute is not a number");
  const IndexSpace space = IndexSpace::Whole(x.dims(), {x.strides(), y.strides()});
  const std::string last = std::to_string(x.dims()[1] - 1), at = "in0[" + space.OffsetText(0);
  const std::string body = "    const Index low = c1 < " + std::to_string((size - 1) / 2) + " ? 0 : c1 - " +
                           std::to_string((size - 1) / 2) + ", high = " + last + " - c1 < " + std::to_string(size / 2) +
                           " ? " + last + " : c1 + " + std::to_string(size / 2) +
                           ";\n    float squares = 0.0f;\n    for (Index c = low; c <= high; ++c) {\n" +
                           "      const float x = " + at + " + (c - c1) * " + std::to_string(x.strides()[1]) +
                           "];\n      squares += x * x;\n    }\n    out0[" + space.OffsetText(1) + "] = (float)" + at +
                           "] * powf(" + bias + " + " + share + " * squares, " + power + ");\n";
  return CudaRoutine{{ElementKernel(site, space, body)}};
}

constexpr std::array kRows = {CudaRow{"BatchNormalization", BatchNormalization},
                              CudaRow{"GroupNormalization", GroupNormalization},
                              CudaRow{"InstanceNormalization", InstanceNormalization}, CudaRow{"LRN", Lrn}};

}  // namespace

std::span<const CudaRow> NormalizationOperators() { return kRows; }

}  // namespace pt::cuda
