#include <algorithm>
#include <array>
#include <utility>

#include "lib/backend/onednn/convolution.h"
#include "lib/backend/onednn/phases.h"
#include "partitiontuner/support/aligned_bytes.h"
#include "partitiontuner/support/checked.h"

namespace pt::onednn {
namespace {

constexpr int64_t kMostReorders = 256;

// One convolution: a group of phases along each dim.
using Part = std::vector<PhaseGroup>;

// Of the convolution's results, one for each of its phases and channels of the node's result.
int64_t PhasesOf(const Part& part) {
  int64_t count = 1;
  for (const PhaseGroup& group : part) count *= static_cast<int64_t>(group.phases.size());
  return count;
}

// The weights' place among those of the node.
struct Taps {
  Dims dims;  // of the node's weights: [inputs, outputs / groups, taps…]
  int64_t groups = 1;
  Part part;
};

// From [inputs, outputs / groups, taps…] to [phases x outputs, inputs / groups, taps…], turned round.
void CopyTaps(const Taps& taps, std::span<const std::byte> from, size_t element, std::byte* to) {
  const size_t spatial = taps.part.size();
  const int64_t per_group = taps.dims[1], inputs = taps.dims[0] / taps.groups;
  std::vector<size_t> phases, steps;
  for (const PhaseGroup& group : taps.part) {
    phases.push_back(group.phases.size());
    steps.push_back(static_cast<size_t>(group.taps));
  }
  int64_t filter = 1;
  for (size_t d = 0; d < spatial; ++d) filter *= taps.dims[d + 2];
  ForEachChoice(phases, [&](const std::vector<size_t>& phase) {
    Dims offsets;  // of the taps within a filter, in the order of the result
    ForEachChoice(steps, [&](const std::vector<size_t>& step) {
      int64_t at = 0;
      for (size_t d = 0; d < spatial; ++d) {
        const PhaseGroup& group = taps.part[d];
        const int64_t m = group.taps - 1 - static_cast<int64_t>(step[d]);
        at = at * taps.dims[d + 2] + group.phases[phase[d]].first_tap + m * group.tap_step;
      }
      offsets.push_back(at);
    });
    for (int64_t output = 0; output < per_group * taps.groups; ++output) {
      for (int64_t i = 0; i < inputs; ++i) {
        const int64_t first = ((output / per_group * inputs + i) * per_group + output % per_group) * filter;
        for (int64_t offset : offsets) {
          std::copy_n(&from[static_cast<size_t>(first + offset) * element], element, to);
          to += element;
        }
      }
    }
  });
}

std::string NameOf(const Taps& taps) {
  std::string name = "phases";
  for (const PhaseGroup& group : taps.part) {
    name += " " + std::to_string(group.taps) + "/" + std::to_string(group.tap_step) + ":";
    for (const Phase& phase : group.phases) name += std::to_string(phase.first_tap) + ",";
  }
  return name + " of " + std::to_string(taps.groups);
}

Rearrangement RearrangementOf(Taps taps, const Dims& dims) {
  std::string name = NameOf(taps);
  auto apply = [taps = std::move(taps), dims](const Tensor& weights) -> Result<Tensor> {
    const auto element = weights.bytes().size() / static_cast<size_t>(weights.element_count());
    const auto count = CheckedProduct(dims);
    const auto bytes = count ? CheckedMul(*count, static_cast<int64_t>(element)) : std::nullopt;
    if (!bytes) return Unsupported("its weights are too large");
    PT_ASSIGN(AlignedBytes memory, AllocateAligned(static_cast<uint64_t>(*bytes)));
    CopyTaps(taps, weights.bytes(), element, memory.bytes.data());
    return Tensor::FromShared(weights.type(), dims, std::move(memory.owner), memory.bytes);
  };
  return {std::move(name), std::move(apply)};
}

// Part of a tensor by strides, in elements.
struct View {
  Dims dims, strides;
  int64_t offset = 0;

  // oneDNN compares strides of dims of 1 as if they meant something.
  void Add(int64_t dim, int64_t stride) {
    if (dim == 1) return;
    dims.push_back(dim);
    strides.push_back(stride);
  }
};

// A tensor's channels as strides say it.
struct Channels {
  int64_t count = 0, block = 1;  // block: this many lie together

