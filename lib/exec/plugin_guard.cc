#include "lib/exec/plugin_guard.h"

#include "partitiontuner/backend/nan.h"

namespace pt {

void FaultLog::Note(Error error) {
  const std::lock_guard lock(mutex_);
  if (!first_) first_ = std::move(error);
}

Status FaultLog::first() const {
  const std::lock_guard lock(mutex_);
  return first_ ? Status(*first_) : Status();
}

Error PluginThrew(std::string_view plugin, std::string_view where, const char* what) {
  Error error = MakeError(ErrorCode::kInternal, "plugin.exception",
                          "the plugin '" + std::string(plugin) + "' threw out of " + std::string(where) + ": " + what,
                          "this is a fault of the plugin; --plugins none leaves it out");
  error.device = plugin;
  return error;
}

namespace {

class GuardedLibrary final : public Library, public TellsOfNan {
 public:
  GuardedLibrary(std::string plugin, std::unique_ptr<Library> library, std::shared_ptr<FaultLog> faults)
      : plugin_(std::move(plugin)), library_(std::move(library)), faults_(std::move(faults)) {
    name_ = Ask("Library::name", [&] { return std::string(library_->name()); });
    version_ = Ask("Library::version", [&] { return library_->version(); });
  }

  std::string_view name() const override { return name_; }
  std::string version() const override { return version_; }
  bool Serves(const Platform& platform, DeviceId device) const override {
    return Ask("Library::Serves", [&] { return library_->Serves(platform, device); });
  }
  Precision Modes(const Platform& platform) const override {
    return Ask("Library::Modes", [&] { return library_->Modes(platform); });
  }

  std::vector<Candidate> Candidates(const Graph& graph, const Platform& platform,
                                    const Precision& precision) const override {
    return Ask("Library::Candidates", [&] { return library_->Candidates(graph, platform, precision); });
  }
  std::vector<Candidate> AgnosticCandidates(const Graph& graph, const Platform& platform,
                                            std::span<const Candidate> so_far) const override {
    return Ask("Library::AgnosticCandidates", [&] { return library_->AgnosticCandidates(graph, platform, so_far); });
  }
  std::vector<Candidate> CandidatesFor(const Graph& graph, const Platform& platform, std::span<const NodeId> nodes,
                                       const Precision& precision) const override {
    return Ask("Library::CandidatesFor", [&] { return library_->CandidatesFor(graph, platform, nodes, precision); });
  }
  Result<Candidate> Describe(const Graph& graph, const Platform& platform, const Candidate& asked) const override {
    return CallPlugin(plugin_, "Library::Describe", [&] { return library_->Describe(graph, platform, asked); });
  }
  std::optional<std::string> WhyUnsupported(const Graph& graph, NodeId node) const override {
    return Ask("Library::WhyUnsupported", [&] { return library_->WhyUnsupported(graph, node); });
  }

  Result<std::unique_ptr<Kernel>> Compile(const Graph& graph, const Candidate& candidate,
                                          std::span<const TensorLayout> in, std::span<const TensorLayout> out,
                                          CompileContext& context) const override {
    return CallPlugin(plugin_, "Library::Compile",
                      [&] { return library_->Compile(graph, candidate, in, out, context); });
  }

  bool CanReorder(const Platform& platform, UnitClassId unit_class, std::span<const int64_t> dims, const Form& from,
                  const Form& to) const override {
    return Ask("Library::CanReorder", [&] { return library_->CanReorder(platform, unit_class, dims, from, to); });
  }
  Result<std::unique_ptr<Kernel>> CompileReorder(const TensorLayout& from, const TensorLayout& to,
                                                 CompileContext& context) const override {
    return CallPlugin(plugin_, "Library::CompileReorder", [&] { return library_->CompileReorder(from, to, context); });
  }

  bool KeepsNan(const Graph& graph, const Candidate& candidate) const override {
    return Ask("TellsOfNan::KeepsNan", [&] { return pt::KeepsNan(*library_, graph, candidate); });
  }
  std::optional<int64_t> KnownCost(const Graph& graph, const Platform& platform,
                                   const Candidate& candidate) const override {
    return Ask("Library::KnownCost", [&] { return library_->KnownCost(graph, platform, candidate); });
  }

 private:
  // What the interface cannot report as an error is noted, and the answer is the type's "nothing".
  template <typename Call>
  auto Ask(std::string_view where, Call call) const -> decltype(call()) {
    Result<decltype(call())> answer = CallPlugin(plugin_, where, [&]() -> Result<decltype(call())> { return call(); });
    if (answer.ok()) return std::move(answer).value();
    faults_->Note(std::move(answer).error());
    return {};
  }

  std::string plugin_, name_, version_;
  std::unique_ptr<Library> library_;
  std::shared_ptr<FaultLog> faults_;
};

}  // namespace

std::unique_ptr<Library> MakeGuardedLibrary(std::string plugin, std::unique_ptr<Library> library,
                                            std::shared_ptr<FaultLog> faults) {
  return std::make_unique<GuardedLibrary>(std::move(plugin), std::move(library), std::move(faults));
}

}  // namespace pt
