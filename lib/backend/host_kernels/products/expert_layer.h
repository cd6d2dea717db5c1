// One layer of experts: rows of tokens by the matrix of one expert, of few bits an element or float32.
#pragma once

#include <memory>

#include "lib/backend/host_kernels/operator.h"
#include "lib/backend/host_kernels/products/block_products.h"
#include "lib/backend/host_kernels/products/panels.h"
#include "lib/backend/host_kernels/products/thin_products.h"
#include "partitiontuner/graph/experts.h"

namespace pt::host {

class ExpertProducts {
 public:
  // Of at most `rows` rows by each expert. kUnsupported where the layer is stored in a way that no product reads.
  static Result<ExpertProducts> Make(const Graph& graph, const ExpertLayer& layer, int64_t rows);

  int64_t depth() const { return depth_; }
  int64_t columns() const { return columns_; }
  // That one call is best given, a multiple of what `first` must be a multiple of.
  int64_t chunk() const { return chunk_; }
  // Nanoseconds of one row by one chunk, roughly.
  double work() const { return static_cast<double>(depth_ * chunk_) * 0.02; }

  // Once, before any product.
  Status Pack(const Graph& graph, const ExpertLayer& layer, CompileContext& context);
  // `rows` dense rows of a by columns first to first + count of the expert's matrix, with its bias, into rows of c.
  void Multiply(int64_t expert, const float* a, int64_t rows, int64_t first, int64_t count, float* c,
                int64_t c_stride) const;

 private:
  Status PackBlocks(const Graph& graph, const ExpertLayer& layer, CompileContext& context);
  Status PackPanels(CompileContext& context);

  int64_t experts_ = 0, depth_ = 0, columns_ = 0, chunk_ = 0;
  std::optional<Tensor> bias_;
  // One of three: blocks of few bits, the matrices as they lie, or panels.
  std::optional<BlockProducts> on_blocks_;
  std::vector<BlockMatrix> blocks_;
  ThinProduct thin_ = nullptr;
  PanelProducts<float> panels_;
  int64_t panel_floats_ = 0;  // of one expert
  Tensor matrices_;
  std::vector<float> wide_bias_;  // filled up to whole panels, one expert after another
  std::shared_ptr<DeviceBuffer> packed_;
};

}  // namespace pt::host
