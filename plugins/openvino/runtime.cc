#include "plugins/openvino/runtime.h"

#include <algorithm>
#include <mutex>
#include <openvino/op/parameter.hpp>
#include <openvino/op/result.hpp>
#include <openvino/runtime/properties.hpp>

#include "partitiontuner/onnx/save_onnx.h"
#include "plugins/openvino/fence.h"

namespace pt::openvino {
namespace {

constexpr const char* kDevice = "CPU";

Error Unsupported(std::string message) { return OpenVinoError(ErrorCode::kUnsupported, std::move(message)); }

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

}  // namespace

Result<std::shared_ptr<Runtime>> Runtime::Get() {
  return Fenced(ErrorCode::kDeviceUnusable, "starting OpenVINO", []() -> Result<std::shared_ptr<Runtime>> {
    static std::mutex mutex;
    static std::weak_ptr<Runtime> shared;
    const std::lock_guard lock(mutex);
    if (auto runtime = shared.lock()) return runtime;
    auto runtime = std::make_shared<Runtime>();
    const std::vector<std::string> devices = runtime->core_.get_available_devices();
    if (std::ranges::find(devices, kDevice) == devices.end()) {
      return OpenVinoError(ErrorCode::kDeviceUnusable, "this OpenVINO has no CPU device");
    }
    shared = runtime;
    return runtime;
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

Status Runtime::CheckRuns(const std::shared_ptr<ov::Model>& model) const {
  return Fenced(ErrorCode::kUnsupported, "asking the CPU device", [&]() -> Status {
    const ov::SupportedOpsMap runs = core_.query_model(model, kDevice);
    std::string missing;
    for (const auto& node : model->get_ordered_ops()) {
      if (runs.contains(node->get_friendly_name())) continue;
      missing += (missing.empty() ? "" : ", ") + std::string(node->get_type_name()) + " " + node->get_friendly_name();
    }
    return missing.empty() ? Status() : Unsupported("the CPU device does not run " + missing);
  });
}

Result<ov::CompiledModel> Runtime::Compile(const std::shared_ptr<ov::Model>& model, uint32_t threads) const {
  return Fenced(ErrorCode::kUnsupported, "compiling the group", [&]() -> Result<ov::CompiledModel> {
    // By default OpenVINO computes in bfloat16 where the processor has it, spreads over several requests, and pins
    // threads to cores of its own choice: among them the calling one, which belongs to the executor.
    ov::CompiledModel compiled = core_.compile_model(
        model, kDevice,
        ov::AnyMap{ov::hint::inference_precision(ov::element::f32),
                   ov::hint::execution_mode(ov::hint::ExecutionMode::ACCURACY),
                   ov::hint::dynamic_quantization_group_size(0), ov::num_streams(1),
                   ov::inference_num_threads(static_cast<int32_t>(threads)), ov::hint::enable_cpu_pinning(false)});
    if (threads > 1) compiled.create_infer_request().infer();
    return compiled;
  });
}

}  // namespace pt::openvino
