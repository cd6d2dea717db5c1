#include "plugins/shared/device_files.h"

#include <algorithm>
#include <array>

namespace pt::plugins {
namespace {

constexpr uint32_t kMostStreams = 64;

class FileReader {
 public:
  FileReader(const DeviceDescription& file, const DeviceFileForm& form)
      : json_(file.json), what_(file.what), form_(form) {}

  // The runtime's name of the device, and what is said of it.
  Result<std::pair<std::string, DescribedDevice>> Read() const {
    PT_CHECK_OK(CheckKeys());
    PT_ASSIGN(const int64_t version, JsonInt(json_, "version", what_));
    if (version != 1) return Bad("version " + std::to_string(version) + " is unknown; this plugin reads version 1");
    PT_ASSIGN(std::string name, JsonString(json_, form_.name, what_));
    DescribedDevice device;
    device.what = what_;
    PT_ASSIGN(device.streams, Streams());
    if (const Json* calls = json_.find("calls"); calls != nullptr) {
      PT_ASSIGN(device.calls, CallRulesFromJson(*calls, what_ + ": calls"));
    }
    return std::pair(std::move(name), std::move(device));
  }

  Error Bad(std::string message) const {
    return MakeError(ErrorCode::kInvalidInput, std::string(form_.plugin) + ".described",
                     what_ + ": " + std::move(message));
  }

 private:
  Status CheckKeys() const {
    if (json_.as_object() == nullptr) return Bad("a platform file is a JSON object");
    const std::array<std::string_view, 7> known = {"format", "version",     "kind",       form_.name,
                                                   "calls",  form_.streams, "description"};
    for (const auto& [key, value] : *json_.as_object()) {
      if (std::ranges::find(known, key) == known.end()) return Bad("unknown key '" + key + "'");
    }
    return {};
  }

  Result<std::optional<uint32_t>> Streams() const {
    if (json_.find(form_.streams) == nullptr) return std::optional<uint32_t>();
    PT_ASSIGN(const uint64_t streams, JsonUnsigned(json_, form_.streams, what_));
    if (streams >= 1 && streams <= kMostStreams) return std::optional(static_cast<uint32_t>(streams));
    return Bad(std::string(form_.streams) + " must be 1 to " + std::to_string(kMostStreams) + ", not " +
               std::to_string(streams));
  }

  const Json& json_;
  const std::string& what_;
  const DeviceFileForm& form_;
};

}  // namespace

Result<std::map<std::string, DescribedDevice>> DevicesToAdd(std::span<const std::string> by_themselves,
                                                            std::span<const DeviceDescription> files,
                                                            const DeviceFileForm& form) {
  std::map<std::string, DescribedDevice> devices;
  for (const std::string& name : by_themselves) devices.emplace(name, DescribedDevice());
  for (const DeviceDescription& file : files) {
    const FileReader reader(file, form);
    PT_ASSIGN(auto row, reader.Read());
    DescribedDevice& known = devices[row.first];
    if (!known.what.empty()) return reader.Bad("the device " + row.first + " is described twice");
    known = std::move(row.second);
  }
  return devices;
}

Error NoSuchDevice(const std::string& name, const DescribedDevice& described, std::span<const std::string> there,
                   const DeviceFileForm& form) {
  std::string names;
  for (const std::string& one : there) names += (names.empty() ? "" : ", ") + one;
  Error error = MakeError(ErrorCode::kDeviceUnusable, std::string(form.plugin) + ".device",
                          "there is no " + std::string(form.name) + " " + name + ", only " + names);
  error.file = described.what;
  error.device = form.plugin;
  return error;
}

}  // namespace pt::plugins
