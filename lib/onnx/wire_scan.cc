#include "lib/onnx/wire_scan.h"

#include <array>
#include <string>
#include <vector>

namespace pt {
namespace {

enum class Message : uint8_t {
  kUnknown,  // the inside of an unknown group
  kModel,
  kGraph,
  kNode,
  kAttribute,
  kTensor,
  kSparseTensor,
  kValueInfo,
  kType,
  kTypeTensor,
  kTypeSequence,
  kTypeMap,
  kTypeOpaque,
  kShape,
  kDimension,
  kFunction,
  kOpset,
  kEntry,
  kAnnotation,
  kTraining,
  kDevice,
  kNodeDevice,
  kSharding,
  kIntIntList,
  kShardedDim,
  kSimpleShardedDim,
  kSegment,
};

enum class Kind : uint8_t {
  kVarint,
  kFloat,  // singular
  kInts,
  kFloats,
  kDoubles,  // repeated, packed or not
  kName,     // text whose length is limited
  kBytes,    // text or data of any length
  kOne,
  kMany,  // messages; a second kOne would silently merge with the first
};

struct Field {
  uint32_t number;
  Kind kind;
  Message message = Message::kUnknown;
};

// onnx.proto as far as the wire form goes. The position in a row's list is the bit that marks a
// kOne as seen.
std::span<const Field> FieldsOf(Message message) {
  using enum Kind;
  using enum Message;
  static constexpr Field model[] = {{1, kVarint},
                                    {2, kName},
                                    {3, kName},
                                    {4, kName},
                                    {5, kVarint},
                                    {6, kBytes},
                                    {7, kOne, kGraph},
                                    {8, kMany, kOpset},
                                    {14, kMany, kEntry},
                                    {20, kMany, kTraining},
                                    {25, kMany, kFunction},
                                    {26, kMany, kDevice}};
  static constexpr Field graph[] = {{1, kMany, kNode},          {2, kName},
                                    {5, kMany, kTensor},        {10, kBytes},
                                    {11, kMany, kValueInfo},    {12, kMany, kValueInfo},
                                    {13, kMany, kValueInfo},    {14, kMany, kAnnotation},
                                    {15, kMany, kSparseTensor}, {16, kMany, kEntry}};
  static constexpr Field node[] = {{1, kName},  {2, kName}, {3, kName}, {4, kName},         {5, kMany, kAttribute},
                                   {6, kBytes}, {7, kName}, {8, kName}, {9, kMany, kEntry}, {10, kMany, kNodeDevice}};
  static constexpr Field attribute[] = {{1, kName},
                                        {2, kFloat},
                                        {3, kVarint},
                                        {4, kBytes},
                                        {5, kOne, kTensor},
                                        {6, kOne, kGraph},
                                        {7, kFloats},
                                        {8, kInts},
                                        {9, kBytes},
                                        {10, kMany, kTensor},
                                        {11, kMany, kGraph},
                                        {13, kBytes},
                                        {14, kOne, kType},
                                        {15, kMany, kType},
                                        {20, kVarint},
                                        {21, kName},
                                        {22, kOne, kSparseTensor},
                                        {23, kMany, kSparseTensor}};
  static constexpr Field tensor[] = {{1, kInts},          {2, kVarint},   {3, kOne, kSegment}, {4, kFloats},
                                     {5, kInts},          {6, kBytes},    {7, kInts},          {8, kName},
                                     {9, kBytes},         {10, kDoubles}, {11, kInts},         {12, kBytes},
                                     {13, kMany, kEntry}, {14, kVarint},  {16, kMany, kEntry}};
  static constexpr Field sparse_tensor[] = {{1, kOne, kTensor}, {2, kOne, kTensor}, {3, kInts}};
  static constexpr Field value_info[] = {{1, kName}, {2, kOne, kType}, {3, kBytes}, {4, kMany, kEntry}};
  static constexpr Field type[] = {
      {1, kOne, kTypeTensor}, {4, kOne, kTypeSequence}, {5, kOne, kTypeMap},     {6, kName},
      {7, kOne, kTypeOpaque}, {8, kOne, kTypeTensor},   {9, kOne, kTypeSequence}};
  static constexpr Field type_tensor[] = {{1, kVarint}, {2, kOne, kShape}};
  static constexpr Field type_sequence[] = {{1, kOne, kType}};
  static constexpr Field type_map[] = {{1, kVarint}, {2, kOne, kType}};
  static constexpr Field names_1_2[] = {{1, kName}, {2, kName}};
  static constexpr Field shape[] = {{1, kMany, kDimension}};
  static constexpr Field dimension[] = {{1, kVarint}, {2, kName}, {3, kName}};
  static constexpr Field function[] = {{1, kName},
                                       {2, kVarint},
                                       {3, kVarint},
                                       {4, kName},
                                       {5, kName},
                                       {6, kName},
                                       {7, kMany, kNode},
                                       {8, kBytes},
                                       {9, kMany, kOpset},
                                       {10, kName},
                                       {11, kMany, kAttribute},
                                       {12, kMany, kValueInfo},
                                       {13, kName},
                                       {14, kMany, kEntry}};
  static constexpr Field opset[] = {{1, kName}, {2, kVarint}};
  static constexpr Field entry[] = {{1, kBytes}, {2, kBytes}};
  static constexpr Field annotation[] = {{1, kName}, {2, kMany, kEntry}};
  static constexpr Field training[] = {{1, kOne, kGraph}, {2, kOne, kGraph}, {3, kMany, kEntry}, {4, kMany, kEntry}};
  static constexpr Field device[] = {{1, kName}, {2, kVarint}, {3, kName}};
  static constexpr Field node_device[] = {{1, kName}, {2, kMany, kSharding}, {3, kVarint}};
  static constexpr Field sharding[] = {{1, kName}, {2, kInts}, {3, kMany, kIntIntList}, {4, kMany, kShardedDim}};
  static constexpr Field int_int_list[] = {{1, kVarint}, {2, kInts}};
  static constexpr Field sharded_dim[] = {{1, kVarint}, {2, kMany, kSimpleShardedDim}};
  static constexpr Field simple_sharded_dim[] = {{1, kVarint}, {2, kName}, {3, kVarint}};
  static constexpr Field segment[] = {{1, kVarint}, {2, kVarint}};
  switch (message) {
    case Message::kUnknown:
      return {};
    case Message::kModel:
      return model;
    case Message::kGraph:
      return graph;
    case Message::kNode:
      return node;
    case Message::kAttribute:
      return attribute;
    case Message::kTensor:
      return tensor;
    case Message::kSparseTensor:
      return sparse_tensor;
    case Message::kValueInfo:
      return value_info;
    case Message::kType:
      return type;
    case Message::kTypeTensor:
      return type_tensor;
    case Message::kTypeSequence:
      return type_sequence;
    case Message::kTypeMap:
      return type_map;
    case Message::kTypeOpaque:
      return names_1_2;
    case Message::kShape:
      return shape;
    case Message::kDimension:
      return dimension;
    case Message::kFunction:
      return function;
    case Message::kOpset:
      return opset;
    case Message::kEntry:
      return entry;
    case Message::kAnnotation:
      return annotation;
    case Message::kTraining:
      return training;
    case Message::kDevice:
      return device;
    case Message::kNodeDevice:
      return node_device;
    case Message::kSharding:
      return sharding;
    case Message::kIntIntList:
      return int_int_list;
    case Message::kShardedDim:
      return sharded_dim;
    case Message::kSimpleShardedDim:
      return simple_sharded_dim;
    case Message::kSegment:
      return segment;
  }
  return {};
}

std::string_view MessageName(Message message) {
  switch (message) {
    case Message::kModel:
      return "the model";
    case Message::kGraph:
      return "a graph";
    case Message::kNode:
      return "a node";
    case Message::kAttribute:
      return "an attribute";
    case Message::kTensor:
      return "a tensor";
    case Message::kFunction:
      return "a function";
    case Message::kUnknown:
      return "an unknown group";
    default:
      return "a message";
  }
}

class Scanner {
 public:
  Scanner(std::span<const std::byte> bytes, const Limits& limits) : bytes_(bytes), limits_(limits) {}

