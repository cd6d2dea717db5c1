// A program with an OpenVINO of its own that uses our plugin too: loads the OpenVINO in a folder, uses it by its C API,
// makes a machine with the plugin, runs a model on it, and uses its own again. Prints what became of each.
//
//   two_copies FOLDER local|global first|last PLUGIN_FOLDER
//
// local, global: whether all that is loaded later sees its symbols. first, last: before our plugin or after it.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>

#include "partitiontuner/exec/machine.h"
#include "partitiontuner/graph/graph_text.h"
#include "partitiontuner/onnx/infer_shapes.h"
#include "test/testing/run_candidate.h"

namespace {

using namespace pt;  // NOLINT: a program of its own

// The C API of the program's own copy, as far as it is used.
class Theirs {
 public:
  Theirs(const std::string& folder, int flags) {
    // With "global", what the C API is built upon is shown, too.
    core_object_ = Open(folder, "libopenvino.so", flags);
    object_ = Open(folder, "libopenvino_c.so", flags);
  }

  bool is_loaded() const { return core_object_ != nullptr && object_ != nullptr; }

  // Asks for the CPU device's name, for which its plugin is loaded.
  void Use() const {
    const auto create = Find<int (*)(void**)>("ov_core_create");
    const auto get = Find<int (*)(void*, const char*, const char*, char**)>("ov_core_get_property");
    const auto release = Find<void (*)(void*)>("ov_core_free");
    void* core = nullptr;
    char* name = nullptr;
    const bool works = create(&core) == 0 && get(core, "CPU", "FULL_DEVICE_NAME", &name) == 0;
    std::printf("theirs %s\n", works ? "works" : "fails");
    if (core != nullptr) release(core);
  }

 private:
  // The one whose name begins so.
  static void* Open(const std::string& folder, const std::string& begins, int flags) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (!entry.path().filename().string().starts_with(begins)) continue;
      void* const object = dlopen(entry.path().c_str(), flags);
      if (object == nullptr) std::printf("theirs cannot be loaded: %s\n", dlerror());
      return object;
    }
    std::printf("there is no %s\n", begins.c_str());
    return nullptr;
  }

  template <typename F>
  F Find(const char* name) const {
    return reinterpret_cast<F>(dlsym(object_, name));
  }

  void* core_object_ = nullptr;
  void* object_ = nullptr;
};

// The first candidate of our library, run.
void RunOurs(const Machine& machine) {
  const Library* const library = machine.library("openvino");
  if (library == nullptr) return;
  const Graph graph =
      InferShapes(ParseGraph("input x float32[4]\ny = Relu(x) : float32[4]\noutput y\n").value()).value();
  const Tensor x = Tensor::Float32({4}, {-1, 2, -3, 4});
  const auto candidates = library->Candidates(graph, machine.platform(), Precision());
  if (candidates.empty()) return static_cast<void>(std::printf("ours offers nothing\n"));
  const auto y = testing::RunCandidate(graph, machine.platform(), *library, candidates[0], std::span(&x, 1));
  const bool right = y.ok() && (*y)[0].values<float>()[1] == 2 && (*y)[0].values<float>()[2] == 0;
  std::printf("ours %s\n", right ? "works" : "fails");
}

std::unique_ptr<Machine> MakeMachine(const char* plugins) {
  MachineOptions options;
  options.plugin_paths = {plugins};
  auto machine = Machine::Make(options);
  if (!machine.ok()) {
    std::printf("no machine: %s\n", machine.error().message.c_str());
    return nullptr;
  }
  for (const PluginReport& plugin : (*machine)->plugins()) {
    if (plugin.name == "openvino" && !plugin.refused.empty()) std::printf("ours refused: %s\n", plugin.refused.c_str());
  }
  return std::move(machine).value();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const int flags = RTLD_NOW | (std::strcmp(argv[2], "global") == 0 ? RTLD_GLOBAL : RTLD_LOCAL);
  const bool is_first = std::strcmp(argv[3], "first") == 0;
  std::unique_ptr<Machine> machine;
  if (!is_first) {
    machine = MakeMachine(argv[4]);
    if (machine != nullptr) RunOurs(*machine);
  }
  const Theirs theirs(argv[1], flags);
  if (!theirs.is_loaded()) return 1;
  theirs.Use();
  if (is_first) machine = MakeMachine(argv[4]);
  if (machine == nullptr) return 1;
  RunOurs(*machine);
  theirs.Use();
  return 0;
}
