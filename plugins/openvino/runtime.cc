#include "plugins/openvino/runtime.h"

#include <algorithm>
#include <mutex>
#include <openvino/op/parameter.hpp>
#include <openvino/op/result.hpp>
#include <openvino/runtime/intel_gpu/properties.hpp>
#include <openvino/runtime/intel_npu/properties.hpp>
#include <openvino/runtime/properties.hpp>
#include <sstream>

#include "partitiontuner/onnx/save_onnx.h"
#include "partitiontuner/support/hash.h"
#include "plugins/openvino/copies.h"
#include "plugins/openvino/fence.h"

namespace pt::openvino {
namespace {

Error Unsupported(std::string message) { return OpenVinoError(ErrorCode::kUnsupported, std::move(message)); }

std::optional<ov::element::Type> TypeOf(MathMode math) {
  if (math == MathMode::kFp32) return ov::element::f32;
  if (math == MathMode::kFp16) return ov::element::f16;
  if (math == MathMode::kBf16) return ov::element::bf16;
  return std::nullopt;
}

// What the front end made of an input or output against what the group has there.
template <typename Port>
Status CheckPort(const Port& port, const Value& value) {
  const auto dims = value.type.static_dims();
  const ov::PartialShape& shape = port.get_partial_shape();
  const bool same =
      dims && shape.is_static() && port.get_element_type() == ov::element::f32 &&
      std::ranges::equal(shape.to_shape(), *dims, [](size_t a, int64_t b) { return std::cmp_equal(a, b); });
  if (same) return {};
  return Unsupported("reads \"" + value.name + "\" (" + ToString(value.type) + ") as " +
                     port.get_element_type().get_type_name() + shape.to_string());
}

template <typename Ports>
Status CheckPorts(const Ports& ports, const Graph& group, std::span<const ValueId> values, const char* what) {
  if (ports.size() != values.size()) {
    return Unsupported("reads " + std::to_string(ports.size()) + " " + what + " of " + std::to_string(values.size()));
  }
  for (size_t i = 0; i < values.size(); ++i) PT_CHECK_OK(CheckPort(ports[i], group.value(values[i])));
  return {};
}

// A device that cannot compute in the mode takes another without a word.
Status CheckMode(const ov::CompiledModel& compiled, const Target& target) {
  return Fenced(ErrorCode::kUnsupported, "asking for the precision", [&]() -> Status {
    const ov::element::Type type = compiled.get_property(ov::hint::inference_precision);
    if (type == TypeOf(target.math)) return {};
    return Unsupported("the device " + target.device + " computes in " + type.get_type_name() +
                       " where it was asked for " + std::string(MathModeName(target.math)));
  });
}

}  // namespace

bool DeviceFacts::can(std::string_view capability) const {
  return std::ranges::find(capabilities, capability) != capabilities.end();
}

std::string DeviceFacts::Fingerprint() const {
  return full_name + (driver.empty() ? "" : ", driver " + driver) + ", OpenVINO " + Runtime::Version();
}

Result<std::shared_ptr<Runtime>> Runtime::Get() {
  return Fenced(ErrorCode::kDeviceUnusable, "starting OpenVINO", []() -> Result<std::shared_ptr<Runtime>> {
    static std::mutex mutex;
    static std::weak_ptr<Runtime> shared;
    const std::lock_guard lock(mutex);
    if (auto runtime = shared.lock()) return runtime;
    PT_CHECK_OK(CheckVersion());
    PT_ASSIGN(const std::optional<BlobCache::Options> cache, BlobCache::Options::FromEnvironment());
    auto runtime = std::make_shared<Runtime>();
    const std::vector<std::string> devices = runtime->core_.get_available_devices();
    if (std::ranges::find(devices, kCpu) == devices.end()) {
      return OpenVinoError(ErrorCode::kDeviceUnusable, "this OpenVINO has no CPU device");
    }
    if (cache) runtime->blobs_.emplace(*cache);
    shared = runtime;
    return runtime;
  });
}

std::vector<std::string> Runtime::Devices() const {
  const auto devices = Fenced(ErrorCode::kDeviceUnusable, "asking for devices",
                              [&]() -> Result<std::vector<std::string>> { return core_.get_available_devices(); });
  return devices.ok() ? *devices : std::vector<std::string>();
}

Result<DeviceFacts> Runtime::FactsOf(const std::string& device) const {
  return Fenced(ErrorCode::kDeviceUnusable, "asking for the device", [&]() -> Result<DeviceFacts> {
    DeviceFacts facts;
    facts.name = device;
    facts.full_name = core_.get_property(device, ov::device::full_name);
    facts.capabilities = core_.get_property(device, ov::device::capabilities);
    const std::vector<ov::PropertyName> known = core_.get_property(device, ov::supported_properties);
    const auto knows = [&](const std::string& name) {
      return std::ranges::any_of(known, [&](const ov::PropertyName& one) { return one == name; });
    };
    if (knows(ov::range_for_async_infer_requests.name())) {
      facts.requests = std::max(1U, std::get<1>(core_.get_property(device, ov::range_for_async_infer_requests)));
    }
    if (knows(ov::intel_npu::driver_version.name())) {
      facts.driver = std::to_string(core_.get_property(device, ov::intel_npu::driver_version));
    } else if (knows(ov::device::architecture.name())) {
      facts.driver = core_.get_property(device, ov::device::architecture);
    }
    if (knows(ov::intel_npu::device_total_mem_size.name())) {
      facts.memory_bytes = core_.get_property(device, ov::intel_npu::device_total_mem_size);
    } else if (knows(ov::intel_gpu::device_total_mem_size.name())) {
      facts.memory_bytes = core_.get_property(device, ov::intel_gpu::device_total_mem_size);
    }
    return facts;
  });
}

// The CPU device has no context, and says so by throwing: then the memory of the process is as good as any.
Result<std::optional<ov::Tensor>> Runtime::SharedTensor(const std::string& device, uint64_t bytes) const {
  const auto context = Fenced(ErrorCode::kUnsupported, "asking for the device's context",
                              [&]() -> Result<ov::RemoteContext> { return core_.get_default_context(device); });
  if (!context.ok()) return std::optional<ov::Tensor>();
  return Fenced(ErrorCode::kOutOfMemory, "allocating on the device", [&]() -> Result<std::optional<ov::Tensor>> {
    ov::RemoteContext own = *context;
    return std::optional(own.create_host_tensor(ov::element::u8, ov::Shape{bytes}));
  });
}

std::string Runtime::Version() {
  const ov::Version version = ov::get_openvino_version();
  return version.buildNumber == nullptr ? "unknown" : version.buildNumber;
}

Result<std::shared_ptr<ov::Model>> Runtime::Read(const Graph& group) const {
  PT_ASSIGN(const std::string bytes, SaveOnnxBytes(group));
  return Fenced(ErrorCode::kUnsupported, "reading the group", [&]() -> Result<std::shared_ptr<ov::Model>> {
    std::shared_ptr<ov::Model> model = core_.read_model(bytes, ov::Tensor());
    PT_CHECK_OK(CheckPorts(model->inputs(), group, group.inputs(), "inputs"));
    PT_CHECK_OK(CheckPorts(model->outputs(), group, group.outputs(), "outputs"));
    // The CPU device leaves such an output as it was when it is memory of ours.
    for (const auto& result : model->get_results()) {
      if (ov::as_type_ptr<ov::op::v0::Parameter>(result->get_input_node_shared_ptr(0))) {
        return Unsupported("reads an output as one of the inputs");
      }
    }
    return model;
  });
}

Status Runtime::CheckRuns(const std::shared_ptr<ov::Model>& model, const std::string& device) const {
  return Fenced(ErrorCode::kUnsupported, "asking the device", [&]() -> Status {
    const ov::SupportedOpsMap runs = core_.query_model(model, device);
    std::string missing;
    for (const auto& node : model->get_ordered_ops()) {
      if (runs.contains(node->get_friendly_name())) continue;
      missing += (missing.empty() ? "" : ", ") + std::string(node->get_type_name()) + " " + node->get_friendly_name();
    }
    return missing.empty() ? Status() : Unsupported("the device " + device + " does not run " + missing);
  });
}

// What is asked of the device, as far as it knows of it. By default OpenVINO computes in bfloat16 on processors and in
// float16 on GPUs that have it, spreads over several requests, and pins threads to cores of its own choice: among them
// the calling one, which belongs to the executor.
Result<ov::AnyMap> Runtime::Config(const Target& target) const {
  const std::optional<ov::element::Type> type = TypeOf(target.math);
  if (!type) return Unsupported("OpenVINO is not asked to compute in " + std::string(MathModeName(target.math)));
  ov::AnyMap wishes{ov::hint::inference_precision(*type), ov::hint::execution_mode(ov::hint::ExecutionMode::ACCURACY),
                    ov::hint::dynamic_quantization_group_size(0),
                    ov::num_streams(static_cast<int32_t>(target.requests)), ov::hint::enable_cpu_pinning(false)};
  if (target.threads > 0) wishes.insert(ov::inference_num_threads(static_cast<int32_t>(target.threads)));
  return Fenced(ErrorCode::kUnsupported, "asking the device", [&]() -> Result<ov::AnyMap> {
    const std::vector<ov::PropertyName> known = core_.get_property(target.device, ov::supported_properties);
    std::erase_if(wishes, [&](const auto& wish) {
      return std::ranges::none_of(known,
                                  [&](const ov::PropertyName& one) { return one == wish.first && one.is_mutable(); });
    });
    return wishes;
  });
}

Result<ov::CompiledModel> Runtime::Compile(const std::shared_ptr<ov::Model>& model, const Target& target) const {
  PT_ASSIGN(const ov::AnyMap config, Config(target));
  PT_ASSIGN(ov::CompiledModel compiled,
            Fenced(ErrorCode::kUnsupported, "compiling the group", [&]() -> Result<ov::CompiledModel> {
              ov::CompiledModel made = core_.compile_model(model, target.device, config);
              if (target.threads > 1) made.create_infer_request().infer();
              return made;
            }));
  PT_CHECK_OK(CheckMode(compiled, target));
  return compiled;
}

Result<ov::CompiledModel> Runtime::Import(const std::string& blob, const Target& target) const {
  PT_ASSIGN(const ov::AnyMap config, Config(target));
  PT_ASSIGN(ov::CompiledModel compiled,
            Fenced(ErrorCode::kUnsupported, "importing the group", [&]() -> Result<ov::CompiledModel> {
              std::istringstream stream(blob);
              return core_.import_model(stream, target.device, config);
            }));
  PT_CHECK_OK(CheckMode(compiled, target));
  return compiled;
}

Result<ov::CompiledModel> Runtime::CompileCached(const Graph& group, const Target& target) const {
  PT_ASSIGN(const std::string bytes, SaveOnnxBytes(group));
  PT_ASSIGN(const DeviceFacts facts, FactsOf(target.device));
  const std::string key = "model " + ToHex(HashText(bytes)) + "\ndevice " + target.device + "\n" + facts.Fingerprint() +
                          "\nmath " + std::string(MathModeName(target.math)) + "\nthreads " +
                          std::to_string(target.threads) + "\nrequests " + std::to_string(target.requests) + "\n";
  if (blobs_) {
    if (const std::optional<std::string> blob = blobs_->Find(key)) {
      Result<ov::CompiledModel> imported = Import(*blob, target);
      if (imported.ok()) return imported;
      blobs_->Remove(key);
    }
  }
  PT_ASSIGN(const std::shared_ptr<ov::Model> model, Read(group));
  PT_ASSIGN(ov::CompiledModel compiled, Compile(model, target));
  if (blobs_) {
    // Devices that cannot export are compiled for every time.
    const auto blob = Fenced(ErrorCode::kUnsupported, "exporting the group", [&]() -> Result<std::string> {
      std::ostringstream stream;
      compiled.export_model(stream);
      return std::move(stream).str();
    });
    if (blob.ok()) blobs_->Keep(key, *blob);
  }
  return compiled;
}

}  // namespace pt::openvino
