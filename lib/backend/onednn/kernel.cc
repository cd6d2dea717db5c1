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

// A primitive and its arguments, at the addresses of one run state.
class BoundCall {
 public:
  explicit BoundCall(dnnl::primitive primitive) : primitive_(std::move(primitive)) {}

  void Add(int key, dnnl::memory memory) {
    arguments_.push_back({key, memory.get()});
    memories_.push_back(std::move(memory));
  }
  dnnl_status_t Execute(const dnnl::stream& stream) const noexcept {
    return dnnl_primitive_execute(primitive_.get(), stream.get(), static_cast<int>(arguments_.size()),
                                  arguments_.data());
  }

 private:
  dnnl::primitive primitive_;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

class OneDnnBoundKernel final : public BoundKernel {
 public:
  explicit OneDnnBoundKernel(const dnnl::engine& engine) : stream_(MakeStream(engine, pool_)) {}
  // The stream holds the pool's address.
  OneDnnBoundKernel(const OneDnnBoundKernel&) = delete;
  OneDnnBoundKernel& operator=(const OneDnnBoundKernel&) = delete;

  void Add(BoundCall call) { calls_.push_back(std::move(call)); }
  void Keep(AlignedBytes scratch) { scratch_ = std::move(scratch); }

  Status Enqueue(const RunContext& run) noexcept override {
    pool_.set_team(run.stream.team());
    for (const BoundCall& call : calls_) {
      if (const dnnl_status_t status = call.Execute(stream_); status != dnnl_success) return ExecutionStatus(status);
    }
    return {};
  }

 private:
  TeamPool pool_;
  dnnl::stream stream_;
  std::vector<BoundCall> calls_;
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

Status CheckBytes(const Tensor& tensor, const Desc& plain) {
  if (tensor.bytes().size() == plain.get_size()) return {};
  return MakeError(ErrorCode::kInternal, "onednn.constant", "a constant's bytes do not match its dims");
}

Status Pack(const dnnl::engine& engine, const ConstantOperand& constant, DeviceBuffer& buffer) {
  try {
    TeamPool alone;
    dnnl::stream stream = MakeStream(engine, alone);
    const ConcurrencyScope scope(1);
    Tensor tensor = constant.tensor;
    if (constant.rearrangement.apply) {
      PT_ASSIGN(tensor, constant.rearrangement.apply(constant.tensor));
    }
    PT_CHECK_OK(CheckBytes(tensor, constant.plain));
    dnnl::memory from(constant.plain, engine,
                      const_cast<std::byte*>(tensor.bytes().data()));  // NOLINT
    dnnl::memory to(constant.packed, engine, buffer.data());
    dnnl::reorder(from, to).execute(stream, from, to);
    stream.wait();
    return {};
  } catch (const dnnl::error& error) {
    return Fault(error, "packing a constant");
  }
}

Result<ReadyConstant> Prepare(const dnnl::engine& engine, const ConstantOperand& constant, CompileContext& context) {
  const bool rearranged = constant.rearrangement.apply != nullptr;
  if (!rearranged) PT_CHECK_OK(CheckBytes(constant.tensor, constant.plain));
  const auto address = reinterpret_cast<uintptr_t>(constant.tensor.bytes().data());
  const bool as_it_is = constant.plain == constant.packed && !rearranged;
  if (as_it_is && address % kTensorAlignment == 0) return ReadyConstant{constant.tensor, nullptr};
  std::string format = "onednn " + DescText(constant.plain) + " > " + DescText(constant.packed);
  if (rearranged) format += " " + std::string(constant.rearrangement.name);
  PT_ASSIGN(auto packed,
            context.weights.Get(constant.tensor.content_hash(), format, context.device, constant.packed.get_size(),
                                [&](DeviceBuffer& buffer) { return Pack(engine, constant, buffer); }));
  return ReadyConstant{Tensor(), std::move(packed)};
}

// A call whose primitive is made.
struct ReadyCall {
  dnnl::primitive primitive;
  std::vector<Argument> arguments;
};

class OneDnnKernel final : public Kernel {
 public:
  OneDnnKernel(dnnl::engine engine, std::vector<ReadyCall> calls, std::vector<ReadyConstant> constants,
               std::vector<uint64_t> temporary_offsets, uint64_t scratch_bytes)
      : engine_(std::move(engine)),
        calls_(std::move(calls)),
        constants_(std::move(constants)),
        temporary_offsets_(std::move(temporary_offsets)),
        scratch_bytes_(scratch_bytes) {}

