#include "tools/common/file_advice.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

namespace pt::tools {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBeginning = 4096;

std::string BeginningOf(const std::string& path) {
  std::string bytes(kBeginning, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return bytes;
}

// No control characters but those that end lines and indent.
bool IsText(const std::string& bytes) {
  return !bytes.empty() &&
         std::ranges::all_of(bytes, [](unsigned char c) { return c >= ' ' || c == '\n' || c == '\r' || c == '\t'; });
}

// The one model in a folder, or the one with the usual name; empty where several could be meant.
std::string ModelIn(const fs::path& folder) {
  std::string found;
  std::error_code problem;
  for (fs::directory_iterator at(folder, problem), end; !problem && at != end; at.increment(problem)) {
    if (at->path().filename() == "model.onnx") return at->path().string();
    if (at->path().extension() != ".onnx") continue;
    if (!found.empty()) return {};
    found = at->path().string();
  }
  return found;
}

Error ForFolder(Error error) {
  error.message = error.file + " is a folder, not a file";
  const std::string model = ModelIn(error.file);
  if (!model.empty()) error.hint = "the model in it: " + model;
  return error;
}

// A file that is not an ONNX model.
Error ForModel(Error error) {
  const std::string bytes = BeginningOf(error.file);
  const auto is = [&](const std::string& what) {
    error.message = error.file + " is not an ONNX model, but " + what + " (" + error.message + ")";
  };
  if (bytes.find("\"partitiontuner plan\"") != std::string::npos) {
    is("a plan");
    error.hint = "pt-run MODEL.onnx --plan " + error.file;
  } else if (bytes.starts_with("<") && IsText(bytes)) {
    is("a web page");
    error.hint = "download the model again, from the address of the file itself";
  } else if (IsText(bytes)) {
    is("text");
    error.hint = "name an ONNX file";
  } else if (error.id == "onnx.truncated") {
    std::error_code problem;
    const uintmax_t size = fs::file_size(error.file, problem);
    error.message =
        "the file ends too early, after " + std::to_string(problem ? 0 : size) + " bytes (" + error.message + ")";
    error.hint = "copy or download it again";
  }
  return error;
}

// A file that is not JSON.
Error ForJson(Error error) {
  const std::string bytes = BeginningOf(error.file);
  if (bytes.empty() || IsText(bytes)) return error;
  const bool model = error.file.ends_with(".onnx") || bytes.find("onnx") != std::string::npos;
  error.message = error.file + " is not JSON, but " + (model ? "looks like an ONNX model" : "binary data") + " (" +
                  error.message + ")";
  error.hint = model ? "pt-plan " + error.file + " -o PLAN.json makes a plan for it" : "name a file of pt-plan's -o";
  return error;
}

// Sizes that the model leaves open: data beside it says some that make sense.
Error ForDims(Error error) {
  const fs::path data = fs::path(error.file).parent_path() / "test_data_set_0";
  std::error_code problem;
  if (fs::is_directory(data, problem)) error.hint = "--input " + data.string() + ", which says them; or " + error.hint;
  return error;
}

}  // namespace

Error WithFileAdvice(Error error) {
  std::error_code problem;
  if (error.id == "engine.unknown_dims") return ForDims(std::move(error));
  if (error.file.empty() || error.code != ErrorCode::kInvalidInput || !fs::exists(error.file, problem)) return error;
  if (error.id == "file.kind" && fs::is_directory(error.file, problem)) return ForFolder(std::move(error));
  if (!fs::is_regular_file(error.file, problem)) return error;
  constexpr std::string_view kModelFaults[] = {"onnx.wire", "onnx.truncated", "onnx.parse", "onnx.format"};
  if (std::ranges::find(kModelFaults, error.id) != std::end(kModelFaults)) return ForModel(std::move(error));
  if (error.id == "json.parse") return ForJson(std::move(error));
  return error;
}

}  // namespace pt::tools
