#include "partitiontuner/exec/watched_library.h"

#include <algorithm>
#include <string>
#include <utility>

#include "partitiontuner/backend/nan.h"
#include "partitiontuner/candidate/signature.h"
#include "partitiontuner/support/hash.h"

namespace pt {
namespace {

// From when it is made until it is destroyed.
class WatchedCall {
 public:
  WatchedCall(KernelWatch& watch, const WatchedKernelName& name) : watch_(watch) { watch_.Begin(name); }
  ~WatchedCall() { watch_.End(); }
  WatchedCall(const WatchedCall&) = delete;
  WatchedCall& operator=(const WatchedCall&) = delete;

 private:
  KernelWatch& watch_;
};

class WatchedBoundKernel final : public BoundKernel {
 public:
  WatchedBoundKernel(std::unique_ptr<BoundKernel> bound, std::shared_ptr<const WatchedKernelName> name,
                     KernelWatch& watch)
      : bound_(std::move(bound)), name_(std::move(name)), watch_(watch) {}

  Status Enqueue(const RunContext& run) noexcept override {
    if (called_) return bound_->Enqueue(run);
    called_ = true;
    const WatchedCall call(watch_, *name_);
    return bound_->Enqueue(run);
  }

 private:
  std::unique_ptr<BoundKernel> bound_;
  std::shared_ptr<const WatchedKernelName> name_;
  KernelWatch& watch_;
  bool called_ = false;
};

// Shows a probe what the kernel reads and makes.
class ProbedBoundKernel final : public BoundKernel {
 public:
  ProbedBoundKernel(std::unique_ptr<BoundKernel> bound, std::shared_ptr<KernelProbe> probe, TensorSlots in,
                    TensorSlots out)
      : bound_(std::move(bound)), probe_(std::move(probe)), in_(in.begin(), in.end()), out_(out.begin(), out.end()) {}

  Status Enqueue(const RunContext& run) noexcept override {
    probe_->Before(in_);
    PT_CHECK_OK(bound_->Enqueue(run));
    probe_->After(out_);
    return {};
  }

 private:
  std::unique_ptr<BoundKernel> bound_;
  std::shared_ptr<KernelProbe> probe_;
  std::vector<const TensorView*> in_, out_;
};

class ProbedKernel final : public Kernel {
 public:
  ProbedKernel(std::unique_ptr<Kernel> kernel, std::shared_ptr<KernelProbe> probe)
      : kernel_(std::move(kernel)), probe_(std::move(probe)) {}

  uint64_t scratch_bytes() const override { return kernel_->scratch_bytes(); }
  bool brings_threads() const override { return kernel_->brings_threads(); }
  Result<std::unique_ptr<BoundKernel>> Bind(TensorSlots in, TensorSlots out,
                                            std::span<std::byte> scratch) const override {
    PT_ASSIGN(std::unique_ptr<BoundKernel> bound, kernel_->Bind(in, out, scratch));
    return std::unique_ptr<BoundKernel>(std::make_unique<ProbedBoundKernel>(std::move(bound), probe_, in, out));
  }

 private:
  std::unique_ptr<Kernel> kernel_;
  std::shared_ptr<KernelProbe> probe_;
};

class WatchedKernel final : public Kernel {
 public:
  WatchedKernel(std::unique_ptr<Kernel> kernel, WatchedKernelName name, KernelWatch& watch)
      : kernel_(std::move(kernel)), name_(std::make_shared<const WatchedKernelName>(std::move(name))), watch_(watch) {}

  uint64_t scratch_bytes() const override { return kernel_->scratch_bytes(); }
  bool brings_threads() const override { return kernel_->brings_threads(); }
  Result<std::unique_ptr<BoundKernel>> Bind(TensorSlots in, TensorSlots out,
                                            std::span<std::byte> scratch) const override {
    const WatchedCall call(watch_, *name_);
    PT_ASSIGN(std::unique_ptr<BoundKernel> bound, kernel_->Bind(in, out, scratch));
    return std::unique_ptr<BoundKernel>(std::make_unique<WatchedBoundKernel>(std::move(bound), name_, watch_));
  }

 private:
  std::unique_ptr<Kernel> kernel_;
  std::shared_ptr<const WatchedKernelName> name_;
  KernelWatch& watch_;
};

class WatchedLibrary final : public Library, public TellsOfNan {
 public:
  WatchedLibrary(std::unique_ptr<Library> library, KernelWatch& watch) : library_(std::move(library)), watch_(watch) {}

  std::string_view name() const override { return library_->name(); }
  std::string version() const override { return library_->version(); }
  bool Serves(const Platform& platform, DeviceId device) const override { return library_->Serves(platform, device); }
  Precision Modes(const Platform& platform) const override { return library_->Modes(platform); }