  uint64_t scratch_bytes() const override { return scratch_bytes_; }

  Result<std::unique_ptr<BoundKernel>> Bind(TensorSlots in, TensorSlots out,
                                            std::span<std::byte> scratch) const override {
    try {
      auto bound = std::make_unique<OneDnnBoundKernel>(engine_);
      std::byte* scratch_data = scratch.data();
      if (scratch.size() < scratch_bytes_) {
        // Final strides may need more than the dense layouts the candidate was sized for.
        AlignedBytes own(std::aligned_alloc(kTensorAlignment, AlignUp(scratch_bytes_)));
        if (!own) return MakeError(ErrorCode::kOutOfMemory, "onednn.scratch", "no memory for scratch");
        scratch_data = static_cast<std::byte*>(own.get());
        bound->Keep(std::move(own));
      }
      for (const ReadyCall& call : calls_) {
        BoundCall bound_call(call.primitive);
        for (const Argument& argument : call.arguments) {
          auto* const data = static_cast<std::byte*>(DataOf(argument, in, out, scratch_data));
          bound_call.Add(argument.key, dnnl::memory(argument.desc, engine_, data + argument.offset));
        }
        bound->Add(std::move(bound_call));
      }
      return std::unique_ptr<BoundKernel>(std::move(bound));
    } catch (const dnnl::error& error) {
      return Fault(error, "binding a kernel");
    }
  }

 private:
  void* DataOf(const Argument& argument, TensorSlots in, TensorSlots out, std::byte* scratch) const {
    switch (argument.source) {
      case Argument::Source::kInput:
        return in[argument.index]->data;
      case Argument::Source::kOutput:
        return out[argument.index]->data;
      case Argument::Source::kConstant:
        return constants_[argument.index].data();
      case Argument::Source::kTemporary:
        return scratch + temporary_offsets_[argument.index];
      case Argument::Source::kScratch:
        return scratch;
    }
    return nullptr;
  }

  dnnl::engine engine_;
  std::vector<ReadyCall> calls_;
  std::vector<ReadyConstant> constants_;
  std::vector<uint64_t> temporary_offsets_;
  uint64_t scratch_bytes_ = 0;
};

}  // namespace

Error Fault(const dnnl::error& error, const char* what) {
  const ErrorCode code = error.status == dnnl_out_of_memory ? ErrorCode::kOutOfMemory : ErrorCode::kRunFailed;
  return MakeError(code, "onednn.failed", std::string(what) + ": oneDNN: " + error.what());
}

Status ExecutionStatus(dnnl_status_t status) noexcept {
  if (status == dnnl_success) return {};
  return MakeError(status == dnnl_out_of_memory ? ErrorCode::kOutOfMemory : ErrorCode::kRunFailed, "onednn.execute",
                   "oneDNN failed with status " + std::to_string(static_cast<int>(status)));
}

Result<std::unique_ptr<Kernel>> MakeKernel(const dnnl::engine& engine, KernelDescriptor descriptor,
                                           CompileContext& context) {
  std::vector<ReadyConstant> constants;
  for (const ConstantOperand& constant : descriptor.constants) {
    PT_ASSIGN(ReadyConstant ready, Prepare(engine, constant, context));
    constants.push_back(std::move(ready));
  }
  try {
    std::vector<ReadyCall> calls;
    // Equal primitives share one implementation through oneDNN's own cache.
    const auto add = [&](Call& call) {
      calls.push_back({dnnl::primitive(call.description.get()), std::move(call.arguments)});
    };
    std::vector<uint64_t> temporary_offsets;
    for (size_t i = 0; i < descriptor.temporaries.size(); ++i) {
      temporary_offsets.push_back(descriptor.temporary_offset(i));
    }
    const uint64_t scratch_bytes = descriptor.scratch_bytes();
    for (Call& call : descriptor.before) add(call);
    add(descriptor.call);
    for (Call& call : descriptor.after) add(call);
    return std::unique_ptr<Kernel>(std::make_unique<OneDnnKernel>(engine, std::move(calls), std::move(constants),
                                                                  std::move(temporary_offsets), scratch_bytes));
  } catch (const dnnl::error& error) {
    return Fault(error, "making a primitive");
  }
}

}  // namespace pt::onednn