  // From channel `first` on, a multiple of the block.
  void AddTo(View& view, const TensorLayout& tensor, int64_t first) const {
    view.offset += first / block * tensor.strides[1];
    view.Add((count + block - 1) / block, tensor.strides[1]);
    if (block > 1) view.Add(block, 1);
  }
};

// Results of neighbouring phases of a group that stand at the same places.
struct Stretch {
  size_t first_phase = 0, phases = 0;   // of the group
  int64_t first_result = 0, count = 0;  // of each of these phases
};

std::vector<Stretch> StretchesOf(const PhaseGroup& group) {
  std::vector<Stretch> stretches;
  for (size_t i = 0; i < group.phases.size(); ++i) {
    const Phase& phase = group.phases[i];
    const Phase* before = i > 0 ? &group.phases[i - 1] : nullptr;
    if (before != nullptr && before->residue + 1 == phase.residue && before->shift == phase.shift &&
        before->count == phase.count) {
      ++stretches.back().phases;
    } else {
      stretches.push_back({i, 1, 0, phase.count});
    }
  }
  return stretches;
}

// The last results by themselves.
std::vector<Stretch> WithoutLast(const std::vector<Stretch>& stretches) {
  std::vector<Stretch> apart;
  for (Stretch stretch : stretches) {
    Stretch last = stretch;
    last.first_result = --stretch.count;
    last.count = 1;
    if (stretch.count > 0) apart.push_back(stretch);
    apart.push_back(last);
  }
  return apart;
}

class PhasesBuilder {
 public:
  PhasesBuilder(const Request& request, ConvolutionParts parts)
      : request_(request), in_(request.in[parts.source]), parts_(std::move(parts)) {}

  Result<KernelDescriptor> Build() {
    if (!parts_.weights || parts_.weights->element_count() == 0) return Unsupported("its weights are not constant");
    const auto whole = [](const Pointwise& op) { return op.kind == Pointwise::Kind::kEltwise; };
    if (!std::ranges::all_of(parts_.ops, whole)) return Unsupported("what follows it has another operand");
    PT_CHECK_OK(ReadDims());
    PT_ASSIGN(const std::vector<Part> convolutions, Parts());
    for (const Part& part : convolutions) PT_CHECK_OK(AddConvolution(part));
    descriptor_.temporaries.push_back(PlainDesc({largest_}, request_.out.type));
    descriptor_.call = std::move(descriptor_.before.back());
    descriptor_.before.pop_back();
    return std::move(descriptor_);
  }

 private:
  Status ReadDims() {
    const WindowParameters& window = parts_.window;
    for (size_t d = 0; d < window.kernel.size(); ++d) {
      if (window.strides[d] > kMostPhases) return Unsupported("its strides are too large");
      dims_.push_back({parts_.x[d + 2], parts_.y[d + 2], window.kernel[d], window.strides[d], window.dilations[d],
                       window.pads_begin[d]});
    }
    const Layout& layout = request_.out.layout;
    channels_.count = parts_.y[1];
    if (!layout.blocks.empty()) channels_.block = layout.blocks[0].size;
    return {};
  }

  // Groups of channels keep their filters apart, and blocks of channels never belong to two phases.
  bool may_share() const {
    const bool computed_bias = parts_.bias_input.has_value();
    return parts_.groups == 1 && channels_.count % channels_.block == 0 && !computed_bias;
  }

  Result<std::vector<Part>> Parts() const {
    int64_t phases = 1;
    for (const TransposedDim& dim : dims_) {
      for (const PhaseSharing sharing : {PhaseSharing::kNone, PhaseSharing::kAlike, PhaseSharing::kMost}) {
        if (PhaseGroupsOf(dim, sharing).empty()) return Unsupported("some of its results see no input");
      }
      phases *= std::min(dim.stride, dim.out);
    }
    if (phases > kMostReorders) return Unsupported("its strides are too large");
    std::vector<PhaseSharing> sharing(dims_.size(), PhaseSharing::kNone);
    if (may_share()) sharing = BestSharing(dims_, parts_.x[1], parts_.y[1], PreferredBlock());
    std::vector<std::vector<PhaseGroup>> groups;
    std::vector<size_t> sizes;
    for (size_t d = 0; d < dims_.size(); ++d) {
      groups.push_back(PhaseGroupsOf(dims_[d], sharing[d]));
      sizes.push_back(groups.back().size());
    }
    std::vector<Part> parts;
    ForEachChoice(sizes, [&](const std::vector<size_t>& choice) {
      Part& part = parts.emplace_back();
      for (size_t d = 0; d < choice.size(); ++d) part.push_back(groups[d][choice[d]]);
    });
    return parts;
  }

