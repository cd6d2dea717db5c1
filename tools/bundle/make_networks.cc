// pt-make-networks FOLDER BATCH...: the networks that the bundle measures, FOLDER/NAME-BATCH.onnx each.
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <string>

#include "partitiontuner/onnx/save_onnx.h"
#include "tools/bundle/networks.h"

namespace {

int Fail(const pt::Error& error) {
  std::fprintf(stderr, "pt-make-networks: %s\n", pt::ToString(error).c_str());
  return static_cast<int>(error.code);
}

int Usage() {
  std::fputs("usage: pt-make-networks FOLDER BATCH...\n", stderr);
  return static_cast<int>(pt::ErrorCode::kUsage);
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) return Usage();
  std::error_code fault;
  std::filesystem::create_directories(arguments[1], fault);
  for (int a = 2; a < count; ++a) {
    const std::string text = arguments[a];
    int64_t batch = 0;
    const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), batch);
    if (bad != std::errc() || end != text.data() + text.size() || batch < 1 || batch > 4096) return Usage();
    for (const pt::NetworkRow& row : pt::Networks()) {
      const pt::Result<pt::Graph> graph = row.make(batch);
      if (!graph.ok()) return Fail(graph.error());
      const std::string path = std::string(arguments[1]) + "/" + std::string(row.name) + "-" + text + ".onnx";
      if (const pt::Status saved = pt::SaveOnnx(*graph, path); !saved.ok()) return Fail(saved.error());
      std::printf("%s: %zu nodes\n", path.c_str(), graph->nodes().size());
    }
  }
  return 0;
}
