#include "lib/backend/host_kernels/products/expert_layer.h"

#include <algorithm>

#include "partitiontuner/support/checked.h"

namespace pt::host {
namespace {

// Columns that one call computes: enough that what it begins with counts little, few enough for all cores.
constexpr int64_t kExpertColumns = 128;

Error UnsupportedLayer(std::string why) {
  return MakeError(ErrorCode::kUnsupported, "host.unsupported", "experts: " + std::move(why));
}

int64_t RoundedUp(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

}  // namespace

Result<ExpertProducts> ExpertProducts::Make(const Graph& graph, const ExpertLayer& layer, int64_t rows) {
  ExpertProducts made;
  const std::vector<int64_t> dims = *graph.value(layer.matrices).type.static_dims();
  made.experts_ = dims[0];
  made.depth_ = dims[1];
  made.columns_ = dims[2];
  if (made.experts_ < 1 || made.depth_ < 1 || made.columns_ < 1) return UnsupportedLayer("a dim is zero");
  if (layer.bias.valid()) made.bias_ = graph.value(layer.bias).constant;
  if (layer.bias.valid() && (!made.bias_ || made.bias_->type() != DataType::kFloat32))
    return UnsupportedLayer("a bias is not constant");
  if (layer.is_packed()) {
    if (!PackedMatrixOf(graph, layer, 0)) return UnsupportedLayer("matrices are packed in another way");
    made.on_blocks_ = FindBlockProducts();
    made.chunk_ = RoundedUp(kExpertColumns, made.on_blocks_->columns);
    return made;
  }
  const std::optional<Tensor>& constant = graph.value(layer.matrices).constant;
  if (!constant || constant->type() != DataType::kFloat32) return UnsupportedLayer("matrices are not constant");
  made.matrices_ = *constant;
  if (rows <= kMostThinRows) {
    made.thin_ = FindThinProduct();
    made.chunk_ = kExpertColumns;
    return made;
  }
  made.panels_ = FindPanelProducts<float>();
  PT_CHECK_OK(made.panels_.CheckProcessor());
  made.chunk_ = RoundedUp(kExpertColumns, made.panels_.columns);
  return made;
}

Status ExpertProducts::Pack(const Graph& graph, const ExpertLayer& layer, CompileContext& context) {
  if (on_blocks_) return PackBlocks(graph, layer, context);
  return thin_ != nullptr ? Status() : PackPanels(context);
}

Status ExpertProducts::PackBlocks(const Graph& graph, const ExpertLayer& layer, CompileContext& context) {
  std::vector<uint64_t> begins;
  std::string content;
  uint64_t bytes = 0;
  blocks_.clear();
  for (int64_t e = 0; e < experts_; ++e) {
    const auto matrix = PackedMatrixOf(graph, layer, e);
    if (!matrix) return UnsupportedLayer("matrices are packed in another way");
    content += matrix->content_key();
    blocks_.push_back(on_blocks_->describe(*matrix));
    const auto own = on_blocks_->bytes(blocks_.back());
    const auto aligned = own ? CheckedAlignUp(*own, uint64_t{64}) : std::nullopt;
    begins.push_back(bytes);
    if (!aligned || __builtin_add_overflow(bytes, *aligned, &bytes))
      return MakeError(ErrorCode::kInvalidInput, "host.size", "packed matrices of experts are too large");
  }
  const auto fill = [&](DeviceBuffer& buffer) -> Status {
    for (size_t e = 0; e < begins.size(); ++e) {
      on_blocks_->pack(*PackedMatrixOf(graph, layer, static_cast<int64_t>(e)),
                       static_cast<std::byte*>(buffer.data()) + begins[e]);
    }
    return {};
  };
  const std::string format = "host blocks of experts for " + std::to_string(on_blocks_->columns);
  PT_ASSIGN(packed_, context.weights.Get(HashText(content), format, context.device, bytes, fill));
  for (size_t e = 0; e < begins.size(); ++e)
    blocks_[e].tiles = static_cast<const std::byte*>(packed_->data()) + begins[e];
  return {};
}

Status ExpertProducts::PackPanels(CompileContext& context) {
  const auto own = panels_.PackedCount(depth_, columns_);
  const auto all = own ? CheckedMul(*own, experts_) : std::nullopt;
  const auto bytes = all ? CheckedMul(*all, static_cast<int64_t>(sizeof(float))) : std::nullopt;
  if (!bytes) return MakeError(ErrorCode::kInvalidInput, "host.size", "packed matrices of experts are too large");
  panel_floats_ = *own;
  const auto fill = [&](DeviceBuffer& buffer) -> Status {
    for (int64_t e = 0; e < experts_; ++e) {
      panels_.pack({.b = matrices_.values<float>().data() + e * depth_ * columns_,
                    .row_stride = columns_,
                    .column_stride = 1,
                    .depth = depth_,
                    .columns = columns_,
                    .panels = static_cast<float*>(buffer.data()) + e * panel_floats_});
    }
    return {};
  };
  const std::string format = "host panels of experts of " + std::to_string(panels_.columns);
  PT_ASSIGN(packed_,
            context.weights.Get(matrices_.content_hash(), format, context.device, static_cast<uint64_t>(*bytes), fill));
  if (!bias_) return {};
  const int64_t wide = RoundedUp(columns_, panels_.columns);
  wide_bias_.assign(static_cast<size_t>(wide * experts_), 0.0F);
  for (int64_t e = 0; e < experts_; ++e)
    std::copy_n(bias_->values<float>().data() + e * columns_, columns_, wide_bias_.data() + e * wide);
  return {};
}

void ExpertProducts::Multiply(int64_t expert, const float* a, int64_t rows, int64_t first, int64_t count, float* c,
                              int64_t c_stride) const {
  const float* bias = bias_ ? bias_->values<float>().data() + expert * columns_ + first : nullptr;
  if (on_blocks_) {
    on_blocks_->multiply({.a = a,
                          .a_stride = depth_,
                          .b = blocks_[static_cast<size_t>(expert)],
                          .first = first,
                          .columns = count,
                          .bias = bias,
                          .rows = rows,
                          .c = c,
                          .c_stride = c_stride});
    return;
  }
  if (thin_ != nullptr) {
    thin_({.a = a,
           .a_stride = depth_,
           .b = matrices_.values<float>().data() + expert * depth_ * columns_ + first,
           .b_stride = columns_,
           .bias = bias,
           .rows = rows,
           .depth = depth_,
           .columns = count,
           .c = c,
           .c_stride = c_stride});
    return;
  }
  const int64_t wide = RoundedUp(columns_, panels_.columns);
  const float* wide_bias = wide_bias_.empty() ? nullptr : wide_bias_.data() + expert * wide + first;
  const int64_t deep = RoundedUp(depth_, panels_.rows);
  panels_.multiply({.a = a,
                    .a_row_stride = depth_,
                    .panels = static_cast<const float*>(packed_->data()) + expert * panel_floats_ + first * deep,
                    .bias = wide_bias,
                    .rows = rows,
                    .depth = depth_,
                    .columns = count,
                    .c = c,
                    .c_row_stride = c_stride});
}

}  // namespace pt::host