  Status AddConvolution(const Part& part) {
    const int64_t phases = PhasesOf(part);
    Dims y = {parts_.x[0], phases * parts_.y[1]}, w = {y[1], parts_.w[0] / parts_.groups};
    WindowParameters window;
    for (const PhaseGroup& group : part) {
      y.push_back(group.places);
      w.push_back(group.taps);
      window.kernel.push_back(group.taps);
      window.strides.push_back(1);
      window.dilations.push_back(group.dilation);
      window.pads_begin.push_back(group.pad_begin);
      window.pads_end.push_back(group.pad_end);
    }
    if (in_.type != DataType::kFloat32 && IsWrongInLess(parts_, w, y, window)) {
      return Unsupported("oneDNN computes it wrongly");
    }
    const Layout layout = channels_.block > 1 ? request_.out.layout : ChannelsLast(y.size());
    PT_ASSIGN(const TensorLayout made, DenseLayout(request_.out.type, y, layout));
    PT_CHECK_OK(AddCall(part, window, w, made));
    PT_ASSIGN(const uint64_t bytes, BytesOf(made));
    largest_ = std::max(largest_, static_cast<int64_t>(bytes / dnnl::memory::data_type_size(*TypeOf(made.type))));
    return LayResults(part, made);
  }

  // The convolution into the temporary.
  Status AddCall(const Part& part, const WindowParameters& window, const Dims& w, const TensorLayout& made) {
    const int64_t phases = PhasesOf(part), groups = parts_.groups;
    PT_ASSIGN(const Desc src, DescOf(in_, made));
    PT_ASSIGN(const Desc dst, DescOf(made, in_));
    Dims filters = w;
    if (groups > 1) {
      filters[0] /= groups;
      filters.insert(filters.begin(), groups);
    }
    const PostOps post{parts_.ops, dst, made.layout, Followed::kConvolution};
    PT_ASSIGN(dnnl::primitive_attr attributes, Attributes(request_, post, descriptor_));
    PT_CHECK_OK(AddQuantisations(request_, parts_, phases, attributes, descriptor_));
    const std::optional<Argument> bias = Bias(phases);
    const dnnl::convolution_forward::primitive_desc description(
        request_.engine, dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, src,
        AnyDesc(filters, parts_.weights_type(request_)), bias ? bias->desc : Desc(), dst, window.strides,
        window.dilates(), window.pads_begin, window.pads_end, attributes, true);
    PT_CHECK_OK(Complete(descriptor_, description));
    auto& arguments = descriptor_.call.arguments;
    arguments.push_back({DNNL_ARG_SRC, Argument::Source::kInput, parts_.source, src});
    arguments.push_back(ConstantArgument(descriptor_, DNNL_ARG_WEIGHTS, *parts_.weights,
                                         PlainDesc(filters, parts_.weights->type()), description.weights_desc()));
    descriptor_.constants.back().rearrangement = RearrangementOf({parts_.w, groups, part}, w);
    if (bias) arguments.push_back(*bias);
    arguments.push_back({DNNL_ARG_DST, Argument::Source::kTemporary, 0, dst});
    descriptor_.before.push_back(std::exchange(descriptor_.call, {}));
    return {};
  }

  // Once for each phase.
  std::optional<Argument> Bias(int64_t phases) {
    const Desc plain = PlainDesc({phases * parts_.y[1]});
    if (parts_.bias_input) {
      const DataType type = request_.in[*parts_.bias_input].type;
      return Argument{DNNL_ARG_BIAS, Argument::Source::kInput, *parts_.bias_input, PlainDesc({parts_.y[1]}, type)};
    }
    if (!parts_.bias) return std::nullopt;
    std::vector<float> repeated;
    const std::span<const float> once = parts_.bias->values<float>();
    for (int64_t i = 0; i < phases; ++i) repeated.insert(repeated.end(), once.begin(), once.end());
    return ConstantArgument(descriptor_, DNNL_ARG_BIAS, Tensor::Float32({plain.get_dims()[0]}, repeated), plain, plain);
  }

