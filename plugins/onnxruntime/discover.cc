#include "plugins/onnxruntime/discover.h"

#include <algorithm>

#include "partitiontuner/candidate/device_calls.h"
#include "partitiontuner/graph/graph_builder.h"
#include "partitiontuner/platform/asynchronous_device.h"
#include "plugins/onnxruntime/hardware.h"
#include "plugins/shared/device_files.h"

namespace pt::onnxruntime {
namespace {

constexpr std::string_view kPrefix = "onnxruntime:";
constexpr uint32_t kUsualStreams = 2;
constexpr plugins::DeviceFileForm kForm = {kName, "provider", "streams"};

// What every provider runs that runs anything.
Result<Graph> OneNode() {
  GraphBuilder builder;
  builder.set_opset(25);
  const ValueType type = StaticType(DataType::kFloat32, {1, 16});
  builder.AddOutput(builder.AddOp("Relu", {builder.AddInput("x", type)}, type));
  return builder.Build();
}

class Discovery {
 public:
  Discovery(const OrtRuntime& runtime, std::vector<std::string> listed)
      : runtime_(runtime), listed_(std::move(listed)) {}

  // Nothing where a provider that no file describes does not run here: its libraries or its hardware are missing.
  Status Add(const std::string& text, const plugins::DescribedDevice& described, Platform& platform) const {
    const ProviderName name = ParseProviderName(text);
    const bool is_described = !described.what.empty();
    if (is_described) PT_CHECK_OK(CheckThere(name, described));
    Device device;
    device.name = std::string(kPrefix) + text;
    device.kind = kName;
    if (described.calls) device.calls = *described.calls;
    if (!described.calls) device.calls.least_flops = LeastFlopsOf(name);
    device.calls.islands = true;  // a session is made of a whole group, whatever the file says
    const auto math = ModeOf(name, described);
    if (!math.ok()) return is_described ? Status(math.error()) : Status();
    device.calls.math = *math == MathMode::kFp32 ? "" : std::string(MathModeName(*math));
    device.fingerprint = name.listed() + (name.which.empty() ? "" : " " + name.which) + ", ONNX Runtime " +
                         runtime_.version() + (name.is_cpu() ? "" : ", " + AcceleratorsOf());
    const auto added =
        AddAsynchronousDevice(platform, std::move(device), described.streams.value_or(kUsualStreams), Link(), Link());
    return added.ok() ? Status() : Status(added.error());
  }

 private:
  Status CheckThere(const ProviderName& name, const plugins::DescribedDevice& described) const {
    if (std::ranges::find(listed_, name.listed()) == listed_.end()) {
      std::vector<std::string> names;
      for (const std::string& listed : listed_) names.push_back(NameInFiles(listed));
      return plugins::NoSuchDevice(name.text(), described, names, kForm);
    }
    if (name.which.empty() || HasDevicesToChoose(name)) return {};
    return Bad(described, "the provider " + name.provider + " has no devices to choose from: \"" + name.which + "\"");
  }

  static std::string NameInFiles(const std::string& listed) {
    return listed.substr(0, listed.find("ExecutionProvider"));
  }

  // The mode that the file names, or the first that the provider computes in here.
  Result<MathMode> ModeOf(const ProviderName& name, const plugins::DescribedDevice& described) const {
    std::vector<MathMode> modes = ModesOf(name);
    if (described.calls && !described.calls->math.empty()) {
      modes = {MathModeFromName(described.calls->math).value_or(MathMode::kFp32)};
    }
    if (modes.empty()) modes = {MathMode::kFp32};
    PT_ASSIGN(const Graph node, OneNode());
    Status last;
    for (const MathMode math : modes) {
      last = runtime_.CheckRuns(node, {name, math, {}});
      if (last.ok()) return math;
    }
    Error error = OrtError(ErrorCode::kDeviceUnusable,
                           "the provider " + name.text() + " runs nothing here: " + last.error().message);
    error.file = described.what;
    return error;
  }

  static Error Bad(const plugins::DescribedDevice& described, const std::string& message) {
    return MakeError(ErrorCode::kInvalidInput, "onnxruntime.described", described.what + ": " + message);
  }

  const OrtRuntime& runtime_;
  const std::vector<std::string> listed_;
};

}  // namespace

ProviderName ProviderOf(const Device& device) {
  const std::string_view name = device.name;
  return ParseProviderName(name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : name);
}

Status AddDevices(const OrtRuntime& runtime, const DiscoverRequest& request, Platform& platform) {
  PT_ASSIGN(const std::vector<std::string> listed, runtime.Providers());
  std::vector<std::string> by_themselves;
  for (const ProviderName& name : ProvidersOfThemselves(listed)) by_themselves.push_back(name.text());
  PT_ASSIGN(const auto devices, plugins::DevicesToAdd(by_themselves, request.described, kForm));
  const Discovery discovery(runtime, listed);
  Platform attempt = platform;
  for (const auto& [name, described] : devices) PT_CHECK_OK(discovery.Add(name, described, attempt));
  platform = std::move(attempt);
  return {};
}

}  // namespace pt::onnxruntime
