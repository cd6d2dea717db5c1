#include "tools/common/commands.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace pt::tools {

std::string ShellWord(const std::string& word) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._/=@:,+%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string CommandFor(std::string_view tool, const CommonFlags& flags) {
  std::string command(tool);
  if (flags.models.empty()) command += " MODEL.onnx";
  for (const std::string& model : flags.models) command += " " + ShellWord(model);
  const auto one = [&](const char* name, const std::string& value, const std::string& usual = {}) {
    if (value != usual) command += std::string(" ") + name + " " + ShellWord(value);
  };
  const auto each = [&](const char* name, const std::vector<std::string>& values) {
    for (const std::string& value : values) one(name, value);
  };
  each("--dim", flags.dims);
  each("--shape", flags.shapes);
  each("--constant", flags.constants);
  each("--input", flags.inputs);
  one("--precision", flags.precision);
  if (flags.keep_nan()) command += " --nan keep";
  one("--rewrite", flags.rewrite);
  one("--external-data", flags.external_data);
  if (flags.allow_links) command += " --allow-links";
  one("--external-limit", flags.external_limit);
  one("--devices", flags.devices, "all");
  each("--platform", flags.platforms);
  one("--libraries", flags.libraries);
  if (flags.threads > 0) one("--threads", std::to_string(flags.threads));
  one("--pin", flags.pins, "auto");
  one("--plugins", flags.plugins, "all");
  one("--plugin-path", flags.plugin_path);
  if (flags.db != "none") one("--db", flags.db);  // what is suggested with none could not be kept
  return command;
}

Status CheckWritable(const std::string& path) {
  namespace fs = std::filesystem;
  if (path.empty() || path == "-") return {};
  const auto refuse = [&](const std::string& why) {
    Error error = MakeError(ErrorCode::kInvalidInput, "output.unwritable", "nothing can be written there: " + why);
    error.file = path;
    return error;
  };
  std::error_code problem;
  if (fs::is_directory(path, problem)) return refuse("it is a folder");
  const fs::path folder = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : fs::path(".");
  if (!fs::is_directory(folder, problem)) return refuse("there is no folder " + folder.string());
  // Devices and pipes are written in place, all else is replaced.
  const bool in_place = fs::exists(path, problem) && !fs::is_regular_file(path, problem);
  if (::access(in_place ? path.c_str() : folder.c_str(), W_OK) != 0) return refuse(std::strerror(errno));
  return {};
}

}  // namespace pt::tools
