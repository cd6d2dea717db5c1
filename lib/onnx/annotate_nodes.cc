#include "partitiontuner/onnx/annotate_nodes.h"

#include <algorithm>
#include <optional>
#include <span>

#include "lib/onnx/wire_fields.h"
#include "lib/onnx/wire_scan.h"

namespace pt {
namespace {

// Numbers of onnx.proto.
constexpr uint32_t kGraphOfModel = 7, kNodeOfGraph = 1, kInitializerOfGraph = 5, kAttributeOfNode = 5,
                   kMetadataOfNode = 9, kNameOfAttribute = 1, kGraphOfAttribute = 6, kGraphsOfAttribute = 11,
                   kExternalOfTensor = 13, kKey = 1, kValue = 2;

// A field of a message in memory.
struct Part {
  uint32_t number = 0;
  std::string_view whole, content;  // with key and length; of a message or text
  bool is_message = false;
};

// The bytes were scanned before (ScanModelBytes), so that nothing ends too early but what is unknown to it.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : bytes_{bytes} {}
  bool at_end() const { return at_ == bytes_.text.size(); }

  Result<Part> Next() {
    const std::optional<WireField> field = ReadWireField(bytes_, at_, bytes_.text.size());
    if (!field) {
      return MakeError(ErrorCode::kInvalidInput, "annotate.form", "a message in the model cannot be taken apart");
    }
    return Part{field->number, bytes_.text.substr(field->begin, field->end - field->begin),
                bytes_.text.substr(field->content, field->end - field->content), field->wire_type == kWireLength};
  }

 private:
  struct Memory {
    std::string_view text;
    std::byte At(uint64_t position) const { return static_cast<std::byte>(text[position]); }
    static constexpr bool failed() { return false; }
  };

  Memory bytes_;
  uint64_t at_ = 0;
};

// The text of that field of an entry; empty without one.
Result<std::string_view> TextOf(std::string_view entry, uint32_t number) {
  std::string_view text;
  for (WireReader reader(entry); !reader.at_end();) {
    PT_ASSIGN(const Part field, reader.Next());
    if (field.number == number && field.is_message) text = field.content;
  }
  return text;
}

bool IsGraph(const Part& field) {
  return field.is_message && (field.number == kGraphOfAttribute || field.number == kGraphsOfAttribute);
}

Result<bool> HoldsGraph(std::string_view attribute) {
  for (WireReader reader(attribute); !reader.at_end();) {
    PT_ASSIGN(const Part field, reader.Next());
    if (IsGraph(field)) return true;
  }
  return false;
}

Status AddExternalFile(std::string_view tensor, std::vector<std::string>& files) {
  for (WireReader reader(tensor); !reader.at_end();) {
    PT_ASSIGN(const Part field, reader.Next());
    if (field.number != kExternalOfTensor || !field.is_message) continue;
    PT_ASSIGN(const std::string_view key, TextOf(field.content, kKey));
    PT_ASSIGN(const std::string_view value, TextOf(field.content, kValue));
    if (key == "location" && std::ranges::find(files, value) == files.end()) files.emplace_back(value);
  }
  return {};
}

// Graphs within attributes of nodes within graphs, as deep as ScanModelBytes allows.
class Annotator {
 public:
  Annotator(std::string_view prefix, const NotesOfNode& notes, AnnotatedModel& model)
      : prefix_(prefix), notes_(notes), model_(model) {}

  Result<std::string> Graph(std::string_view graph, const std::string& path) {
    std::string bytes;
    bytes.reserve(graph.size());
    NodePlace place{path, 0};
    for (WireReader reader(graph); !reader.at_end();) {
      PT_ASSIGN(const Part field, reader.Next());
      if (field.number == kNodeOfGraph && field.is_message) {
        PT_ASSIGN(const std::string node, Node(field.content, place));
        AppendWireMessage(kNodeOfGraph, node, bytes);
        ++place.index;
        continue;
      }
      if (field.number == kInitializerOfGraph && field.is_message) {
        PT_CHECK_OK(AddExternalFile(field.content, model_.external_files));
      }
      bytes += field.whole;
    }
    return bytes;
  }

 private:
  Result<std::string> Node(std::string_view node, const NodePlace& place) {
    ++model_.nodes;
    std::string bytes;
    for (WireReader reader(node); !reader.at_end();) {
      PT_ASSIGN(const Part field, reader.Next());
      if (field.number == kMetadataOfNode && field.is_message) {
        PT_ASSIGN(const std::string_view key, TextOf(field.content, kKey));
        if (key.starts_with(prefix_)) continue;
      }
      const bool is_attribute = field.number == kAttributeOfNode && field.is_message;
      PT_ASSIGN(const bool holds_graph, is_attribute ? HoldsGraph(field.content) : Result<bool>(false));
      if (holds_graph) {
        PT_ASSIGN(const std::string attribute, Attribute(field.content, place));
        AppendWireMessage(kAttributeOfNode, attribute, bytes);
      } else {
        bytes += field.whole;
      }
    }
    for (const auto& [key, value] : notes_(place)) {
      std::string entry;
      AppendWireMessage(kKey, key, entry);
      AppendWireMessage(kValue, value, entry);
      AppendWireMessage(kMetadataOfNode, entry, bytes);
    }
    return bytes;
  }

  Result<std::string> Attribute(std::string_view attribute, const NodePlace& node) {
    PT_ASSIGN(const std::string_view name, TextOf(attribute, kNameOfAttribute));
    const std::string path =
        (node.subgraph.empty() ? "" : node.subgraph + "/") + std::to_string(node.index) + "." + std::string(name);
    std::string bytes;
    for (WireReader reader(attribute); !reader.at_end();) {
      PT_ASSIGN(const Part field, reader.Next());
      if (!IsGraph(field)) {
        bytes += field.whole;
        continue;
      }
      PT_ASSIGN(const std::string graph, Graph(field.content, path));
      AppendWireMessage(field.number, graph, bytes);
    }
    return bytes;
  }

  std::string_view prefix_;
  const NotesOfNode& notes_;
  AnnotatedModel& model_;
};

}  // namespace

Result<AnnotatedModel> AnnotateNodes(std::string_view model, std::string_view prefix, const NotesOfNode& notes,
                                     const Limits& limits) {
  PT_ASSIGN(const WireCounts counts, ScanModelBytes(std::as_bytes(std::span(model)), limits));
  (void)counts;
  AnnotatedModel annotated;
  annotated.bytes.reserve(model.size());
  Annotator annotator(prefix, notes, annotated);
  for (WireReader reader(model); !reader.at_end();) {
    PT_ASSIGN(const Part field, reader.Next());
    if (field.number != kGraphOfModel || !field.is_message) {
      annotated.bytes += field.whole;
      continue;
    }
    PT_ASSIGN(const std::string graph, annotator.Graph(field.content, ""));
    AppendWireMessage(kGraphOfModel, graph, annotated.bytes);
  }
  if (annotated.bytes.size() > limits.file_bytes) {
    return MakeError(ErrorCode::kUnsupported, "annotate.size",
                     "with its notes the model has " + std::to_string(annotated.bytes.size()) +
                         " bytes, more than the " + std::to_string(limits.file_bytes) + " that a model's file may have",
                     "keep its weights as external data");
  }
  return annotated;
}

}  // namespace pt
