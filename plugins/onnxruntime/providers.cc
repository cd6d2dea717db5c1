#include "plugins/onnxruntime/providers.h"

#include <algorithm>
#include <array>

namespace pt::onnxruntime {
namespace {

struct Option {
  const char *key, *value;
};

// How it computes in a mode.
struct Mode {
  MathMode math = MathMode::kFp32;
  std::optional<Option> option;  // that it takes for that
};

// By which functions of the API a provider is added: those with options of a type of their own, which the shared object
// makes and fills in, and those that take keys and values at once.
enum class Way : uint8_t { kCuda, kTensorRt, kRocm, kOpenVino, kGeneric };

struct Row {
  std::string_view provider;
  Way way = Way::kGeneric;
  const char* which = nullptr;  // the option that tells devices behind it apart, if there are any
  std::array<const char*, 2> devices = {"", nullptr};  // that become one of themselves, by `which`
  std::array<Mode, 2> modes;                           // the second may repeat the first
  std::optional<Option> always = std::nullopt;
  double least_flops = 0;
};

constexpr Mode kFp32{MathMode::kFp32, std::nullopt};
constexpr Mode kQnnFp16{MathMode::kFp16, Option{"enable_htp_fp16_precision", "1"}};
// Of an NPU behind a driver: as the OpenVINO plugin assumes it.
constexpr double kNpuLeastFlops = 1e7;

// An option that a provider does not know in some version is an error when it is added: nothing is passed over.
constexpr std::array kRows = {
    // TF32 is its own choice on devices that have it.
    Row{.provider = "CUDA",
        .way = Way::kCuda,
        .which = "device_id",
        .modes = {Mode{MathMode::kFp32, Option{"use_tf32", "0"}}, Mode{MathMode::kTf32, Option{"use_tf32", "1"}}},
        .always = Option{"arena_extend_strategy", "kSameAsRequested"}},
    // TensorRT takes TF32 of itself, and this provider has no option against it.
    Row{.provider = "Tensorrt",
        .way = Way::kTensorRt,
        .which = "device_id",
        .modes = {Mode{MathMode::kTf32, Option{"trt_fp16_enable", "0"}},
                  Mode{MathMode::kFp16, Option{"trt_fp16_enable", "1"}}}},
    Row{.provider = "ROCM", .way = Way::kRocm, .which = "device_id", .modes = {kFp32, kFp32}},
    Row{.provider = "MIGraphX",
        .which = "device_id",
        .modes = {Mode{MathMode::kFp32, Option{"migraphx_fp16_enable", "0"}},
                  Mode{MathMode::kFp16, Option{"migraphx_fp16_enable", "1"}}}},
    // An NPU refuses float32, so that it comes out as a device of fp16.
    Row{.provider = "OpenVINO",
        .way = Way::kOpenVino,
        .which = "device_type",
        .devices = {"GPU", "NPU"},
        .modes = {Mode{MathMode::kFp32, Option{"precision", "FP32"}},
                  Mode{MathMode::kFp16, Option{"precision", "FP16"}}}},
    Row{.provider = "QNN",
        .modes = {kQnnFp16, kQnnFp16},
        .always = Option{"backend_path", "libQnnHtp.so"},
        .least_flops = kNpuLeastFlops},
};

struct LeftOut {
  std::string_view provider, reason;
};
constexpr std::string_view kOnTheHost = "it computes on the host's cores, which are not a device of their own";
constexpr std::array kLeftOut = {
    LeftOut{"CPU", "it is the host's, whose units it serves"},
    LeftOut{"Xnnpack", kOnTheHost},
    LeftOut{"Dnnl", kOnTheHost},
    LeftOut{"ACL", kOnTheHost},
    LeftOut{"ArmNN", kOnTheHost},
    LeftOut{"Azure", "it asks a service on the network"},
    LeftOut{"Dml", "it is Windows' alone"},
    LeftOut{"CoreML", "it is macOS's alone"},
};

const Row* RowOf(std::string_view provider) {
  const auto row = std::ranges::find(kRows, provider, &Row::provider);
  return row == kRows.end() ? nullptr : &*row;
}

std::string_view WithoutSuffix(std::string_view listed) {
  constexpr std::string_view kSuffix = "ExecutionProvider";
  return listed.ends_with(kSuffix) ? listed.substr(0, listed.size() - kSuffix.size()) : listed;
}

// Keys and values as the C API takes them.
struct Options {
  std::vector<const char*> keys, values;
  void Add(const Option& option) {
    keys.push_back(option.key);
    values.push_back(option.value);
  }
};

// Valid as long as the name is.
Options OptionsOf(const Row* row, const ProviderName& name, MathMode math) {
  Options options;
  if (row == nullptr) return options;
  if (row->which != nullptr && !name.which.empty()) options.Add({row->which, name.which.c_str()});
  if (row->always) options.Add(*row->always);
  const auto mode = std::ranges::find(row->modes, math, &Mode::math);
  if (mode != row->modes.end() && mode->option) options.Add(*mode->option);
  return options;
}

class Appending {
 public:
  Appending(const OrtApi& api, OrtSessionOptions& session, const Options& options)
      : api_(api), session_(session), options_(options) {}

