#include "plugins/onnxruntime/runtime.h"

#include <onnxruntime_session_options_config_keys.h>

#include <algorithm>
#include <optional>

#include "partitiontuner/onnx/save_onnx.h"
#include "plugins/onnxruntime/element_types.h"
#include "plugins/onnxruntime/ports.h"
#include "plugins/shared/cores.h"

namespace pt::onnxruntime {
namespace {

constexpr ErrorCode kNoUse = ErrorCode::kDeviceUnusable;

// What ONNX Runtime has to say comes back as errors; a library prints nothing.
void ORT_API_CALL Discard(void*, OrtLoggingLevel, const char*, const char*, const char*, const char*) {}

// For every core but the first, where the calling thread is: ONNX Runtime counts from 1.
std::string AffinityText(const std::vector<uint32_t>& cores) {
  std::string text;
  for (size_t i = 1; i < cores.size(); ++i) text += (i > 1 ? ";" : "") + std::to_string(cores[i] + 1);
  return text;
}

}  // namespace

struct OrtRuntime::Wish {
  const OrtTarget& target;
  bool to_ask = false;  // never run: nothing is optimised or packed
};

OrtRuntime::OrtRuntime(LoadedRuntime loaded) : loaded_(std::move(loaded)) {}

OrtRuntime::~OrtRuntime() {
  if (environment_ != nullptr) api().ReleaseEnv(environment_);
}

Result<std::shared_ptr<const OrtRuntime>> OrtRuntime::Get() {
  static std::mutex mutex;
  static std::weak_ptr<const OrtRuntime> shared;
  const std::lock_guard lock(mutex);
  if (auto runtime = shared.lock()) return runtime;
  PT_ASSIGN(LoadedRuntime loaded, LoadRuntime());
  const auto runtime = std::make_shared<const OrtRuntime>(std::move(loaded));
  shared = runtime;
  return runtime;
}

Result<std::vector<std::string>> OrtRuntime::Providers() const {
  char** names = nullptr;
  int count = 0;
  PT_CHECK_OK(Checked(api(), api().GetAvailableProviders(&names, &count), kNoUse, "listing providers"));
  std::vector<std::string> providers(names, names + count);
  PT_CHECK_OK(Checked(api(), api().ReleaseAvailableProviders(names, count), kNoUse, "listing providers"));
  return providers;
}

Status OrtRuntime::Start() const {
  const std::lock_guard lock(mutex_);
  if (environment_ != nullptr) return {};
  PT_CHECK_OK(MakeEnvironment());
  return MakeArena();
}

// Without threads of its own: each session has those it needs.
Status OrtRuntime::MakeEnvironment() const {
  return Checked(
      api(),
      api().CreateEnvWithCustomLogger(&Discard, nullptr, ORT_LOGGING_LEVEL_FATAL, "partitiontuner", &environment_),
      kNoUse, "starting");
}

// Of all sessions, so that what one gives back another takes; it grows by what is asked for and no more.
Status OrtRuntime::MakeArena() const {
  constexpr const char* kKeys[] = {"arena_extend_strategy"};
  constexpr size_t kSameAsRequested[] = {1};
  OrtArenaCfg* made = nullptr;
  PT_CHECK_OK(Checked(api(), api().CreateArenaCfgV2(kKeys, kSameAsRequested, 1, &made), kNoUse, "making an arena"));
  const Owned<OrtArenaCfg> arena(made, api().ReleaseArenaCfg);
  OrtMemoryInfo* where = nullptr;
  PT_CHECK_OK(Checked(api(), api().CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &where), kNoUse,
                      "making an arena"));
  const Owned<OrtMemoryInfo> memory(where, api().ReleaseMemoryInfo);
  return Checked(api(), api().CreateAndRegisterAllocator(environment_, where, made), kNoUse, "making an arena");
}

