// External data says which bytes of which file are a tensor: only those beneath the model's folder may be.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "partitiontuner/onnx/load_onnx.h"
#include "test/fuzz/entries/entries.h"
#include "test/fuzz/entry.h"
#include "test/testing/onnx_bytes.h"

namespace pt::testing {
namespace {

namespace fs = std::filesystem;

// A model's folder with a file of the letters a to z, the same in a folder within, and links that lead out of it to a
// file that is nobody's business. Removed at the end of the process.
class ModelFolder {
 public:
  ModelFolder() : root_(fs::temp_directory_path() / ("pt-fuzz-external-" + std::to_string(::getpid()))) {
    fs::create_directories(model() / "in");
    const std::string letters = "abcdefghijklmnopqrstuvwxyz";
    Write(model() / "w.bin", letters);
    Write(model() / "in" / "w.bin", letters);
    Write(root_ / "out.bin", std::string(64, '#'));
    fs::create_symlink("../out.bin", model() / "link");
    fs::create_symlink("..", model() / "up");
    fs::create_hard_link(root_ / "out.bin", model() / "hard");
  }
  ~ModelFolder() {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }
  fs::path model() const { return root_ / "model"; }

 private:
  static void Write(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }
  fs::path root_;
};

std::string ModelWith(const std::vector<std::pair<std::string, std::string>>& entries) {
  GraphParts parts;
  parts.inputs = {ValueInfo("x", 3, {"4"})};
  parts.initializers = {ExternalTensor("w", 3, {4}, entries)};
  parts.nodes = {NodeBytes("Add", {"x", "w"}, {"y"})};
  parts.outputs = {ValueInfo("y", 3, {"4"})};
  return ModelBytes(parts);
}

}  // namespace

void ExternalDataEntry(std::string_view bytes) {
  static const ModelFolder folder;
  static constexpr const char* kKeys[] = {"location", "offset", "length", "checksum", "location"};
  std::vector<std::pair<std::string, std::string>> entries;
  for (const char* key : kKeys) {
    const size_t end = bytes.find('\n');
    entries.emplace_back(key, bytes.substr(0, end));
    if (end == std::string_view::npos) break;
    bytes.remove_prefix(end + 1);
  }
  const std::string model = ModelWith(entries);
  LoadOptions options;
  for (const bool links : {false, true}) {
    options.allow_symlinks_beneath = links;
    const Result<Graph> graph = LoadOnnxBytes(std::as_bytes(std::span(model)), folder.model(), options);
    if (!graph.ok()) {
      Expect(graph.error().code != ErrorCode::kInternal, ToString(graph.error()));
      continue;
    }
    for (const Value& value : graph->values()) {
      if (!value.is_constant()) continue;
      for (const std::byte byte : value.constant->bytes()) {
        Expect(byte >= std::byte('a') && byte <= std::byte('z'), "bytes from outside the model's folder");
      }
    }
  }
}

}  // namespace pt::testing
