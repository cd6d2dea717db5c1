#include "partitiontuner/onnx/annotate_nodes.h"

#include <algorithm>
#include <span>

#include "lib/onnx/wire_scan.h"

namespace pt {
namespace {

// Numbers of onnx.proto.
constexpr uint64_t kGraphOfModel = 7, kNodeOfGraph = 1, kInitializerOfGraph = 5, kMetadataOfNode = 9,
                   kExternalOfTensor = 13, kKey = 1, kValue = 2;
constexpr uint32_t kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5;  // wire types

// One field of a message. The bytes were scanned before (ScanModelBytes), so that nothing ends too early but what is
// unknown to it.
struct WireField {
  uint64_t number = 0;
  std::string_view whole, content;  // with tag and length; of a message or text
  bool is_message = false;
};

class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : bytes_(bytes) {}
  bool at_end() const { return at_ == bytes_.size(); }

  Result<WireField> Next() {
    const size_t begin = at_;
    PT_ASSIGN(const uint64_t tag, Varint());
    WireField field;
    field.number = tag >> 3;
    uint64_t size = 0;
    switch (static_cast<uint32_t>(tag & 7)) {
      case kVarint: {
        PT_ASSIGN(const uint64_t value, Varint());
        (void)value;
        break;
      }
      case kFixed64:
        size = 8;
        break;
      case kFixed32:
        size = 4;
        break;
      case kLength: {
        PT_ASSIGN(size, Varint());
        field.is_message = true;
        break;
      }
      default:
        return Broken();
    }
    if (size > bytes_.size() - at_) return Broken();
    field.content = bytes_.substr(at_, size);
    at_ += size;
    field.whole = bytes_.substr(begin, at_ - begin);
    return field;
  }

 private:
  static Error Broken() {
    return MakeError(ErrorCode::kInvalidInput, "annotate.form", "a message in the model cannot be taken apart");
  }
  Result<uint64_t> Varint() {
    uint64_t value = 0;
    for (uint32_t shift = 0; shift < 64 && at_ < bytes_.size(); shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes_[at_++]);
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    return Broken();
  }

  std::string_view bytes_;
  size_t at_ = 0;
};

void AddVarint(uint64_t value, std::string& to) {
  for (; value >= 0x80; value >>= 7) to += static_cast<char>(value | 0x80);
  to += static_cast<char>(value);
}

void AddMessage(uint64_t number, std::string_view content, std::string& to) {
  AddVarint(number << 3 | kLength, to);
  AddVarint(content.size(), to);
  to += content;
}

// The text of that field of an entry; empty without one.
Result<std::string_view> TextOf(std::string_view entry, uint64_t number) {
  std::string_view text;
  for (WireReader reader(entry); !reader.at_end();) {
    PT_ASSIGN(const WireField field, reader.Next());
    if (field.number == number && field.is_message) text = field.content;
  }
  return text;
}

Result<std::string> AnnotatedNode(std::string_view node, std::string_view prefix, const NodeNotes& notes) {
  std::string bytes;
  for (WireReader reader(node); !reader.at_end();) {
    PT_ASSIGN(const WireField field, reader.Next());
    if (field.number == kMetadataOfNode && field.is_message) {
      PT_ASSIGN(const std::string_view key, TextOf(field.content, kKey));
      if (key.starts_with(prefix)) continue;
    }
    bytes += field.whole;
  }
  for (const auto& [key, value] : notes) {
    std::string entry;
    AddMessage(kKey, key, entry);
    AddMessage(kValue, value, entry);
    AddMessage(kMetadataOfNode, entry, bytes);
  }
  return bytes;
}

Status AddExternalFile(std::string_view tensor, std::vector<std::string>& files) {
  for (WireReader reader(tensor); !reader.at_end();) {
    PT_ASSIGN(const WireField field, reader.Next());
    if (field.number != kExternalOfTensor || !field.is_message) continue;
    PT_ASSIGN(const std::string_view key, TextOf(field.content, kKey));
    PT_ASSIGN(const std::string_view value, TextOf(field.content, kValue));
    if (key == "location" && std::ranges::find(files, value) == files.end()) files.emplace_back(value);
  }
  return {};
}

Result<std::string> AnnotatedGraph(std::string_view graph, std::string_view prefix, const NotesOfNode& notes,
                                   AnnotatedModel& model) {
  std::string bytes;
  bytes.reserve(graph.size());
  for (WireReader reader(graph); !reader.at_end();) {
    PT_ASSIGN(const WireField field, reader.Next());
    if (field.number == kNodeOfGraph && field.is_message) {
      PT_ASSIGN(const std::string node, AnnotatedNode(field.content, prefix, notes(model.nodes++)));
      AddMessage(kNodeOfGraph, node, bytes);
      continue;
    }
    if (field.number == kInitializerOfGraph && field.is_message) {
      PT_CHECK_OK(AddExternalFile(field.content, model.external_files));
    }
    bytes += field.whole;
  }
  return bytes;
}

}  // namespace

Result<AnnotatedModel> AnnotateNodes(std::string_view model, std::string_view prefix, const NotesOfNode& notes,
                                     const Limits& limits) {
  PT_ASSIGN(const WireCounts counts, ScanModelBytes(std::as_bytes(std::span(model)), limits));
  (void)counts;
  AnnotatedModel annotated;
  annotated.bytes.reserve(model.size());
  for (WireReader reader(model); !reader.at_end();) {
    PT_ASSIGN(const WireField field, reader.Next());
    if (field.number != kGraphOfModel || !field.is_message) {
      annotated.bytes += field.whole;
      continue;
    }
    PT_ASSIGN(const std::string graph, AnnotatedGraph(field.content, prefix, notes, annotated));
    AddMessage(kGraphOfModel, graph, annotated.bytes);
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