Result<Owned<OrtSessionOptions>> OrtRuntime::Options(const Wish& wish) const {
  OrtSessionOptions* made = nullptr;
  PT_CHECK_OK(Checked(api(), api().CreateSessionOptions(&made), ErrorCode::kOutOfMemory, "session options"));
  Owned<OrtSessionOptions> options(made, api().ReleaseSessionOptions);
  const auto checked = [&](OrtStatus* status) {
    return Checked(api(), status, ErrorCode::kUnsupported, "session options");
  };
  const auto set = [&](const char* key, const std::string& value) {
    return checked(api().AddSessionConfigEntry(made, key, value.c_str()));
  };
  PT_CHECK_OK(checked(api().SetSessionGraphOptimizationLevel(made, wish.to_ask ? ORT_DISABLE_ALL : ORT_ENABLE_ALL)));
  PT_CHECK_OK(checked(api().SetSessionExecutionMode(made, ORT_SEQUENTIAL)));
  PT_CHECK_OK(checked(api().SetSessionLogSeverityLevel(made, ORT_LOGGING_LEVEL_FATAL)));
  PT_CHECK_OK(checked(api().SetDeterministicCompute(made, true)));
  PT_CHECK_OK(set(kOrtSessionOptionsConfigUseEnvAllocators, "1"));
  PT_CHECK_OK(set(kOrtSessionOptionsConfigDisablePrepacking, wish.to_ask ? "1" : "0"));
  // By itself it rounds what a matrix is multiplied with to 8 bits where that matrix alone is quantised.
  PT_CHECK_OK(set(kOrtSessionOptionsQDQMatMulNBitsAccuracyLevel, "1"));
  // Threads wait for work within a run without sleeping, and never between runs, when the cores are others'. That is
  // why sessions share no threads: ONNX Runtime keeps those of an environment from sleeping whatever a session says.
  PT_CHECK_OK(set(kOrtSessionOptionsConfigForceSpinningStop, "1"));
  const std::vector<uint32_t>& cores = wish.target.cores;
  PT_CHECK_OK(checked(api().SetIntraOpNumThreads(made, static_cast<int>(std::max<size_t>(1, cores.size())))));
  if (cores.size() > 1) {
    PT_CHECK_OK(set(kOrtSessionOptionsConfigIntraOpThreadAffinities, AffinityText(cores)));
  }
  PT_CHECK_OK(AppendProvider(api(), *made, wish.target.provider, wish.target.math));
  // What another provider does not take would be computed by the host's, on cores that belong to others.
  if (!wish.target.provider.is_cpu()) PT_CHECK_OK(set(kOrtSessionOptionsDisableCPUEPFallback, "1"));
  return options;
}

Result<GroupSession> OrtRuntime::Make(const Graph& group, const Wish& wish) const {
  PT_CHECK_OK(Start());
  PT_ASSIGN(const std::string bytes, SaveOnnxBytes(group));
  PT_ASSIGN(const Owned<OrtSessionOptions> options, Options(wish));
  OrtSession* made = nullptr;
  PT_CHECK_OK(Checked(api(),
                      api().CreateSessionFromArray(environment_, bytes.data(), bytes.size(), options.get(), &made),
                      ErrorCode::kUnsupported, "compiling the group"));
  GroupSession session{shared_from_this(), {made, api().ReleaseSession}, {}, {}};
  PT_CHECK_OK(ReadPorts(api(), group, session));
  return session;
}

Status OrtRuntime::CheckRuns(const Graph& group, const OrtTarget& target) const {
  const auto session = Make(group, {target, true});
  return session.ok() ? Status() : session.error();
}

Result<GroupSession> OrtRuntime::Compile(const Graph& group, const OrtTarget& target) const {
  if (target.cores.size() <= 1) return Make(group, {target});
  std::optional<Result<GroupSession>> session;
  plugins::RunOnCores(target.cores, [&]() { session.emplace(Make(group, {target})); });
  return std::move(*session);
}

}  // namespace pt::onnxruntime
