#include "plugins/cuda/programs.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "plugins/cuda/element_types.h"

namespace pt::cuda {
namespace {

constexpr const char* kStandard = "--std=c++17";
// No sums of products in one rounding, but where a kernel says so: results are to be those of the host's libraries as
// far as possible.
constexpr const char* kNoContraction = "--fmad=false";

Error CannotCompile(const std::string& message) {
  return MakeError(ErrorCode::kInternal, "cuda.compile", "a kernel cannot be compiled: " + message);
}

// An NVRTC program, destroyed at the end of its scope.
class Source {
 public:
  Source(const CompilerFunctions& compiler, nvrtcProgram program) : compiler_(compiler), program_(program) {}
  ~Source() { compiler_.nvrtcDestroyProgram(&program_); }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  nvrtcProgram get() const { return program_; }
  std::string Log() const {
    size_t bytes = 0;
    if (compiler_.nvrtcGetProgramLogSize(program_, &bytes) != NVRTC_SUCCESS || bytes == 0) return "";
    std::string log(bytes, '\0');
    if (compiler_.nvrtcGetProgramLog(program_, log.data()) != NVRTC_SUCCESS) return "";
    log.resize(bytes - 1);  // without the terminator
    return log;
  }

 private:
  const CompilerFunctions& compiler_;
  nvrtcProgram program_;
};

// What NVRTC compiles for, and what comes of it.
struct Target {
  std::string option;
  bool is_ptx = false;  // a text that the driver compiles for its device, instead of the device's own code
};

// The device itself, where the compiler knows it; else the newest architecture whose instructions it has.
Result<Target> TargetFor(const CompilerFunctions& compiler, const std::string& architecture) {
  int count = 0;
  if (compiler.nvrtcGetNumSupportedArchs(&count) != NVRTC_SUCCESS) count = 0;
  std::vector<int> known(static_cast<size_t>(count));
  if (compiler.nvrtcGetSupportedArchs(known.data()) != NVRTC_SUCCESS) known.clear();
  const int wanted = std::atoi(architecture.c_str() + std::string_view("sm_").size());
  if (std::ranges::find(known, wanted) != known.end()) return Target{"--gpu-architecture=" + architecture, false};
  std::erase_if(known, [&](int other) { return other > wanted; });
  if (known.empty()) return CannotCompile("NVRTC does not compile for " + architecture);
  return Target{"--gpu-architecture=compute_" + std::to_string(std::ranges::max(known)), true};
}

// The image of a program that was compiled.
template <typename SizeOf, typename Get>
nvrtcResult CopyImage(const Source& source, const SizeOf& size_of, const Get& get, std::string& image) {
  size_t bytes = 0;
  if (const nvrtcResult code = size_of(source.get(), &bytes); code != NVRTC_SUCCESS) return code;
  image.resize(bytes);
  return get(source.get(), image.data());
}

}  // namespace

std::string KernelPrelude() {
  return "struct Arguments { void* at[" + std::to_string(kMostArguments) +
         "]; unsigned long long* fault; unsigned long long fault_code; };" + std::string(ElementTypesText());
}

Result<std::string> CompileKernel(const CompilerFunctions& compiler, const std::string& text,
                                  const std::string& architecture) {
  const auto fault = [&](const char* call, nvrtcResult code) {
    return CannotCompile(std::string(call) + ": " + compiler.nvrtcGetErrorString(code));
  };
  nvrtcProgram made = nullptr;
  if (const nvrtcResult code = compiler.nvrtcCreateProgram(&made, text.c_str(), "kernel.cu", 0, nullptr, nullptr);
      code != NVRTC_SUCCESS) {
    return fault("nvrtcCreateProgram", code);
  }
  const Source source(compiler, made);
  PT_ASSIGN(const Target target, TargetFor(compiler, architecture));
  const std::array<const char*, 3> options = {target.option.c_str(), kStandard, kNoContraction};
  if (const nvrtcResult code =
          compiler.nvrtcCompileProgram(source.get(), static_cast<int>(options.size()), options.data());
      code != NVRTC_SUCCESS) {
    Error error = fault("nvrtcCompileProgram", code);
    error.message += "\n" + source.Log() + "\nin\n" + text;
    return error;
  }
  std::string image;
  const nvrtcResult copied = target.is_ptx
                                 ? CopyImage(source, compiler.nvrtcGetPTXSize, compiler.nvrtcGetPTX, image)
                                 : CopyImage(source, compiler.nvrtcGetCUBINSize, compiler.nvrtcGetCUBIN, image);
  if (copied != NVRTC_SUCCESS) return fault(target.is_ptx ? "nvrtcGetPTX" : "nvrtcGetCUBIN", copied);
  return image;
}

DeviceProgram::~DeviceProgram() {
  context_->Always([&] { return context_->driver().cuModuleUnload(module_); });
}

Status DeviceProgram::Launch(CudaStream& stream, uint32_t blocks, uint32_t threads, const Arguments& arguments) const {
  // The driver copies what the pointers lead to before it returns; it never writes there.
  void* parameters[] = {const_cast<Arguments*>(&arguments)};
  return context_->Do("cuLaunchKernel", [&] {
    return context_->driver().cuLaunchKernel(function_, blocks, 1, 1, threads, 1, 1, 0, stream.handle(), parameters,
                                             nullptr);
  });
}

Result<std::shared_ptr<const DeviceProgram>> Programs::Get(const std::string& text) {
  std::shared_ptr<Slot> slot;
  {
    const std::lock_guard lock(mutex_);
    // Bounds the table by what is in use, however many models come and go.
    std::erase_if(slots_,
                  [](const auto& entry) { return entry.second.use_count() == 1 && entry.second->program.expired(); });
    std::shared_ptr<Slot>& found = slots_[text];
    if (!found) found = std::make_shared<Slot>();
    slot = found;
  }
  // Only those who want this very kernel wait for each other.
  const std::lock_guard lock(slot->mutex);
  if (std::shared_ptr<const DeviceProgram> program = slot->program.lock()) return program;
  PT_ASSIGN(std::shared_ptr<const DeviceProgram> program, Make(KernelPrelude() + text));
  slot->program = program;
  return program;
}

Programs::Programs(std::shared_ptr<Context> context)
    : context_(std::move(context)), files_(context_->functions().kernel_folder) {}

Result<std::shared_ptr<const DeviceProgram>> Programs::Make(const std::string& text) const {
  const CompilerFunctions& compiler = context_->functions().compiler;
  int major = 0, minor = 0, driver = 0;
  if (compiler.nvrtcVersion(&major, &minor) != NVRTC_SUCCESS) return CannotCompile("the compiler has no version");
  PT_CHECK_OK(context_->Judge("cuDriverGetVersion", context_->driver().cuDriverGetVersion(&driver)));
  const std::string made_from = context_->architecture() + ", NVRTC " + std::to_string(major) + "." +
                                std::to_string(minor) + ", driver " + std::to_string(driver) + ", " + kStandard + " " +
                                kNoContraction + "\n" + text;
  if (const std::optional<std::string> kept = files_.Find(made_from)) {
    // What the driver does not take nevertheless is made anew.
    Result<std::shared_ptr<const DeviceProgram>> program = Load(*kept);
    if (program.ok() || context_->is_lost()) return program;
  }
  PT_ASSIGN(const std::string image, CompileKernel(compiler, text, context_->architecture()));
  PT_ASSIGN(std::shared_ptr<const DeviceProgram> program, Load(image));
  files_.Keep(made_from, image);
  return program;
}

Result<std::shared_ptr<const DeviceProgram>> Programs::Load(const std::string& image) const {
  const DriverFunctions& cu = context_->driver();
  CUmodule module = nullptr;
  PT_CHECK_OK(context_->Do("cuModuleLoadData", [&] { return cu.cuModuleLoadData(&module, image.c_str()); }));
  CUfunction function = nullptr;
  Status found =
      context_->Do("cuModuleGetFunction", [&] { return cu.cuModuleGetFunction(&function, module, kKernelName); });
  if (!found.ok()) {
    context_->Always([&] { return cu.cuModuleUnload(module); });
    return std::move(found).error();
  }
  return std::shared_ptr<const DeviceProgram>(std::make_shared<DeviceProgram>(context_, module, function));
}

}  // namespace pt::cuda