  Result<WireCounts> Run() {
    stack_.push_back({bytes_.size(), Message::kModel, 0, 0});
    while (!stack_.empty()) {
      const Frame& frame = stack_.back();
      if (frame.group == 0 && at_ == frame.end) {
        if (frame.message == Message::kGraph) --graph_depth_;
        stack_.pop_back();
        continue;
      }
      PT_CHECK_OK(ReadField());
    }
    return counts_;
  }

 private:
  struct Frame {
    size_t end;  // of the message; within a group: of what encloses it
    Message message;
    uint32_t group;  // field number of the unknown group this is the inside of; 0 = none
    uint64_t seen;   // kOne fields met, by position in the table
  };

  Error Wrong(std::string id, const std::string& what, size_t at) const {
    return MakeError(ErrorCode::kInvalidInput, std::move(id), what + " at byte " + std::to_string(at));
  }

  Result<uint64_t> Varint(size_t end) {
    uint64_t value = 0;
    const size_t start = at_;
    for (int shift = 0; shift < 70; shift += 7) {
      if (at_ == end) return Wrong("onnx.truncated", "the file ends within a number or a message is cut short", start);
      const auto byte = std::to_integer<uint8_t>(bytes_[at_++]);
      if (shift == 63 && byte > 1) break;
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    return Wrong("onnx.wire", "a number has more than 64 bits", start);
  }

  Status Skip(uint64_t count, size_t end, size_t start) {
    if (count > end - at_) {
      return Wrong("onnx.truncated",
                   "a field of " + std::to_string(count) + " bytes has only " + std::to_string(end - at_) + " left",
                   start);
    }
    at_ += static_cast<size_t>(count);
    return {};
  }

  Status ReadField() {
    const size_t start = at_;
    const size_t end = stack_.back().end;
    PT_ASSIGN(const uint64_t tag, Varint(end));
    const uint64_t number = tag >> 3;
    const auto wire_type = static_cast<uint32_t>(tag & 7);
    if (number == 0 || number > 0x1fffffff)
      return Wrong("onnx.wire", "field number " + std::to_string(number) + " is invalid", start);
    const std::span<const Field> fields = FieldsOf(stack_.back().message);
    for (size_t i = 0; i < fields.size(); ++i) {
      if (fields[i].number == number) return ReadKnown(fields[i], i, wire_type, start);
    }
    if (stack_.back().message != Message::kUnknown) ++counts_.unknown_fields;
    return ReadUnknown(static_cast<uint32_t>(number), wire_type, start);
  }

  Status ReadUnknown(uint32_t number, uint32_t wire_type, size_t start) {
    const size_t end = stack_.back().end;
    switch (wire_type) {
      case 0: {
        PT_ASSIGN([[maybe_unused]] const uint64_t value, Varint(end));
        return {};
      }
      case 1:
        return Skip(8, end, start);
      case 2: {
        PT_ASSIGN(const uint64_t length, Varint(end));
        return Skip(length, end, start);
      }
      case 3:
        return Enter(Message::kUnknown, end, number, start);
      case 4:
        if (stack_.back().group != number)
          return Wrong("onnx.wire", "end of group " + std::to_string(number) + " without its start", start);
        stack_.pop_back();
        return {};
      case 5:
        return Skip(4, end, start);
      default:
        return Wrong("onnx.wire", "wire type " + std::to_string(wire_type) + " does not exist", start);
    }
  }

  Status Enter(Message message, size_t end, uint32_t group, size_t start) {
    if (limits_.protobuf_depth != 0 && stack_.size() > limits_.protobuf_depth) {
      return Wrong("onnx.depth",
                   "messages are nested deeper than the limit of " + std::to_string(limits_.protobuf_depth), start);
    }
    stack_.push_back({end, message, group, 0});
    return {};
  }

  Status ReadKnown(const Field& field, size_t position, uint32_t wire_type, size_t start) {
    Frame& frame = stack_.back();
    const auto expected = [&] {
      return Wrong("onnx.wire",
                   "field " + std::to_string(field.number) + " of " + std::string(MessageName(frame.message)) +
                       " has wire type " + std::to_string(wire_type),
                   start);
    };
    if (wire_type != 2) {
      const bool number = wire_type == 0 && (field.kind == Kind::kVarint || field.kind == Kind::kInts);
      const bool four = wire_type == 5 && (field.kind == Kind::kFloat || field.kind == Kind::kFloats);
      const bool eight = wire_type == 1 && field.kind == Kind::kDoubles;
      if (!number && !four && !eight) return expected();
      return ReadUnknown(field.number, wire_type, start);
    }
    if (field.kind == Kind::kVarint || field.kind == Kind::kFloat) return expected();
    PT_ASSIGN(const uint64_t length, Varint(frame.end));
    const size_t content = at_;
    PT_CHECK_OK(Skip(length, frame.end, start));
    switch (field.kind) {
      case Kind::kFloats:
        if (length % 4 != 0) return Wrong("onnx.wire", "packed floats of " + std::to_string(length) + " bytes", start);
        return {};
      case Kind::kDoubles:
        if (length % 8 != 0) return Wrong("onnx.wire", "packed doubles of " + std::to_string(length) + " bytes", start);
        return {};
      case Kind::kInts:
        return CheckPackedVarints(content, at_);
      case Kind::kName:
        if (limits_.name_bytes != 0 && length > limits_.name_bytes) {
          return Wrong("onnx.limit",
                       "a name of " + std::to_string(length) + " bytes is over the limit of " +
                           std::to_string(limits_.name_bytes),
                       start);
        }
        return {};
      case Kind::kOne:
        if ((frame.seen >> position & 1) != 0) {
          return Wrong("onnx.duplicate",
                       "field " + std::to_string(field.number) + " of " + std::string(MessageName(frame.message)) +
                           " is there twice: files joined together?",
                       start);
        }
        frame.seen |= uint64_t{1} << position;
        [[fallthrough]];
      case Kind::kMany: {
        PT_CHECK_OK(Count(field.message, start));
        const size_t message_end = at_;
        at_ = content;
        return Enter(field.message, message_end, 0, start);
      }
      default:
        return {};
    }
  }

  Status CheckPackedVarints(size_t from, size_t end) {
    at_ = from;
    while (at_ < end) PT_CHECK_OK(Varint(end));
    return {};
  }

  Status Count(Message message, size_t start) {
    const auto over = [&](const char* what, uint64_t limit) {
      return Wrong("onnx.limit", std::string("more ") + what + " than the limit of " + std::to_string(limit), start);
    };
    if (message == Message::kNode && ++counts_.nodes > limits_.nodes && limits_.nodes != 0)
      return over("nodes", limits_.nodes);
    if (message == Message::kFunction && ++counts_.functions > limits_.functions && limits_.functions != 0) {
      return over("functions", limits_.functions);
    }
    if (message == Message::kGraph && ++graph_depth_ > limits_.subgraph_depth + 1 && limits_.subgraph_depth != 0) {
      return Wrong("onnx.depth",
                   "subgraphs are nested deeper than the limit of " + std::to_string(limits_.subgraph_depth), start);
    }
    return {};
  }

  std::span<const std::byte> bytes_;
  const Limits& limits_;
  size_t at_ = 0;
  std::vector<Frame> stack_;
  uint32_t graph_depth_ = 0;
  WireCounts counts_;
};

bool StartsWith(std::span<const std::byte> bytes, std::string_view text) {
  if (bytes.size() < text.size()) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (std::to_integer<char>(bytes[i]) != text[i]) return false;
  }
  return true;
}

// What people hand over by mistake.
Status CheckIsNoOtherFormat(std::span<const std::byte> bytes) {
  const auto refuse = [](const char* id, const char* message, const char* hint) {
    return MakeError(ErrorCode::kInvalidInput, id, message, hint);
  };
  if (bytes.empty()) return refuse("onnx.empty", "the file is empty", "");
  if (StartsWith(bytes, "version https://git-lfs")) {
    return refuse("onnx.lfs_pointer", "this is a Git LFS pointer, not the model itself", "fetch it with: git lfs pull");
  }
  if (StartsWith(bytes, "\x1f\x8b"))
    return refuse("onnx.format", "this is gzip data, not an ONNX model", "unpack it first");
  if (StartsWith(bytes, "PK\x03\x04"))
    return refuse("onnx.format", "this is a ZIP archive, not an ONNX model", "unpack it first");
  size_t first = 0;
  while (first < bytes.size() && first < 64 && std::to_integer<char>(bytes[first]) <= ' ' &&
         std::to_integer<char>(bytes[first]) > 8)
    ++first;
  if (StartsWith(bytes.subspan(first), "<!") || StartsWith(bytes.subspan(first), "<html") ||
      StartsWith(bytes.subspan(first), "<?xml")) {
    return refuse("onnx.format", "this is an HTML or XML page, not an ONNX model",
                  "a download link may lead to a page instead of the file");
  }
  if (StartsWith(bytes.subspan(first), "{\"") || StartsWith(bytes.subspan(first), "{\n") ||
      StartsWith(bytes.subspan(first), "{ ") || StartsWith(bytes.subspan(first), "[{")) {
    return refuse("onnx.format", "this is JSON text, not an ONNX model", "");
  }
  return {};
}

}  // namespace

Result<WireCounts> ScanModelBytes(std::span<const std::byte> bytes, const Limits& limits) {
  PT_CHECK_OK(CheckIsNoOtherFormat(bytes));
  return Scanner(bytes, limits).Run();
}

}  // namespace pt
