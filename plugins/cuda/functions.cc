#include "plugins/cuda/functions.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <vector>

#include "plugins/cuda/dnn.h"
#include "plugins/cuda/kernel_files.h"

namespace pt::cuda {
namespace {

namespace fs = std::filesystem;

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

Status Find(const OpenedLibrary& library, ManagementFunctions& functions) {
  PT_CUDA_MANAGEMENT(PT_CUDA_FIND)
  return {};
}

// Null where it is missing or lacks something: it only says in which state a device is.
std::shared_ptr<const ManagementFunctions> LoadManagement(const std::string& name) {
  const Result<OpenedLibrary> library = OpenedLibrary::Open(name, "cuda.no_library", "NVML", "");
  auto functions = std::make_shared<ManagementFunctions>();
  return library.ok() && Find(*library, *functions).ok() ? std::move(functions) : nullptr;
}

Result<OpenedLibrary> OpenToolkit(const std::string& name, const char* what) {
  const std::string hint =
      "install the libraries of CUDA " + std::to_string(kMajor) + " where the system's loader finds them";
  return OpenedLibrary::Open(name, "cuda.no_library", what, hint.c_str());
}

// Where libraries of the toolkit may lie beside the places that the system's loader knows, those to be preferred first:
// what the environment names, the folder "cuda" beside that of the plugins, and what ./setup --cuda has brought.
std::vector<fs::path> ToolkitFolders() {
  std::vector<fs::path> roots;
  if (const char* const named = std::getenv("PARTITIONTUNER_CUDA_LIBRARIES")) {
    std::istringstream list(named);
    for (std::string folder; std::getline(list, folder, ':');) {
      if (!folder.empty()) roots.emplace_back(folder);
    }
  }
  Dl_info here{};
  if (dladdr(reinterpret_cast<void*>(&ToolkitFolders), &here) != 0 && here.dli_fname != nullptr) {
    roots.push_back(fs::path(here.dli_fname).parent_path().parent_path() / "cuda");
  }
  if (*PT_CUDA_WHEELS != '\0') roots.emplace_back(PT_CUDA_WHEELS);
  std::vector<fs::path> folders;
  for (const fs::path& root : roots) {
    for (const char* below : {"", "lib", "nvidia/cu13/lib", "nvidia/cudnn/lib"}) folders.push_back(root / below);
  }
  return folders;
}

// The library's path in the first folder that has it, else its name alone.
std::string Locate(const std::string& name, const std::vector<fs::path>& folders) {
  for (const fs::path& folder : folders) {
    std::error_code fault;
    if (fs::exists(folder / name, fault)) return (folder / name).string();
  }
  return name;
}

// NVRTC looks for the rest of it where the system's loader does: what lies beside it is loaded first, and then found by
// its name.
void LoadCompilerParts(const fs::path& compiler) {
  std::error_code fault;
  if (!compiler.has_parent_path()) return;
  for (const fs::directory_entry& entry : fs::directory_iterator(compiler.parent_path(), fault)) {
    if (entry.path().filename().string().starts_with("libnvrtc-builtins.so")) {
      dlopen(entry.path().c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    }
  }
}

}  // namespace

LibraryNames InstalledLibraries() {
  const std::string major = std::to_string(kMajor);
  const std::vector<fs::path> folders = ToolkitFolders();
  return {"libcuda.so.1", Locate("libnvrtc.so." + major, folders), Locate("libcublasLt.so." + major, folders),
          Locate("libcudnn.so.9", folders), "libnvidia-ml.so.1"};
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
  Result<std::shared_ptr<const Dnn>> dnn = LoadDnn(names.dnn);
  if (dnn.ok()) {
    functions->dnn = std::move(dnn).value();
  } else {
    functions->no_dnn = dnn.error().message;
  }
  functions->management = LoadManagement(names.management);
  return std::shared_ptr<const Functions>(std::move(functions));
}

Result<CompilerFunctions> LoadCompiler(const LibraryNames& names) {
  LoadCompilerParts(names.compiler);
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

std::string HintFor(CUresult code) {
  switch (code) {
    case CUDA_ERROR_NOT_INITIALIZED:
      return "a process that was forked from one that uses CUDA cannot use it itself: start it anew (Python's "
             "multiprocessing: \"spawn\")";
    case CUDA_ERROR_SYSTEM_NOT_READY:
      return "start the fabric manager of the driver's version (systemctl start nvidia-fabricmanager)";
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
      return "libcuda.so.1 and the driver's kernel module are of different versions: reload the module or restart";
    case CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
      return "the loader finds a libcuda.so.1 of CUDA's compatibility package, which this device does not support: "
             "take "
             "its folder out of LD_LIBRARY_PATH";
    default:
      return "";
  }
}

}  // namespace pt::cuda
