#include "plugins/cuda/monitor.h"

#include <array>
#include <utility>

namespace pt::cuda {
namespace {

// Those that say that a device is slower than it could be; being idle and clocks that somebody has set are not such
// reasons.
constexpr std::array<std::pair<unsigned long long, const char*>, 5> kReasons = {{
    {nvmlClocksThrottleReasonSwPowerCap, "power cap"},
    {nvmlClocksThrottleReasonHwSlowdown, "hardware slowdown"},
    {nvmlClocksThrottleReasonSwThermalSlowdown, "too warm"},
    {nvmlClocksThrottleReasonHwThermalSlowdown, "much too warm"},
    {nvmlClocksThrottleReasonHwPowerBrakeSlowdown, "power brake"},
}};

}  // namespace

std::unique_ptr<Monitor> Monitor::Make(std::shared_ptr<const Functions> functions, int ordinal) {
  if (functions->management == nullptr) return nullptr;
  const ManagementFunctions& nvml = *functions->management;
  CUdevice asked = 0;
  std::array<char, 32> bus_id{};
  if (functions->driver.cuDeviceGet(&asked, ordinal) != CUDA_SUCCESS) return nullptr;
  if (functions->driver.cuDeviceGetPCIBusId(bus_id.data(), static_cast<int>(bus_id.size()), asked) != CUDA_SUCCESS) {
    return nullptr;
  }
  nvmlDevice_t device = nullptr;
  if (nvml.nvmlInit_v2() != NVML_SUCCESS) return nullptr;
  if (nvml.nvmlDeviceGetHandleByPciBusId_v2(bus_id.data(), &device) != NVML_SUCCESS) return nullptr;
  return std::unique_ptr<Monitor>(new Monitor(std::move(functions), device));
}

std::optional<DeviceState> Monitor::State() const {
  const ManagementFunctions& nvml = *functions_->management;
  DeviceState state;
  bool told = false;
  unsigned number = 0;
  const auto tell = [&](nvmlReturn_t answer, double& field) {
    if (answer != NVML_SUCCESS) return;
    field = number;
    told = true;
  };
  tell(nvml.nvmlDeviceGetClockInfo(device_, NVML_CLOCK_SM, &number), state.clock_mhz);
  tell(nvml.nvmlDeviceGetClockInfo(device_, NVML_CLOCK_MEM, &number), state.memory_clock_mhz);
  tell(nvml.nvmlDeviceGetTemperature(device_, NVML_TEMPERATURE_GPU, &number), state.celsius);
  unsigned long long reasons = 0;
  if (nvml.nvmlDeviceGetCurrentClocksThrottleReasons(device_, &reasons) == NVML_SUCCESS) {
    told = true;
    for (const auto& [bit, text] : kReasons) {
      if ((reasons & bit) != 0) state.throttled.emplace_back(text);
    }
  }
  return told ? std::optional(std::move(state)) : std::nullopt;
}

}  // namespace pt::cuda