  Status Cuda() const {
    return Typed(api_.CreateCUDAProviderOptions, api_.UpdateCUDAProviderOptions, api_.ReleaseCUDAProviderOptions,
                 api_.SessionOptionsAppendExecutionProvider_CUDA_V2);
  }
  Status TensorRt() const {
    return Typed(api_.CreateTensorRTProviderOptions, api_.UpdateTensorRTProviderOptions,
                 api_.ReleaseTensorRTProviderOptions, api_.SessionOptionsAppendExecutionProvider_TensorRT_V2);
  }
  Status Rocm() const {
    return Typed(api_.CreateROCMProviderOptions, api_.UpdateROCMProviderOptions, api_.ReleaseROCMProviderOptions,
                 api_.SessionOptionsAppendExecutionProvider_ROCM);
  }
  Status OpenVino() const {
    return Judge(api_.SessionOptionsAppendExecutionProvider_OpenVINO_V2(&session_, options_.keys.data(),
                                                                        options_.values.data(), options_.keys.size()));
  }
  Status Generic(const std::string& provider) const {
    return Judge(api_.SessionOptionsAppendExecutionProvider(&session_, provider.c_str(), options_.keys.data(),
                                                            options_.values.data(), options_.keys.size()));
  }

 private:
  Status Judge(OrtStatus* status) const {
    return Checked(api_, status, ErrorCode::kUnsupported, "adding the provider");
  }

  template <typename Create, typename Update, typename T, typename Append>
  Status Typed(Create create, Update update, void (*release)(T*), Append append) const {
    T* made = nullptr;
    PT_CHECK_OK(Judge(create(&made)));
    const Owned<T> typed(made, release);
    PT_CHECK_OK(Judge(update(made, options_.keys.data(), options_.values.data(), options_.keys.size())));
    return Judge(append(&session_, made));
  }

  const OrtApi& api_;
  OrtSessionOptions& session_;
  const Options& options_;
};

}  // namespace

ProviderName ParseProviderName(std::string_view text) {
  const size_t dot = text.find('.');
  if (dot == text.npos) return {std::string(text), ""};
  return {std::string(text.substr(0, dot)), std::string(text.substr(dot + 1))};
}

std::vector<ProviderName> ProvidersOfThemselves(std::span<const std::string> listed) {
  std::vector<ProviderName> names;
  for (const Row& row : kRows) {
    const bool is_there = std::ranges::any_of(
        listed, [&](const std::string& provider) { return WithoutSuffix(provider) == row.provider; });
    for (const char* device : row.devices) {
      if (is_there && device != nullptr) names.push_back({std::string(row.provider), device});
    }
  }
  return names;
}

std::optional<std::string> WhyNotOfItself(std::string_view listed) {
  const std::string_view provider = WithoutSuffix(listed);
  if (RowOf(provider) != nullptr) return std::nullopt;
  const auto row = std::ranges::find(kLeftOut, provider, &LeftOut::provider);
  if (row != kLeftOut.end()) return std::string(row->reason);
  return "nothing is known of how it computes; a platform file makes it a device";
}

bool HasDevicesToChoose(const ProviderName& name) {
  const Row* const row = RowOf(name.provider);
  return row != nullptr && row->which != nullptr;
}

std::vector<MathMode> ModesOf(const ProviderName& name) {
  if (name.is_cpu()) return {MathMode::kFp32};
  const Row* const row = RowOf(name.provider);
  if (row == nullptr) return {};
  std::vector<MathMode> modes;
  for (const Mode& mode : row->modes) {
    if (std::ranges::find(modes, mode.math) == modes.end()) modes.push_back(mode.math);
  }
  return modes;
}

double LeastFlopsOf(const ProviderName& name) {
  const Row* const row = RowOf(name.provider);
  return row == nullptr ? 0 : row->least_flops;
}

namespace {

Status CheckMode(const ProviderName& name, MathMode math) {
  const std::vector<MathMode> modes = ModesOf(name);
  if (modes.empty() || std::ranges::find(modes, math) != modes.end()) return {};
  std::string names;
  for (const MathMode mode : modes) names += (names.empty() ? "" : ", ") + std::string(MathModeName(mode));
  return OrtError(ErrorCode::kUnsupported, "the provider " + name.provider + " does not compute in " +
                                               std::string(MathModeName(math)) + ", only in " + names);
}

}  // namespace

Status AppendProvider(const OrtApi& api, OrtSessionOptions& session, const ProviderName& name, MathMode math) {
  PT_CHECK_OK(CheckMode(name, math));
  if (name.is_cpu()) return {};
  const Row* const row = RowOf(name.provider);
  const Options options = OptionsOf(row, name, math);
  const Appending appending(api, session, options);
  switch (row == nullptr ? Way::kGeneric : row->way) {
    case Way::kCuda:
      return appending.Cuda();
    case Way::kTensorRt:
      return appending.TensorRt();
    case Way::kRocm:
      return appending.Rocm();
    case Way::kOpenVino:
      return appending.OpenVino();
    case Way::kGeneric:
      break;
  }
  return appending.Generic(name.provider);
}

}  // namespace pt::onnxruntime
