#include "tools/common/missing_parts.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "partitiontuner/backend/libraries.h"

namespace pt::tools {
namespace {

namespace fs = std::filesystem;

struct KnownLibrary {
  std::string_view name, backend;
};
constexpr std::array kKnownLibraries = {KnownLibrary{"onednn", "ONEDNN"}, KnownLibrary{"host", "HOST_KERNELS"},
                                        KnownLibrary{"recurrent", "RECURRENT"}, KnownLibrary{"simulated", "SIMULATED"}};

struct KnownPlugin {
  std::string_view name, brings, page;
};
constexpr std::array kKnownPlugins = {
    KnownPlugin{"cuda", "NVIDIA GPUs", "docs/cuda.md"},
    KnownPlugin{"openvino", "OpenVINO as a library, and its devices", "docs/openvino.md"},
    KnownPlugin{"onnxruntime", "ONNX Runtime as a library, and its providers", "docs/onnxruntime.md"},
};

// What the system's drivers show of devices, and who would use them.
struct DeviceFiles {
  const char* folder;
  std::string_view begins;
  const char* what;
  std::array<std::string_view, 2> kinds;  // of devices that they become
  std::string_view plugin;
};
constexpr DeviceFiles kDeviceFiles[] = {
    {"/dev", "nvidia0", "an NVIDIA GPU", {"cuda", "onnxruntime"}, "cuda"},
    {"/dev/accel", "accel", "an NPU", {"openvino", "npu"}, "openvino"},
    {"/dev/dri", "renderD", "a GPU", {"openvino", "cuda"}, "openvino"},
};

class Search {
 public:
  Search(const Machine& machine, const CommonFlags& flags) : machine_(machine), flags_(flags) {}

  std::vector<MissingPart> Run() {
    Libraries();
    Plugins();
    Devices();
    return std::move(parts_);
  }

 private:
  void Libraries() {
    for (const LibraryRow& row : BuiltInLibraries()) {
      if (machine_.library(row.name) != nullptr) continue;
      const bool is_simulated = row.name == "simulated";
      Add("library", row.name,
          flags_.libraries.empty() ? "it serves no device of this machine" : "--libraries leaves it out",
          is_simulated && flags_.libraries.empty() ? "--devices sim:FILE adds a simulated device" : "");
    }
    for (const KnownLibrary& library : kKnownLibraries) {
      const auto built_in = BuiltInLibraries();
      if (std::ranges::find(built_in, library.name, &LibraryRow::name) != built_in.end()) continue;
      Add("library", library.name, "not part of this build",
          "build with -DPT_BACKEND_" + std::string(library.backend) + "=ON");
    }
  }

  void Plugins() {
    for (const PluginReport& plugin : machine_.plugins()) {
      if (!plugin.refused.empty()) Add("plugin", plugin.name, plugin.refused, plugin.path);
    }
    const std::vector<std::string> given = SplitFolders(flags_.plugin_path);
    std::string folders;
    for (const std::string& folder : given.empty() ? DefaultPluginFolders() : given) {
      folders += (folders.empty() ? "" : ", ") + folder;
    }
    for (const KnownPlugin& plugin : kKnownPlugins) {
      if (IsFound(plugin.name)) continue;
      Add("plugin", plugin.name,
          flags_.plugins == "all" ? "there is none in " + (folders.empty() ? "any folder" : folders)
                                  : "--plugins leaves it out",
          std::string(plugin.brings) + ": " + std::string(plugin.page));
    }
  }

  bool IsFound(std::string_view plugin) const {
    return std::ranges::find(machine_.plugins(), plugin, &PluginReport::name) != machine_.plugins().end();
  }

  void Devices() {
    for (const DeviceFiles& files : kDeviceFiles) {
      std::error_code problem;
      for (fs::directory_iterator at(files.folder, problem), end; !problem && at != end; at.increment(problem)) {
        if (!at->path().filename().string().starts_with(files.begins) || IsReached(files)) continue;
        Add("device", at->path().string(), std::string(files.what) + " that no library here reaches",
            "the plugin " + std::string(files.plugin) + " would, if the driver and its library are installed");
      }
    }
  }

  bool IsReached(const DeviceFiles& files) const {
    return std::ranges::any_of(machine_.platform().devices, [&](const Device& device) {
      return !device.simulated && std::ranges::find(files.kinds, device.kind) != files.kinds.end();
    });
  }

  void Add(const char* kind, std::string_view name, std::string reason, std::string advice) {
    parts_.push_back({kind, std::string(name), std::move(reason), std::move(advice)});
  }

  const Machine& machine_;
  const CommonFlags& flags_;
  std::vector<MissingPart> parts_;
};

}  // namespace

std::vector<MissingPart> MissingParts(const Machine& machine, const CommonFlags& flags) {
  return Search(machine, flags).Run();
}

}  // namespace pt::tools
