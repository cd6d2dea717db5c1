// A described Winograd convolution as a kernel: weights transformed and packed once, pieces of tiles worked on by the
// team.
#include <algorithm>
#include <atomic>
#include <deque>

#include "lib/backend/onednn/kernel.h"
#include "lib/backend/onednn/team_pool.h"
#include "lib/backend/onednn/winograd.h"
#include "partitiontuner/support/aligned_bytes.h"
#include "partitiontuner/support/alignment.h"

namespace pt::onednn {
namespace {

// Scratch: for each worker patches and products of a piece; behind them oneDNN's own scratchpads.
struct ScratchPlan {
  explicit ScratchPlan(const WinogradDescriptor& d)
      : products_at(AlignUp(Bytes(d.sizes.products() * d.in_stride))),
        worker(products_at + AlignUp(Bytes(d.sizes.products() * d.out_stride))),
        pads_at(worker * static_cast<uint64_t>(d.workers)),
        pad(AlignUp(std::max(d.product.scratchpad_desc().get_size(), d.rest.scratchpad_desc().get_size()))),
        bytes(pads_at + pad * static_cast<uint64_t>(d.executors())) {}
  static uint64_t Bytes(int64_t floats) { return static_cast<uint64_t>(floats) * sizeof(float); }

  uint64_t products_at, worker, pads_at, pad, bytes;
};

// A product of matrices with its memory, made for one executor.
class Product {
 public:
  Product(const dnnl::engine& engine, const dnnl::matmul& primitive, const dnnl::matmul::primitive_desc& description,
          float* patches, void* weights, float* results, void* pad)
      : primitive_(primitive),
        memories_{dnnl::memory(description.src_desc(), engine, patches),
                  dnnl::memory(description.weights_desc(), engine, weights),
                  dnnl::memory(description.dst_desc(), engine, results),
                  dnnl::memory(description.scratchpad_desc(), engine, pad)},
        arguments_{{{DNNL_ARG_SRC, memories_[0].get()},
                    {DNNL_ARG_WEIGHTS, memories_[1].get()},
                    {DNNL_ARG_DST, memories_[2].get()},
                    {DNNL_ARG_SCRATCHPAD, memories_[3].get()}}} {}

  dnnl_status_t Execute(const dnnl::stream& stream) const noexcept {
    return dnnl_primitive_execute(primitive_.get(), stream.get(), static_cast<int>(arguments_.size()),
                                  arguments_.data());
  }

 private:
  dnnl::matmul primitive_;
  std::array<dnnl::memory, 4> memories_;
  std::array<dnnl_exec_arg_t, 4> arguments_;
};

// What computes products at the same time as others: a worker, or a part.
struct Executor {
  Executor(const dnnl::engine& engine) : stream(MakeStream(engine, pool)) {}
  TeamPool pool;  // without a team: the calling core alone
  dnnl::stream stream;
  std::optional<Product> product, rest;
};

class BoundWinograd final : public BoundKernel {
 public:
  BoundWinograd(const WinogradDescriptor& descriptor, std::span<std::byte> scratch, const float* x, float* y,
                std::vector<WinogradStep> steps)
      : d_(descriptor), plan_(descriptor), scratch_(scratch), x_(x), y_(y), steps_(std::move(steps)) {}

  // May throw dnnl::error.
  void MakeProducts(const dnnl::engine& engine, const dnnl::matmul& product, const dnnl::matmul& rest,
                    std::byte* weights) {
    for (int64_t e = 0; e < d_.executors(); ++e) {
      const int64_t worker = d_.parts > 1 ? 0 : e, part = d_.parts > 1 ? e : 0;
      Executor& executor = executors_.emplace_back(engine);
      float* patches = Patches(worker) + part * d_.products_per_part() * d_.in_stride;
      float* results = Products(worker) + part * d_.products_per_part() * d_.out_stride;
      std::byte* packed = weights + static_cast<uint64_t>(part) * AlignUp(d_.product.weights_desc().get_size());
      std::byte* pad = scratch_.data() + plan_.pads_at + static_cast<uint64_t>(e) * plan_.pad;
      executor.product.emplace(engine, product, d_.product, patches, packed, results, pad);
      executor.rest.emplace(engine, rest, d_.rest, patches, packed, results, pad);
    }
  }

