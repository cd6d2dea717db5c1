// What CUDA devices there are, and what their costs depend on.
#include <algorithm>
#include <cstdlib>

#include "partitiontuner/platform/asynchronous_device.h"
#include "plugins/cuda/device.h"

namespace pt::cuda {
namespace {

// Units of a device. Small kernels of several branches share its multiprocessors; more than a few seldom gain.
constexpr uint32_t kStreams = 4;
// What NVRTC of CUDA 13 compiles for.
constexpr int kOldestArchitecture = 75;

class Discovery {
 public:
  explicit Discovery(const Functions& functions) : cu_(functions.driver), functions_(functions) {}

  Status AddTo(Platform& platform) {
    const CUresult begun = cu_.cuInit(0);
    if (begun == CUDA_ERROR_NO_DEVICE) return {};
    PT_CHECK_OK(Judge("cuda.init", "the CUDA driver cannot be used: ", "cuInit", begun));
    PT_CHECK_OK(CheckDriver());
    int count = 0;
    PT_CHECK_OK(
        Judge("cuda.init", "the CUDA driver cannot be used: ", "cuDeviceGetCount", cu_.cuDeviceGetCount(&count)));
    Platform attempt = platform;
    std::vector<Found> found;
    for (int ordinal = 0; ordinal < count; ++ordinal) {
      PT_ASSIGN(found.emplace_back(), Add(ordinal, attempt));
    }
    PT_CHECK_OK(AddPeerLinks(found, attempt));
    platform = std::move(attempt);
    return {};
  }

  Result<std::string> FingerprintOf(int ordinal) {
    PT_CHECK_OK(CheckDriver());
    PT_ASSIGN(const Asked asked, Open(ordinal));
    return Fingerprint(asked, asked.architecture);
  }

 private:
  Status Judge(const char* id, const std::string& what, const char* call, CUresult code) const {
    if (code == CUDA_SUCCESS) return {};
    return MakeError(ErrorCode::kDeviceUnusable, id, what + DescribeFailure(cu_, call, code), HintFor(code));
  }

  static std::string VersionText(int version) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
  }

  Status CheckDriver() {
    PT_CHECK_OK(Judge("cuda.init", "the CUDA driver cannot be used: ", "cuDriverGetVersion",
                      cu_.cuDriverGetVersion(&version_)));
    // Within a major version newer toolkits work with older drivers.
    if (version_ / 1000 >= CUDA_VERSION / 1000) return {};
    return MakeError(
        ErrorCode::kDeviceUnusable, "cuda.old_driver",
        "the CUDA driver is for CUDA " + VersionText(version_) + ", this plugin for CUDA " + VersionText(CUDA_VERSION),
        "install a newer driver, or build the plugin with the toolkit of CUDA " + VersionText(version_));
  }

  // One device while it is looked at.
  struct Asked {
    std::string name;
    CUdevice device = 0;
    int architecture = 0;  // compute capability 9.0 is 90
  };

  Status Ask(const Asked& asked, CUdevice_attribute which, int& answer) const {
    return Judge("cuda.device", asked.name + ": ", "cuDeviceGetAttribute",
                 cu_.cuDeviceGetAttribute(&answer, which, asked.device));
  }

  static Error Unusable(const Asked& asked, const std::string& why) {
    Error error = MakeError(ErrorCode::kDeviceUnusable, "cuda.device", asked.name + " cannot be used: " + why,
                            "CUDA_VISIBLE_DEVICES hides devices from this process");
    error.device = asked.name;
    return error;
  }

  Status CheckUsable(const Asked& asked, int architecture) const {
    if (architecture < kOldestArchitecture) {
      return Unusable(asked, "it is of compute capability " + std::to_string(architecture / 10) + "." +
                                 std::to_string(architecture % 10) + ", and kernels are compiled for 7.5 and later");
    }
    int pools = 0, mode = 0;
    PT_CHECK_OK(Ask(asked, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, pools));
    if (pools == 0) return Unusable(asked, "its driver has no memory pools");
    PT_CHECK_OK(Ask(asked, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, mode));
    if (mode == CU_COMPUTEMODE_PROHIBITED) return Unusable(asked, "its compute mode is \"prohibited\"");
    return {};
  }