  std::vector<Candidate> Candidates(const Graph& graph, const Platform& platform,
                                    const Precision& precision) const override {
    return Allowed(graph, library_->Candidates(graph, platform, precision));
  }
  std::vector<Candidate> AgnosticCandidates(const Graph& graph, const Platform& platform,
                                            std::span<const Candidate> so_far) const override {
    return Allowed(graph, library_->AgnosticCandidates(graph, platform, so_far));
  }
  std::vector<Candidate> CandidatesFor(const Graph& graph, const Platform& platform, std::span<const NodeId> nodes,
                                       const Precision& precision) const override {
    return Allowed(graph, library_->CandidatesFor(graph, platform, nodes, precision));
  }
  Result<Candidate> Describe(const Graph& graph, const Platform& platform, const Candidate& asked) const override {
    if (IsExcluded(graph, asked)) {
      return MakeError(ErrorCode::kUnsupported, "candidate.excluded",
                       NameOf(graph, asked).label + " is left out: the process crashed when it was first called",
                       "make another plan");
    }
    return library_->Describe(graph, platform, asked);
  }
  std::optional<std::string> WhyUnsupported(const Graph& graph, NodeId node) const override {
    std::optional<std::string> why = library_->WhyUnsupported(graph, node);
    if (!why && ExcludesAny()) why = "what it offers may have crashed when it was first called, and is left out";
    return why;
  }
  bool KeepsNan(const Graph& graph, const Candidate& candidate) const override {
    return pt::KeepsNan(*library_, graph, candidate);
  }

  Result<std::unique_ptr<Kernel>> Compile(const Graph& graph, const Candidate& candidate,
                                          std::span<const TensorLayout> in, std::span<const TensorLayout> out,
                                          CompileContext& context) const override {
    PT_ASSIGN(std::unique_ptr<Kernel> kernel,
              Watched(NameOf(graph, candidate), [&] { return library_->Compile(graph, candidate, in, out, context); }));
    if (!IsHost(context.device.id())) return kernel;
    std::shared_ptr<KernelProbe> probe = watch_.ProbeOf(graph, candidate);
    if (probe == nullptr) return kernel;
    return std::unique_ptr<Kernel>(std::make_unique<ProbedKernel>(std::move(kernel), std::move(probe)));
  }
  bool CanReorder(const Platform& platform, UnitClassId unit_class, std::span<const int64_t> dims, const Form& from,
                  const Form& to) const override {
    return library_->CanReorder(platform, unit_class, dims, from, to) &&
           !(ExcludesAny() && watch_.IsExcluded(NameOfReorder(dims, from.layout, from.storage, to.layout, to.storage)));
  }
  Result<std::unique_ptr<Kernel>> CompileReorder(const TensorLayout& from, const TensorLayout& to,
                                                 CompileContext& context) const override {
    return Watched(NameOfReorder(from.dims, from.layout, from.type, to.layout, to.type),
                   [&] { return library_->CompileReorder(from, to, context); });
  }
  std::optional<int64_t> KnownCost(const Graph& graph, const Platform& platform,
                                   const Candidate& candidate) const override {
    return library_->KnownCost(graph, platform, candidate);
  }

 private:
  template <typename Compile>
  Result<std::unique_ptr<Kernel>> Watched(WatchedKernelName name, Compile compile) const {
    std::unique_ptr<Kernel> kernel;
    {
      const WatchedCall call(watch_, name);
      PT_ASSIGN(kernel, compile());
    }
    return std::unique_ptr<Kernel>(std::make_unique<WatchedKernel>(std::move(kernel), std::move(name), watch_));
  }

  WatchedKernelName Named(std::string_view work, std::string label) const {
    const std::string text = version() + " " + std::string(work);
    return {std::string(name()), ToHex(HashBytes(std::as_bytes(std::span(text)))), std::move(label)};
  }
  WatchedKernelName NameOf(const Graph& graph, const Candidate& candidate) const {
    std::string work = candidate.variant + " " + std::string(MathModeName(candidate.math));
    for (const std::vector<Form>* forms : {&candidate.in, &candidate.out}) {
      for (const Form& form : *forms) work += " " + FormText(form.layout, form.storage);
    }
    work += " " + WorkSignature(graph, candidate.nodes);
    std::string label = std::string(name()) + "'s kernel of ";
    for (const NodeId node : candidate.nodes) {
      label += (node == candidate.nodes.front() ? "" : ", ") + NodeLabel(graph, node);
    }
    if (!candidate.variant.empty()) label += " (" + candidate.variant + ")";
    return Named(work, std::move(label));
  }
  WatchedKernelName NameOfReorder(std::span<const int64_t> dims, const Layout& from, DataType from_type,
                                  const Layout& to, DataType to_type) const {
    std::string sizes;
    for (const int64_t dim : dims) sizes += (sizes.empty() ? "" : "x") + std::to_string(dim);
    const std::string work =
        "reorder of " + sizes + " from " + FormText(from, from_type) + " to " + FormText(to, to_type);
    return Named(work, std::string(name()) + "'s " + work);
  }
  static std::string FormText(const Layout& layout, DataType type) {
    return ToString(layout) + ":" + std::string(DataTypeName(type));
  }
  bool ExcludesAny() const { return watch_.ExcludesAnyOf(name()); }
  bool IsExcluded(const Graph& graph, const Candidate& candidate) const {
    return ExcludesAny() && watch_.IsExcluded(NameOf(graph, candidate));
  }
  std::vector<Candidate> Allowed(const Graph& graph, std::vector<Candidate> candidates) const {
    if (!ExcludesAny()) return candidates;
    std::erase_if(candidates, [&](const Candidate& candidate) { return IsExcluded(graph, candidate); });
    return candidates;
  }

  std::unique_ptr<Library> library_;
  KernelWatch& watch_;
};

}  // namespace

std::unique_ptr<Library> MakeWatchedLibrary(std::unique_ptr<Library> library, KernelWatch& watch) {
  return std::make_unique<WatchedLibrary>(std::move(library), watch);
}

}  // namespace pt