  Status Enqueue(const RunContext& run) noexcept override {
    Team& team = *run.stream.team();
    std::atomic<dnnl_status_t> worst{dnnl_success};
    if (d_.parts > 1) {
      for (int64_t piece = 0; piece < d_.pieces; ++piece) TogetherOn(piece, team, worst);
    } else {
      auto body = [&](uint32_t worker, uint32_t) {
        for (int64_t piece = worker; piece < d_.pieces; piece += d_.workers) AloneOn(piece, worker, worst);
      };
      team.ParallelFor(static_cast<uint32_t>(d_.workers), body);
    }
    return ExecutionStatus(worst);
  }

 private:
  float* Patches(int64_t worker) const {
    return reinterpret_cast<float*>(scratch_.data() + static_cast<uint64_t>(worker) * plan_.worker);
  }
  float* Products(int64_t worker) const {
    return reinterpret_cast<float*>(scratch_.data() + static_cast<uint64_t>(worker) * plan_.worker + plan_.products_at);
  }
  int64_t TilesOf(int64_t piece) const { return piece + 1 == d_.pieces ? d_.tail : d_.piece; }

  // Tiles first..first+count-1 of the piece.
  void In(int64_t piece, int64_t worker, int64_t first, int64_t count) const {
    TransformInput(d_.sizes, x_, d_.in, piece * d_.piece + first, count, Patches(worker) + first * d_.sizes.inner(),
                   d_.in_stride);
  }
  void Out(int64_t piece, int64_t worker, int64_t first, int64_t count) const {
    TransformOutput(d_.sizes, Products(worker) + first * d_.sizes.out_channels, d_.out_stride, piece * d_.piece + first,
                    count, steps_, y_, d_.out);
  }
  void Multiply(int64_t piece, int64_t executor, std::atomic<dnnl_status_t>& worst) const {
    const Executor& with = executors_[static_cast<size_t>(executor)];
    const dnnl_status_t status = (piece + 1 == d_.pieces ? with.rest : with.product)->Execute(with.stream);
    if (status != dnnl_success) worst = status;
  }

  void AloneOn(int64_t piece, int64_t worker, std::atomic<dnnl_status_t>& worst) const {
    In(piece, worker, 0, TilesOf(piece));
    Multiply(piece, worker, worst);
    Out(piece, worker, 0, TilesOf(piece));
  }

  void TogetherOn(int64_t piece, Team& team, std::atomic<dnnl_status_t>& worst) const {
    const int64_t tiles = TilesOf(piece);
    const auto shares = static_cast<uint32_t>(std::min<int64_t>(tiles, team.width()));
    const auto first = [&](int64_t share) { return tiles * share / shares; };
    auto in = [&](uint32_t i, uint32_t) { In(piece, 0, first(i), first(i + 1) - first(i)); };
    auto multiply = [&](uint32_t part, uint32_t) { Multiply(piece, part, worst); };
    auto out = [&](uint32_t i, uint32_t) { Out(piece, 0, first(i), first(i + 1) - first(i)); };
    team.ParallelFor(shares, in);
    team.ParallelFor(static_cast<uint32_t>(d_.parts), multiply);
    team.ParallelFor(shares, out);
  }

  const WinogradDescriptor& d_;  // the kernel's
  const ScratchPlan plan_;
  std::span<std::byte> scratch_;
  const float* x_;
  float* y_;
  std::vector<WinogradStep> steps_;
  std::deque<Executor> executors_;
};

class WinogradKernel final : public Kernel {
 public:
  WinogradKernel(dnnl::engine engine, WinogradDescriptor descriptor, std::shared_ptr<DeviceBuffer> weights)
      : engine_(std::move(engine)),
        descriptor_(std::move(descriptor)),
        product_(descriptor_.product),
        rest_(descriptor_.rest),
        weights_(std::move(weights)) {}

  uint64_t scratch_bytes() const override { return descriptor_.scratch_bytes(); }

