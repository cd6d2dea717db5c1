#include "lib/backend/onednn/kernel.h"

#include <cstdlib>

#include "lib/backend/onednn/team_pool.h"
#include "partitiontuner/support/alignment.h"

namespace pt::onednn {
namespace {

struct FreeDeleter {
  void operator()(void* p) const { std::free(p); }
};
using AlignedBytes = std::unique_ptr<void, FreeDeleter>;

Error Fault(const dnnl::error& error, const char* what) {
  const ErrorCode code = error.status == dnnl_out_of_memory ? ErrorCode::kOutOfMemory : ErrorCode::kRunFailed;
  return MakeError(code, "onednn.failed", std::string(what) + ": oneDNN: " + error.what());
}

class OneDnnBoundKernel final : public BoundKernel {
 public:
  OneDnnBoundKernel(const dnnl::engine& engine, dnnl::primitive primitive)
      : primitive_(std::move(primitive)), stream_(MakeStream(engine, pool_)) {}
  // The stream holds the pool's address.
  OneDnnBoundKernel(const OneDnnBoundKernel&) = delete;
  OneDnnBoundKernel& operator=(const OneDnnBoundKernel&) = delete;

  void Add(int key, dnnl::memory memory) {
    arguments_.push_back({key, memory.get()});
    memories_.push_back(std::move(memory));
  }
  void Keep(AlignedBytes scratch) { scratch_ = std::move(scratch); }

  Status Enqueue(const RunContext& run) noexcept override {
    pool_.set_team(run.stream.team());
    const dnnl_status_t status =
        dnnl_primitive_execute(primitive_.get(), stream_.get(), static_cast<int>(arguments_.size()), arguments_.data());
    if (status == dnnl_success) return {};
    return MakeError(status == dnnl_out_of_memory ? ErrorCode::kOutOfMemory : ErrorCode::kRunFailed, "onednn.execute",
                     "oneDNN failed with status " + std::to_string(static_cast<int>(status)));
  }

 private:
  TeamPool pool_;
  dnnl::primitive primitive_;
  dnnl::stream stream_;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
  AlignedBytes scratch_;
};

// A constant ready to use: the tensor's own bytes, or packed ones shared through the weight store.
struct ReadyConstant {
  Tensor tensor;
  std::shared_ptr<DeviceBuffer> packed;

  // oneDNN takes all data by pointers to non-const, but only reads its sources.
  void* data() const {
    return packed ? packed->data() : const_cast<std::byte*>(tensor.bytes().data());  // NOLINT
  }
};

Status Pack(const dnnl::engine& engine, const ConstantOperand& constant, DeviceBuffer& buffer) {
  try {
    TeamPool alone;
    dnnl::stream stream = MakeStream(engine, alone);
    const ConcurrencyScope scope(1);
    dnnl::memory from(constant.plain, engine,
                      const_cast<std::byte*>(constant.tensor.bytes().data()));  // NOLINT
    dnnl::memory to(constant.packed, engine, buffer.data());
    dnnl::reorder(from, to).execute(stream, from, to);
    stream.wait();
    return {};
  } catch (const dnnl::error& error) {
    return Fault(error, "packing a constant");
  }
}

Result<ReadyConstant> Prepare(const dnnl::engine& engine, const ConstantOperand& constant, CompileContext& context) {
  if (constant.tensor.bytes().size() != constant.plain.get_size()) {
    return MakeError(ErrorCode::kInternal, "onednn.constant", "a constant's bytes do not match its dims");
  }
  const auto address = reinterpret_cast<uintptr_t>(constant.tensor.bytes().data());
  if (constant.plain == constant.packed && address % kTensorAlignment == 0)
    return ReadyConstant{constant.tensor, nullptr};
  const std::string format = "onednn " + DescText(constant.plain) + " > " + DescText(constant.packed);
  PT_ASSIGN(auto packed,
            context.weights.Get(constant.tensor.content_hash(), format, context.device, constant.packed.get_size(),
                                [&](DeviceBuffer& buffer) { return Pack(engine, constant, buffer); }));
  return ReadyConstant{Tensor(), std::move(packed)};
}

class OneDnnKernel final : public Kernel {
 public:
  OneDnnKernel(dnnl::engine engine, dnnl::primitive primitive, std::vector<Argument> arguments,
               std::vector<ReadyConstant> constants, uint64_t scratch_bytes)
      : engine_(std::move(engine)),
        primitive_(std::move(primitive)),
        arguments_(std::move(arguments)),
        constants_(std::move(constants)),
        scratch_bytes_(scratch_bytes) {}

  uint64_t scratch_bytes() const override { return scratch_bytes_; }

  Result<std::unique_ptr<BoundKernel>> Bind(TensorSlots in, TensorSlots out,
                                            std::span<std::byte> scratch) const override {
    try {
      auto bound = std::make_unique<OneDnnBoundKernel>(engine_, primitive_);
      void* scratch_data = scratch.data();
      if (scratch.size() < scratch_bytes_) {
        // Final strides may need more than the dense layouts the candidate was sized for.
        AlignedBytes own(std::aligned_alloc(
            kTensorAlignment, (scratch_bytes_ + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment));
        if (!own) return MakeError(ErrorCode::kOutOfMemory, "onednn.scratch", "no memory for scratch");
        scratch_data = own.get();
        bound->Keep(std::move(own));
      }
      for (const Argument& argument : arguments_) {
        void* data = nullptr;
        switch (argument.source) {
          case Argument::Source::kInput:
            data = in[argument.index]->data;
            break;
          case Argument::Source::kOutput:
            data = out[argument.index]->data;
            break;
          case Argument::Source::kConstant:
            data = constants_[argument.index].data();
            break;
          case Argument::Source::kScratch:
            data = scratch_data;
            break;
        }
        bound->Add(argument.key, dnnl::memory(argument.desc, engine_, data));
      }
      return std::unique_ptr<BoundKernel>(std::move(bound));
    } catch (const dnnl::error& error) {
      return Fault(error, "binding a kernel");
    }
  }

 private:
  dnnl::engine engine_;
  dnnl::primitive primitive_;
  std::vector<Argument> arguments_;
  std::vector<ReadyConstant> constants_;
  uint64_t scratch_bytes_ = 0;
};

}  // namespace

Result<std::unique_ptr<Kernel>> MakeKernel(const dnnl::engine& engine, KernelDescriptor descriptor,
                                           CompileContext& context) {
  std::vector<ReadyConstant> constants;
  for (const ConstantOperand& constant : descriptor.constants) {
    PT_ASSIGN(ReadyConstant ready, Prepare(engine, constant, context));
    constants.push_back(std::move(ready));
  }
  try {
    // Equal primitives share one implementation through oneDNN's own cache.
    dnnl::primitive primitive(descriptor.call.description.get());
    const uint64_t scratch_bytes = descriptor.scratch_bytes();
    return std::unique_ptr<Kernel>(std::make_unique<OneDnnKernel>(
        engine, std::move(primitive), std::move(descriptor.call.arguments), std::move(constants), scratch_bytes));
  } catch (const dnnl::error& error) {
    return Fault(error, "making a primitive");
  }
}

}  // namespace pt::onednn
