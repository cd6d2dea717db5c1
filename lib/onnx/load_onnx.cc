#include "partitiontuner/onnx/load_onnx.h"

#include <google/protobuf/io/coded_stream.h>
#include <onnx/defs/schema.h>

#include <algorithm>
#include <map>

#include "lib/onnx/check_model.h"
#include "lib/onnx/check_nodes.h"
#include "lib/onnx/complete_model.h"
#include "lib/onnx/contrib.h"
#include "lib/onnx/convert_opset.h"
#include "lib/onnx/cut_model.h"
#include "lib/onnx/declared_types.h"
#include "lib/onnx/fence.h"
#include "lib/onnx/function_calls.h"
#include "lib/onnx/functions.h"
#include "lib/onnx/graph_from_proto.h"
#include "lib/onnx/hiding_names.h"
#include "lib/onnx/infer_in_file.h"
#include "lib/onnx/model_names.h"
#include "lib/onnx/model_tensors.h"
#include "lib/onnx/opset_domain.h"
#include "lib/onnx/repeated_constants.h"
#include "lib/onnx/wire_scan.h"
#include "lib/onnx/zip_map.h"
#include "partitiontuner/onnx/infer_shapes.h"
#include "partitiontuner/support/caught.h"
#include "partitiontuner/support/file.h"

