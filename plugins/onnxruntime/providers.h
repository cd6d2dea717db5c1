// ONNX Runtime's execution providers as devices: which become one, how each is added to a session, and with which
// options it computes in which mode.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "partitiontuner/candidate/candidate.h"
#include "plugins/onnxruntime/owned.h"

namespace pt::onnxruntime {

// The host's, which is in every shared object and in every session.
inline constexpr const char* kCpuProvider = "CPU";

// A provider on one of the devices behind it: "CUDA", "CUDA.1", "OpenVINO.NPU".
struct ProviderName {
  std::string provider;  // as ONNX Runtime's listed name begins: "CUDA" of "CUDAExecutionProvider"
  std::string which;     // behind the dot; empty = the provider's own choice

  std::string text() const { return which.empty() ? provider : provider + "." + which; }
  std::string listed() const { return provider + "ExecutionProvider"; }
  bool is_cpu() const { return provider == kCpuProvider; }
};
ProviderName ParseProviderName(std::string_view text);

// Of the listed providers ("CUDAExecutionProvider", …) those that become devices without a file, in the order of the
// table. They are known by name alone: whether their hardware is there only a session shows.
std::vector<ProviderName> ProvidersOfThemselves(std::span<const std::string> listed);
// Why a listed provider becomes no device of itself; nothing when it does.
std::optional<std::string> WhyNotOfItself(std::string_view listed);

// Names may say which device behind the provider is meant.
bool HasDevicesToChoose(const ProviderName& name);
// The modes that the provider computes in, the one to take without a wish first. Empty for a provider that is
// not in the table: nothing is known of it.
std::vector<MathMode> ModesOf(const ProviderName& name);
// Less than that many operations are not worth a call, where no file says otherwise.
double LeastFlopsOf(const ProviderName& name);

// Adds the provider, which is to compute in that mode; the host's is there already. Errors (kUnsupported): it does not
// compute in that mode; with ONNX Runtime's words, it is not part of the shared object, lacks its driver or its device,
// or does not know an option.
Status AppendProvider(const OrtApi& api, OrtSessionOptions& options, const ProviderName& name, MathMode math);

}  // namespace pt::onnxruntime
