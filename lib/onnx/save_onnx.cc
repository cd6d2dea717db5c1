#include "partitiontuner/onnx/save_onnx.h"

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <cstdio>

#include "lib/onnx/external_data.h"
#include "lib/onnx/model_from_graph.h"
#include "lib/onnx/tensor_to_proto.h"
#include "partitiontuner/support/checked.h"
#include "partitiontuner/support/output_file.h"

namespace pt {
namespace {

constexpr uint64_t kMostModelBytes = INT32_MAX;  // of a protobuf message
constexpr uint64_t kBytesOfField = 40;           // what tags and lengths around a tensor's data take at most
constexpr uint64_t kPageBytes = 4096;            // readers map weights into memory

// Of the model with the data of those tensors in it, or a little more.
uint64_t BytesWith(const ModelToFill& made, std::optional<uint64_t> external_from) {
  uint64_t bytes = made.model.ByteSizeLong();
  for (const TensorToFill& tensor : made.tensors) {
    const uint64_t own = tensor.from->bytes().size();
    const bool outside = external_from && tensor.is_initializer && own >= *external_from;
    bytes += outside ? 4 * kBytesOfField : own + kBytesOfField;
  }
  return bytes;
}

Error TooLarge(uint64_t bytes, std::string hint) {
  return MakeError(ErrorCode::kUnsupported, "onnx.size",
                   "the model needs " + std::to_string(bytes) + " bytes; protobuf holds less than 2^31",
                   std::move(hint));
}

void FillIn(const TensorToFill& tensor) {
  tensor.to->set_raw_data(tensor.from->bytes().data(), tensor.from->bytes().size());
}

void PointTo(proto::TensorProto& tensor, const std::string& location, uint64_t offset, uint64_t length) {
  tensor.set_data_location(proto::TensorProto::EXTERNAL);
  const auto entry = [&](const char* key, const std::string& value) {
    auto* written = tensor.add_external_data();
    written->set_key(key);
    written->set_value(value);
  };
  entry("location", location);
  entry("offset", std::to_string(offset));
  entry("length", std::to_string(length));
}

// The weights that leave the model, one behind the other.
class WeightsFile {
 public:
  WeightsFile(OutputFile file, std::string location) : file_(std::move(file)), location_(std::move(location)) {}

  Status Add(const TensorToFill& tensor) {
    const std::span<const std::byte> bytes = tensor.from->bytes();
    const std::optional<uint64_t> offset = CheckedAlignUp(at_, kPageBytes);
    if (!offset || bytes.size() > INT64_MAX - *offset) return TooLarge(bytes.size(), "");
    static constexpr std::byte kZeros[kPageBytes] = {};
    PT_CHECK_OK(file_.Write(std::span(kZeros).first(*offset - at_)));
    PT_CHECK_OK(file_.Write(bytes));
    PointTo(*tensor.to, location_, *offset, bytes.size());
    at_ = *offset + bytes.size();
    return {};
  }
  OutputFile& file() { return file_; }

 private:
  OutputFile file_;
  const std::string location_;
  uint64_t at_ = 0;
};

// protobuf writes to it piece by piece, so that a model is not in memory twice.
class FileStream final : public google::protobuf::io::CopyingOutputStream {
 public:
  explicit FileStream(OutputFile& file) : file_(file) {}
  bool Write(const void* bytes, int count) override {
    if (status_.ok()) status_ = file_.Write({static_cast<const std::byte*>(bytes), static_cast<size_t>(count)});
    return status_.ok();
  }
  const Status& status() const { return status_; }

 private:
  OutputFile& file_;
  Status status_;
};

Status WriteModel(const proto::ModelProto& model, OutputFile& file) {
  FileStream stream(file);
  bool written = false;
  PT_CHECK_OK(Fenced(ErrorCode::kInternal, "onnx.internal", "writing a model", [&] {
    google::protobuf::io::CopyingOutputStreamAdaptor adaptor(&stream, 1 << 20);
    written = model.SerializeToZeroCopyStream(&adaptor) && adaptor.Flush();
  }));
  PT_CHECK_OK(stream.status());
  if (!written) return MakeError(ErrorCode::kInternal, "onnx.internal", "protobuf did not write the model");
  return file.Finish();
}

// A name that a model may call a file in its folder by.
Result<std::string> LocationOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string location = path.substr(slash == std::string::npos ? 0 : slash + 1) + ".data";
  PT_ASSIGN(const std::string clean, CheckExternalPath(location));
  return clean;
}

// The two files get their names one after the other. An earlier model with weights of the same name goes first: for as
// long as it takes there is none, not one that reads what belongs to the other.
Status Commit(OutputFile& model, std::optional<WeightsFile>& weights) {
  if (!weights) return model.Commit();
  if (weights->file().replaces()) PT_CHECK_OK(model.RemoveReplaced());
  PT_CHECK_OK(weights->file().Commit());
  Status status = model.Commit();
  // Weights without a model are of no use to anybody, unless they have taken the place of others already.
  if (!status.ok() && !weights->file().replaces()) (void)std::remove(weights->file().path().c_str());
  return status;
}

Status Save(ModelToFill made, const std::string& path, std::optional<uint64_t> external_from) {
  if (!external_from && BytesWith(made, std::nullopt) > kMostModelBytes) external_from = kSmallTensorBytes;
  if (const uint64_t bytes = BytesWith(made, external_from); bytes > kMostModelBytes) {
    return TooLarge(bytes, "let more weights go to a file of their own (SaveOptions::external_from)");
  }
  PT_ASSIGN(OutputFile model, OutputFile::Create(path));
  std::optional<WeightsFile> weights;
  for (const TensorToFill& tensor : made.tensors) {
    if (!external_from || !tensor.is_initializer || tensor.from->bytes().size() < *external_from) {
      FillIn(tensor);
      continue;
    }
    if (!weights) {
      PT_ASSIGN(std::string location, LocationOf(path));
      PT_ASSIGN(OutputFile file, OutputFile::Create(path + ".data"));
      weights.emplace(std::move(file), std::move(location));
    }
    PT_CHECK_OK(weights->Add(tensor));
  }
  if (weights) PT_CHECK_OK(weights->file().Finish());
  PT_CHECK_OK(WriteModel(made.model, model));
  return Commit(model, weights);
}

}  // namespace

Status SaveOnnx(const Graph& graph, const std::string& path, const SaveOptions& options) {
  PT_ASSIGN(ModelToFill made, ModelFromGraph(graph));
  std::optional<Status> status;
  PT_CHECK_OK(Fenced(ErrorCode::kInternal, "onnx.internal", "writing a model",
                     [&] { status = Save(std::move(made), path, options.external_from); }));
  return std::move(*status);
}

Result<std::string> SaveOnnxBytes(const Graph& graph) {
  PT_ASSIGN(ModelToFill made, ModelFromGraph(graph));
  if (const uint64_t bytes = BytesWith(made, std::nullopt); bytes > kMostModelBytes) {
    return TooLarge(bytes, "SaveOnnx keeps the weights of such models in a file beside");
  }
  std::string bytes;
  bool written = false;
  PT_CHECK_OK(Fenced(ErrorCode::kInternal, "onnx.internal", "writing a model", [&] {
    for (const TensorToFill& tensor : made.tensors) FillIn(tensor);
    written = made.model.SerializeToString(&bytes);
  }));
  if (!written) return MakeError(ErrorCode::kInternal, "onnx.internal", "protobuf did not write the model");
  return bytes;
}

}  // namespace pt