  Result<std::unique_ptr<BoundKernel>> Bind(TensorSlots in, TensorSlots out,
                                            std::span<std::byte> scratch) const override {
    if (scratch.size() < scratch_bytes()) {
      return MakeError(ErrorCode::kInternal, "onednn.scratch", "the scratch given is too small");
    }
    std::vector<WinogradStep> steps;
    for (const WinogradOperation& operation : descriptor_.operations) {
      WinogradStep step = operation.step;
      if (operation.channel) step.channel = operation.channel->values<float>().data();
      if (operation.tensor_input) step.tensor = static_cast<const float*>(in[*operation.tensor_input]->data);
      steps.push_back(step);
    }
    try {
      auto bound =
          std::make_unique<BoundWinograd>(descriptor_, scratch, static_cast<const float*>(in[descriptor_.source]->data),
                                          static_cast<float*>(out[0]->data), std::move(steps));
      bound->MakeProducts(engine_, product_, rest_, static_cast<std::byte*>(weights_->data()));
      return std::unique_ptr<BoundKernel>(std::move(bound));
    } catch (const dnnl::error& error) {
      return Fault(error, "binding a kernel");
    }
  }

 private:
  dnnl::engine engine_;
  WinogradDescriptor descriptor_;
  dnnl::matmul product_, rest_;
  std::shared_ptr<DeviceBuffer> weights_;
};

Status Pack(const dnnl::engine& engine, const WinogradDescriptor& d, DeviceBuffer& buffer) {
  try {
    const int64_t matrix = d.sizes.inner() * d.sizes.out_channels;
    PT_ASSIGN(const AlignedBytes transformed, AllocateAligned(ScratchPlan::Bytes(d.sizes.products() * matrix)));
    auto* const plain = reinterpret_cast<float*>(transformed.bytes.data());
    TransformWeights(d.sizes, d.weights.values<float>(), plain);
    const Dims dims{d.products_per_part(), d.sizes.inner(), d.sizes.out_channels};
    const Desc from_desc = PlainDesc(dims), to_desc = d.product.weights_desc();
    const ConcurrencyScope scope(1);
    TeamPool alone;
    dnnl::stream stream = MakeStream(engine, alone);
    for (int64_t part = 0; part < d.parts; ++part) {
      dnnl::memory from(from_desc, engine, plain + part * dims[0] * matrix);
      dnnl::memory to(
          to_desc, engine,
          static_cast<std::byte*>(buffer.data()) + static_cast<uint64_t>(part) * AlignUp(to_desc.get_size()));
      dnnl::reorder(from, to).execute(stream, from, to);
    }
    stream.wait();
    return {};
  } catch (const std::bad_alloc&) {
    return MakeError(ErrorCode::kOutOfMemory, "onednn.weights", "no memory to transform weights in");
  } catch (const dnnl::error& error) {
    return Fault(error, "packing weights");
  }
}

}  // namespace

uint64_t WinogradDescriptor::scratch_bytes() const { return ScratchPlan(*this).bytes; }

uint64_t WinogradDescriptor::constant_bytes() const {
  return AlignUp(product.weights_desc().get_size()) * static_cast<uint64_t>(parts);
}

Result<std::unique_ptr<Kernel>> MakeWinogradKernel(const dnnl::engine& engine, WinogradDescriptor descriptor,
                                                   CompileContext& context) {
  const std::string format = "winograd " + std::to_string(descriptor.sizes.tile) +
                             (descriptor.sizes.line ? " of lines in " : " in ") + std::to_string(descriptor.parts) +
                             " > " + DescText(descriptor.product.weights_desc());
  PT_ASSIGN(auto weights,
            context.weights.Get(descriptor.weights.content_hash(), format, context.device, descriptor.constant_bytes(),
                                [&](DeviceBuffer& buffer) { return Pack(engine, descriptor, buffer); }));
  descriptor.weights = Tensor();  // packed: the plain ones may go
  try {
    return std::unique_ptr<Kernel>(std::make_unique<WinogradKernel>(engine, std::move(descriptor), std::move(weights)));
  } catch (const dnnl::error& error) {
    return Fault(error, "making a primitive");
  }
}

}  // namespace pt::onednn