namespace pt {
namespace {

std::pair<int, int> DefaultOpsetRange() {
  return proto::OpSchemaRegistry::DomainToVersionRange::Instance().Map().at("");
}

Result<proto::ModelProto> Parse(std::span<const std::byte> bytes, const Limits& limits) {
  proto::ModelProto model;
  bool parsed = false;
  PT_CHECK_OK(Fenced(ErrorCode::kInvalidInput, "onnx.parse", "parsing", [&] {
    google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()),
                                                  static_cast<int>(bytes.size()));
    // The scan has counted the depth already; the parser recurses, so "no limit" still means a
    // finite stack.
    stream.SetRecursionLimit(limits.protobuf_depth == 0 ? 10'000 : static_cast<int>(limits.protobuf_depth) + 1);
    parsed = model.ParseFromCodedStream(&stream) && stream.ConsumedEntireMessage();
  }));
  if (!parsed) return LoadError(ErrorCode::kInvalidInput, "onnx.parse", "the bytes are no ONNX model");
  return model;
}

// Tools that merge models or append nodes import a domain again, with the same version.
Status DropRepeatedImports(proto::ModelProto& model) {
  std::map<std::string, int64_t> seen;
  std::vector<int> repeated;
  for (int i = 0; i < model.opset_import_size(); ++i) {
    auto& import = *model.mutable_opset_import(i);
    if (import.domain() == "ai.onnx") import.set_domain("");
    const auto [at, is_new] = seen.emplace(import.domain(), import.version());
    if (is_new) continue;
    if (at->second != import.version()) {
      return LoadError(ErrorCode::kInvalidInput, "onnx.opset",
                       "domain " + (import.domain().empty() ? std::string("ai.onnx") : import.domain()) +
                           " is imported with opset " + std::to_string(at->second) + " and with opset " +
                           std::to_string(import.version()));
    }
    repeated.push_back(i);
  }
  for (auto i = repeated.rbegin(); i != repeated.rend(); ++i) model.mutable_opset_import()->DeleteSubrange(*i, 1);
  return {};
}

// Versions and opsets, before libonnx trusts them.
Status CheckHeader(proto::ModelProto& model, LoadReport& report) {
  const auto refuse = [](const char* id, std::string message) {
    return LoadError(ErrorCode::kInvalidInput, id, std::move(message));
  };
  if (!model.has_graph()) return refuse("onnx.no_graph", "the model has no graph");
  if (model.graph().output_size() == 0)
    return refuse("onnx.no_outputs", "the graph has no outputs: there is nothing to compute");
  constexpr int64_t kNewest = proto::Version::IR_VERSION;
  report.ir_version = model.ir_version();
  if (model.ir_version() < 1 || model.ir_version() > kNewest) {
    return refuse("onnx.ir_version", "IR version " + std::to_string(model.ir_version()) + " is not supported: 1 to " +
                                         std::to_string(kNewest) + " are");
  }
  if (model.opset_import_size() == 0) {
    if (model.ir_version() >= 3) return refuse("onnx.opset", "the model does not say which opset it uses");
    model.add_opset_import()->set_version(1);
  }
  const auto [oldest, newest] = DefaultOpsetRange();
  PT_CHECK_OK(DropRepeatedImports(model));
  for (const auto& import : model.opset_import()) {
    const std::string shown = import.domain().empty() ? "ai.onnx" : import.domain();
    if (import.version() < 1 || import.version() > INT32_MAX)
      return refuse("onnx.opset", "opset " + std::to_string(import.version()) + " of domain " + shown + " is invalid");
    if (!import.domain().empty()) continue;
    report.file_opset = report.opset = import.version();
    if (import.version() > newest) {
      return refuse("onnx.opset", "opset " + std::to_string(import.version()) + " is not supported: " +
                                      std::to_string(oldest) + " to " + std::to_string(newest) + " are");
    }
  }
  return {};
}

Status Check(proto::ModelProto& model, const ModelTensors& tensors) {
  tensors.SetPlaceholderDims(model, /*empty=*/true);
  Status status = CheckModel(model);
  tensors.SetPlaceholderDims(model, /*empty=*/false);
  return status;
}

// Brings the operators to one opset of ONNX.
Status Convert(proto::ModelProto& model, ModelTensors& tensors, const LoadOptions& options, LoadReport& report) {
  const int64_t from = *DefaultOpset(model), to = options.convert_opset ? kTargetOpset : from;
  const bool contrib = options.convert_opset && UsesContrib(model), old = UsesOldOperators(model, to);
  // Adapters want ranks and dims, and so do operators that are spelled out.
  if (contrib || old || NeedsConversion(model, from, to)) InferInFile(model);
  const bool mixed = HasOtherOpsets(model);
  if (from == to && !contrib && !mixed) return {};
  const proto::GraphProto before = old && !contrib ? model.graph() : proto::GraphProto();
  std::optional<std::string> why;
  if (contrib || old) {
    Status status = SpellOut(model, tensors, options.limits, to);
    if (!status.ok()) {
      Error error = std::move(status).error();
      if (contrib || error.code != ErrorCode::kUnsupported) return error;
      why = "node " + error.node + ": " + error.message;
    }
  }
  if (!why) why = ConvertOpset(model, from, to);
  if (!why) {
    if (report.opset != 0) report.opset = to;
    // What is new, and what functions asked for, has not been checked.
    return contrib || old || mixed ? CheckNodes(model) : Status();
  }
  const std::string stay = "the operators stay at opset " + std::to_string(from) + ": " + *why;
  if (contrib) {
    return LoadError(ErrorCode::kUnsupported, "onnx.contrib",
                     "the model has operators of other domains, which are spelled out in those of opset " +
                         std::to_string(kTargetOpset) + ", but " + stay);
  }
  if (old) *model.mutable_graph() = before;
  if (mixed && (from == to || ConvertOpset(model, from, from))) {
    return LoadError(ErrorCode::kUnsupported, "onnx.convert",
                     "the model has operators of several opsets, which become those of one, but " + stay);
  }
  report.warnings.push_back(stay);
  return {};
}

// left: null when the bytes are the whole model.
Result<Graph> LoadBytes(std::span<const std::byte> bytes, const LeftInFile* left, const std::string& folder,
                        const LoadOptions& options, LoadReport& report) {
  const Limits& limits = options.limits;
  report.file_bytes = bytes.size();
  if (limits.file_bytes != 0 && bytes.size() > limits.file_bytes) {
    return LoadError(
        ErrorCode::kInvalidInput, "onnx.limit",
        std::to_string(bytes.size()) + " bytes are over the limit of " + std::to_string(limits.file_bytes));
  }
  if (bytes.size() > INT32_MAX)
    return LoadError(ErrorCode::kUnsupported, "onnx.limit",
                     "protobuf holds no more than 2^31-1 bytes; larger models keep their weights "
                     "in external data");
  PT_ASSIGN(const WireCounts counts, ScanModelBytes(bytes, limits));
  report.unknown_fields = counts.unknown_fields;
  PT_ASSIGN(proto::ModelProto model, Parse(bytes, limits));
  PT_CHECK_OK(CheckHeader(model, report));
  MarkSources(model);
  PT_CHECK_OK(CheckCalls(model, limits));

  ModelTensors tensors;
  {
    ExternalData external(options.external_data_folder.empty() ? folder : options.external_data_folder, options);
    PT_CHECK_OK(tensors.TakeFrom(model, external, left, options, report));
  }
  PT_CHECK_OK(DropRepeatedConstants(model, tensors, limits, report.warnings));
  PT_CHECK_OK(CompleteModel(model, report.warnings));
  MoveStrayContrib(model);
  GiveOutTensors(model, report.warnings);
  PT_CHECK_OK(SortAndCheckNames(model));
  RenameHidingValues(model, report.warnings);
  PT_CHECK_OK(CheckNodes(model));
  PT_CHECK_OK(Check(model, tensors));
  if (model.functions_size() > 0) {
    PT_ASSIGN(report.inlined_functions, ExpandFunctions(model, limits, report.warnings));
    PT_CHECK_OK(SortAndCheckNames(model));
    RenameHidingValues(model, report.warnings);
  }
  PT_CHECK_OK(CheckNodes(model));
  const DeclaredTypes declared = DeclaredTypesOf(model.graph());
  PT_CHECK_OK(Convert(model, tensors, options, report));
  PT_ASSIGN(Graph graph, GraphFromProto(model, tensors, limits));
  if (!options.infer_shapes) return graph;
  PT_ASSIGN(Graph inferred, InferShapes(graph));
  return MergeDeclared(std::move(inferred), declared, report);
}

Result<Graph> LoadFenced(std::span<const std::byte> bytes, const LeftInFile* left, const std::string& folder,
                         const LoadOptions& options, LoadReport& report) {
  report = {};
  // Our own code allocates too.
  std::optional<Result<Graph>> graph;
  Status status = Fenced(ErrorCode::kInternal, "onnx.internal", "loading",
                         [&] { graph.emplace(LoadBytes(bytes, left, folder, options, report)); });
  if (!status.ok()) return std::move(status).error();
  return std::move(*graph);
}

// Large weights from the file straight into their tensors. Nothing when the file cannot be loaded this way, whatever
// the reason: reading it whole then gives the answer.
std::optional<Graph> LoadCut(const std::string& path, const std::string& folder, const LoadOptions& options,
                             LoadReport& report) {
  const auto file = InputFile::Open(path);
  const uint64_t limit = options.limits.file_bytes;
  if (!file.ok() || file->size() > INT32_MAX || (limit != 0 && file->size() > limit)) return std::nullopt;
  std::optional<CutModel> cut;
  const Status status = Fenced(ErrorCode::kInternal, "onnx.internal", "reading", [&] { cut = CutModelFile(*file); });
  if (!status.ok() || !cut) return std::nullopt;
  const LeftInFile left{*file, cut->raw_data};
  Result<Graph> graph = LoadFenced(std::as_bytes(std::span(cut->bytes)), &left, folder, options, report);
  if (!graph.ok()) return std::nullopt;
  report.file_bytes = file->size();
  return std::move(graph).value();
}

}  // namespace

Result<Graph> LoadOnnxBytes(std::span<const std::byte> bytes, const std::string& folder, const LoadOptions& options,
                            LoadReport* report) try {
  LoadReport unused;
  return LoadFenced(bytes, nullptr, folder, options, report == nullptr ? unused : *report);
} catch (...) {
  return Caught("onnx", "load a model");
}

Result<Graph> LoadOnnx(const std::string& path, const LoadOptions& options, LoadReport* report) try {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  LoadReport unused;
  if (auto graph = LoadCut(path, folder, options, report == nullptr ? unused : *report)) return std::move(*graph);
  PT_ASSIGN(const std::string bytes, ReadFile(path, options.limits.file_bytes));
  Result<Graph> graph = LoadOnnxBytes(std::as_bytes(std::span(bytes)), folder, options, report);
  if (!graph.ok() && graph.error().file.empty()) graph.error().file = path;
  return graph;
} catch (...) {
  return Caught("onnx", "load a model");
}

}  // namespace pt
