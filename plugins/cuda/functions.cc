#include "plugins/cuda/functions.h"

#include <dlfcn.h>

#include "plugins/cuda/kernel_files.h"

namespace pt::cuda {
namespace {

constexpr int kMajor = CUDA_VERSION / 1000;

// The name after the headers' macros have had their way: "cuMemcpyHtoDAsync_v2".
#define PT_CUDA_QUOTE(name) #name
#define PT_CUDA_SYMBOL(name) PT_CUDA_QUOTE(name)

// One of NVIDIA's libraries, open for good: they keep threads and state that do not survive being unloaded.
class OpenedLibrary {
 public:
  static Result<OpenedLibrary> Open(const std::string& name, const char* id, const char* what, const char* hint) {
    void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle != nullptr) return OpenedLibrary(handle, name);
    const char* reason = dlerror();
    return MakeError(ErrorCode::kDeviceUnusable, id,
                     std::string("there is no ") + what +
                         " on this machine: " + (reason == nullptr ? "cannot open " + name : std::string(reason)),
                     hint);
  }

  template <typename Function>
  Status Find(const char* symbol, std::function<Function>& function) const {
    void* const found = dlsym(handle_, symbol);
    if (found == nullptr) {
      return MakeError(ErrorCode::kDeviceUnusable, "cuda.old_library",
                       name_ + " has no function " + symbol + ": it is older than CUDA " + std::to_string(kMajor) +
                           ", which this plugin was built with",
                       "install a newer one, or build the plugin with the toolkit of that version");
    }
    function = reinterpret_cast<Function*>(found);
    return {};
  }

 private:
  OpenedLibrary(void* handle, std::string name) : handle_(handle), name_(std::move(name)) {}

  void* handle_;
  std::string name_;
};

#define PT_CUDA_FIND(name) PT_CHECK_OK(library.Find(PT_CUDA_SYMBOL(name), functions.name));

Status Find(const OpenedLibrary& library, DriverFunctions& functions) {
  PT_CUDA_DRIVER(PT_CUDA_FIND)
  return {};
}
Status Find(const OpenedLibrary& library, CompilerFunctions& functions) {
  PT_CUDA_COMPILER(PT_CUDA_FIND)
  return {};
}
Status Find(const OpenedLibrary& library, BlasFunctions& functions) {
  PT_CUDA_BLAS(PT_CUDA_FIND)
  return {};
}

Result<OpenedLibrary> OpenToolkit(const std::string& name, const char* what) {
  const std::string hint =
      "install the libraries of CUDA " + std::to_string(kMajor) + " where the system's loader finds them";
  return OpenedLibrary::Open(name, "cuda.no_library", what, hint.c_str());
}

}  // namespace

LibraryNames InstalledLibraries() {
  const std::string major = std::to_string(kMajor);
  return {"libcuda.so.1", "libnvrtc.so." + major, "libcublasLt.so." + major};
}

Result<std::shared_ptr<const Functions>> LoadFunctions(const LibraryNames& names) {
  auto functions = std::make_shared<Functions>();
  PT_ASSIGN(const OpenedLibrary driver,
            OpenedLibrary::Open(names.driver, "cuda.no_driver", "CUDA driver", "NVIDIA's driver brings libcuda.so.1"));
  PT_CHECK_OK(Find(driver, functions->driver));
  PT_ASSIGN(functions->compiler, LoadCompiler(names));
  PT_ASSIGN(const OpenedLibrary blas, OpenToolkit(names.blas, "cuBLASLt"));
  PT_CHECK_OK(Find(blas, functions->blas));
  functions->kernel_folder = KernelFiles::DefaultFolder();
  return std::shared_ptr<const Functions>(std::move(functions));
}

Result<CompilerFunctions> LoadCompiler(const LibraryNames& names) {
  PT_ASSIGN(const OpenedLibrary compiler, OpenToolkit(names.compiler, "CUDA run-time compiler"));
  CompilerFunctions functions;
  PT_CHECK_OK(Find(compiler, functions));
  return functions;
}

std::string DescribeFailure(const DriverFunctions& driver, const char* call, CUresult code) {
  const char *name = nullptr, *text = nullptr;
  driver.cuGetErrorName(code, &name);
  driver.cuGetErrorString(code, &text);
  return std::string(call) + ": " + (name == nullptr ? "error " + std::to_string(code) : std::string(name)) +
         (text == nullptr ? "" : " (" + std::string(text) + ")");
}

}  // namespace pt::cuda
