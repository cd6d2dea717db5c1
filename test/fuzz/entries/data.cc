// Files of test data, values of flags, and the line form of graphs.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "partitiontuner/engine/npy.h"
#include "partitiontuner/engine/verify.h"
#include "partitiontuner/graph/graph_text.h"
#include "partitiontuner/onnx/tensor_proto.h"
#include "partitiontuner/transform/rewrites.h"
#include "test/fuzz/entries/entries.h"
#include "test/fuzz/entry.h"
#include "tools/common/text.h"

namespace pt::testing {
namespace {

// A path for what can only be read from files. Removed at the end of the process.
class ScratchFile {
 public:
  ScratchFile() : path_(std::filesystem::temp_directory_path() / ("pt-fuzz-" + std::to_string(::getpid()) + ".pb")) {}
  ~ScratchFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  std::string With(std::string_view bytes) const {
    std::ofstream(path_, std::ios::binary) << bytes;
    return path_;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace

void NpyEntry(std::string_view bytes) {
  const Result<Tensor> tensor = ParseNpy(bytes, "npy");
  if (!tensor.ok()) return Expect(tensor.error().code != ErrorCode::kInternal, ToString(tensor.error()));
  const Result<std::string> written = NpyBytes(*tensor);
  if (!written.ok()) return;
  const Result<Tensor> again = ParseNpy(*written, "npy");
  Expect(again.ok() && SameBits(*again, *tensor), "a tensor differs once it is written and read");
}

void TensorFileEntry(std::string_view bytes) {
  static const ScratchFile file;
  const std::string path = file.With(bytes);
  const Result<Tensor> tensor = LoadTensorProto(path);
  if (tensor.ok()) {
    const Result<std::string> written = TensorProtoBytes(*tensor);
    Expect(written.ok(), "a tensor that was read cannot be written");
    const Result<Tensor> again = LoadTensorProto(file.With(*written));
    Expect(again.ok() && SameBits(*again, *tensor), "a tensor differs once it is written and read");
  }
  (void)file.With(bytes);
  for (const char* kind : {"", "sequence", "optional"}) {
    const ValueType type{.type = DataType::kFloat32, .ranked = false, .dims = {}, .other = kind};
    const Result<Datum> datum = LoadValueProto(path, type);
    Expect(datum.ok() || datum.error().code != ErrorCode::kInternal, datum.ok() ? "" : ToString(datum.error()));
  }
}

void FlagsEntry(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const std::string_view line = bytes.substr(0, end);
    bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
    (void)tools::ParseDims(line, "--shape");
    (void)tools::ParseAssignment(line, "--dim");
    (void)tools::ParseDuration(line, "--deadline");
    (void)tools::ParseBytes(line, "--run-memory");
    (void)tools::ParseNumber(line, "--constant");
    (void)tools::ParseShare(line, "--margin");
    const Result<Rewrites> rewrites = RewritesFromString(line);
    Expect(rewrites.ok() || rewrites.error().code == ErrorCode::kUsage, "a rewrite is refused as what it is not");
  }
}

void GraphTextEntry(std::string_view bytes) {
  const Result<Graph> graph = ParseGraph(bytes);
  if (!graph.ok()) Expect(graph.error().code != ErrorCode::kInternal, ToString(graph.error()));
}

}  // namespace pt::testing