  // oneDNN takes results that stand a stride apart for a tensor only if as many strides fit into the dim.
  bool fits(size_t d, const Stretch& stretch) const {
    const TensorLayout& out = request_.out;
    if (stretch.count == 1 || stretch.count * dims_[d].stride <= dims_[d].out) return true;
    for (size_t other = 0; other < out.dims.size(); ++other) {
      if (out.dims[other] > 1 && out.strides[other] > out.strides[d + 2]) return false;
    }
    return true;
  }

  // From the temporary to where the results belong: a reorder for each box of stretches.
  Status LayResults(const Part& part, const TensorLayout& made) {
    std::vector<std::vector<Stretch>> stretches;
    std::vector<size_t> sizes;
    for (size_t d = 0; d < part.size(); ++d) {
      std::vector<Stretch> along = StretchesOf(part[d]);
      const bool whole = std::ranges::all_of(along, [&](const Stretch& stretch) { return fits(d, stretch); });
      stretches.push_back(whole ? std::move(along) : WithoutLast(along));
      sizes.push_back(stretches.back().size());
    }
    Status status;
    ForEachChoice(sizes, [&](const std::vector<size_t>& choice) {
      std::vector<Stretch> box;
      for (size_t d = 0; d < choice.size(); ++d) box.push_back(stretches[d][choice[d]]);
      if (status.ok()) status = LayBox(part, box, made);
    });
    return status;
  }

  Status LayBox(const Part& part, const std::vector<Stretch>& box, const TensorLayout& made) {
    const TensorLayout& out = request_.out;
    View from, to;
    from.Add(out.dims[0], made.strides[0]);
    to.Add(out.dims[0], out.strides[0]);
    int64_t first = 0, apart = 1;  // phases before these, and between neighbours along the dim
    for (size_t d = part.size(); d-- > 0; apart *= static_cast<int64_t>(part[d].phases.size())) {
      const Stretch& stretch = box[d];
      const Phase& phase = part[d].phases[stretch.first_phase];
      const auto phases = static_cast<int64_t>(stretch.phases);
      const int64_t place = made.strides[d + 2], result = out.strides[d + 2];
      from.offset += (stretch.first_result + phase.shift - part[d].first_place) * place;
      to.offset += (stretch.first_result * dims_[d].stride + phase.residue) * result;
      from.Add(stretch.count, place);
      to.Add(stretch.count, dims_[d].stride * result);
      from.Add(phases, apart * channels_.count / channels_.block * made.strides[1]);
      to.Add(phases, result);
      first += static_cast<int64_t>(stretch.first_phase) * apart;
    }
    channels_.AddTo(from, made, first * channels_.count);
    channels_.AddTo(to, out, 0);
    if (from.dims.empty()) from.dims = to.dims = from.strides = to.strides = {1};
    return AddReorder(from, to);
  }

  Status AddReorder(const View& from, const View& to) {
    const auto type = *TypeOf(request_.out.type);
    const auto size = static_cast<int64_t>(dnnl::memory::data_type_size(type));
    const auto bytes = [&](const View& view) { return static_cast<uint64_t>(view.offset * size); };
    const Argument made{0, Argument::Source::kTemporary, 0, Desc(from.dims, type, from.strides), bytes(from)};
    const Argument out{0, Argument::Source::kOutput, 0, Desc(to.dims, type, to.strides), bytes(to)};
    PT_ASSIGN(Call call, MoveCall(request_.engine, made, out, descriptor_));
    descriptor_.before.push_back(std::move(call));
    return {};
  }

  const Request& request_;
  const TensorLayout& in_;
  const ConvolutionParts parts_;
  std::vector<TransposedDim> dims_;
  Channels channels_;
  KernelDescriptor descriptor_;
  int64_t largest_ = 0;  // elements of a convolution's results
};

}  // namespace

Result<KernelDescriptor> BuildPhases(const Request& request) {
  PT_ASSIGN(ConvolutionParts parts, PartsOf(request, true));
  return PhasesBuilder(request, std::move(parts)).Build();
}

}  // namespace pt::onednn
