#include "plugins/shared/device_files.h"

#include "partitiontuner/platform/platform_fields.h"

namespace pt::plugins {
namespace {

constexpr FieldRange kStreams = {1, 64, "{key} must be 1 to 64, not {value}"};

struct DeviceFile {
  std::string format, kind, description;  // not read
  int64_t version = 1;
  std::string name;  // the runtime's, of the device
  std::optional<uint32_t> streams;
  std::optional<CallRules> calls;
};

void FileFields(FieldVisitor& v, DeviceFile& file, const DeviceFileForm& form) {
  v.Closed();
  v.Field("format", file.format, FieldNote("`partitiontuner-platform`").ForPeople());
  v.Field("version", file.version, "1");
  if (v.reads() && file.version != 1) {
    v.Fail("version " + std::to_string(file.version) + " is unknown; this plugin reads version 1");
  }
  v.Field("kind", file.kind, FieldNote("the plugin's kind of devices").ForPeople());
  v.Field(form.name, file.name, "what the runtime calls the device");
  v.Field("calls", file.calls, FieldNote("what one call may hold").Optional());
  v.Field(form.streams, file.streams, FieldNote("how many calls run at once, 1 to 64").Optional().Within(kStreams));
  v.Field("description", file.description, FieldNote("what it stands for").ForPeople());
}

std::string ErrorId(const DeviceFileForm& form) { return std::string(form.plugin) + ".described"; }

Result<DeviceFile> ReadDeviceFile(const DeviceDescription& description, const DeviceFileForm& form) {
  DeviceFile file;
  PT_CHECK_OK(ReadFieldsBy(description.json, FileSource(description.what, ErrorId(form)),
                           [&](FieldVisitor& v) { FileFields(v, file, form); }));
  return file;
}

}  // namespace

Result<std::map<std::string, DescribedDevice>> DevicesToAdd(std::span<const std::string> by_themselves,
                                                            std::span<const DeviceDescription> files,
                                                            const DeviceFileForm& form) {
  std::map<std::string, DescribedDevice> devices;
  for (const std::string& name : by_themselves) devices.emplace(name, DescribedDevice());
  for (const DeviceDescription& file : files) {
    PT_ASSIGN(DeviceFile read, ReadDeviceFile(file, form));
    DescribedDevice& known = devices[read.name];
    if (!known.what.empty()) {
      return MakeError(ErrorCode::kInvalidInput, ErrorId(form),
                       file.what + ": the device " + read.name + " is described twice");
    }
    known = {file.what, read.streams, std::move(read.calls)};
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
