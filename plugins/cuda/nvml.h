// What this plugin uses of NVIDIA's management library. Neither the driver nor the wheels of the toolkit bring nvml.h,
// so its functions are declared here as it documents them; their meaning has been the same since its second version.
#pragma once

extern "C" {

using nvmlReturn_t = int;  // an enumeration there
inline constexpr nvmlReturn_t NVML_SUCCESS = 0;
using nvmlDevice_t = struct nvmlDevice_st*;

inline constexpr unsigned NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2;
inline constexpr unsigned NVML_TEMPERATURE_GPU = 0;
inline constexpr unsigned long long nvmlClocksThrottleReasonSwPowerCap = 0x4, nvmlClocksThrottleReasonHwSlowdown = 0x8,
                                    nvmlClocksThrottleReasonSwThermalSlowdown = 0x20,
                                    nvmlClocksThrottleReasonHwThermalSlowdown = 0x40,
                                    nvmlClocksThrottleReasonHwPowerBrakeSlowdown = 0x80;

nvmlReturn_t nvmlInit_v2();
nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, nvmlDevice_t* device);
nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, unsigned clock, unsigned* mhz);
nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, unsigned sensor, unsigned* celsius);
nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device, unsigned long long* reasons);
}