  Result<Asked> Open(int ordinal) const {
    Asked asked{std::string(kDeviceKind) + ":" + std::to_string(ordinal), 0, 0};
    PT_CHECK_OK(Judge("cuda.device", asked.name + ": ", "cuDeviceGet", cu_.cuDeviceGet(&asked.device, ordinal)));
    int major = 0, minor = 0;
    PT_CHECK_OK(Ask(asked, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, major));
    PT_CHECK_OK(Ask(asked, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, minor));
    asked.architecture = major * 10 + minor;
    return asked;
  }

  // One that was added.
  struct Found {
    CUdevice device = 0;
    DeviceId id;
  };

  Result<Found> Add(int ordinal, Platform& platform) const {
    PT_ASSIGN(const Asked asked, Open(ordinal));
    PT_CHECK_OK(CheckUsable(asked, asked.architecture));
    size_t memory = 0;
    PT_CHECK_OK(
        Judge("cuda.device", asked.name + ": ", "cuDeviceTotalMem", cu_.cuDeviceTotalMem(&memory, asked.device)));
    Device device;
    device.name = asked.name;
    device.kind = kDeviceKind;
    device.memory_bytes = memory;
    device.isa = Instructions(asked.architecture);
    device.captures = true;
    PT_ASSIGN(device.fingerprint, Fingerprint(asked, asked.architecture));
    PT_ASSIGN(const DeviceId id, AddAsynchronousDevice(platform, std::move(device), kStreams, Link(), Link()));
    return Found{asked.device, id};
  }

  // The sender copies, as the one that writes: reads over the bus wait for their answers. Where a device cannot write
  // to another one's memory there is no link. CUDA would copy through memory of the host then, but that is two
  // copies, which a plan can see and time as such.
  Status AddPeerLinks(const std::vector<Found>& found, Platform& platform) const {
    for (const Found& from : found) {
      for (const Found& to : found) {
        if (from.id == to.id) continue;
        int can = 0;
        PT_CHECK_OK(Judge("cuda.device", platform.device(from.id).name + ": ", "cuDeviceCanAccessPeer",
                          cu_.cuDeviceCanAccessPeer(&can, from.device, to.device)));
        if (can != 0) AddLinkWithEngine(platform, from.id, {from.id, to.id});
      }
    }
    return {};
  }

  // Generations of devices whose instructions this one has.
  static std::string Instructions(int architecture) {
    std::string text;
    for (const char* generation : {"sm_100", "sm_75", "sm_80", "sm_90"}) {
      if (std::atoi(generation + 3) <= architecture) text += (text.empty() ? "" : " ") + std::string(generation);
    }
    return text;
  }

  // Everything that measured times depend on and no library's version says.
  Result<std::string> Fingerprint(const Asked& asked, int architecture) const {
    std::string model(256, '\0');
    PT_CHECK_OK(Judge("cuda.device", asked.name + ": ", "cuDeviceGetName",
                      cu_.cuDeviceGetName(model.data(), static_cast<int>(model.size()), asked.device)));
    model.resize(std::min(model.size(), model.find('\0')));
    int multiprocessors = 0, clock_khz = 0, memory_khz = 0, bus_bits = 0;
    PT_CHECK_OK(Ask(asked, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, multiprocessors));
    PT_CHECK_OK(Ask(asked, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, clock_khz));
    PT_CHECK_OK(Ask(asked, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, memory_khz));
    PT_CHECK_OK(Ask(asked, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, bus_bits));
    int compiler_major = 0, compiler_minor = 0;
    if (functions_.compiler.nvrtcVersion(&compiler_major, &compiler_minor) != NVRTC_SUCCESS) {
      return Unusable(asked, "the run-time compiler does not say its version");
    }
    return model + ", sm_" + std::to_string(architecture) + ", " + std::to_string(multiprocessors) +
           " multiprocessors at " + std::to_string(clock_khz / 1000) + " MHz, memory of " + std::to_string(bus_bits) +
           " bits at " + std::to_string(memory_khz / 1000) + " MHz, driver " + VersionText(version_) + ", NVRTC " +
           std::to_string(compiler_major) + "." + std::to_string(compiler_minor) + ", cuBLASLt " +
           std::to_string(functions_.blas.cublasLtGetVersion());
  }

  const DriverFunctions& cu_;
  const Functions& functions_;
  int version_ = 0;
};

}  // namespace

Status AddDevices(const Functions& functions, Platform& platform) { return Discovery(functions).AddTo(platform); }

Result<std::string> FingerprintOf(const Functions& functions, int ordinal) {
  return Discovery(functions).FingerprintOf(ordinal);
}

}  // namespace pt::cuda
