#include "lib/onnx/sources.h"

#include <charconv>

namespace pt {
namespace {
constexpr const char* kKey = "pt:source";
constexpr char kSeparator = '\n';
}  // namespace

void SetSource(proto::NodeProto& node, const Source& source) {
  node.clear_metadata_props();  // nothing else of them is used
  auto* entry = node.add_metadata_props();
  entry->set_key(kKey);
  entry->set_value(std::to_string(source.index) + kSeparator + source.first_output + kSeparator + source.subgraph);
}

Source SourceOf(const proto::NodeProto& node) {
  Source source;
  for (const auto& entry : node.metadata_props()) {
    if (entry.key() != kKey) continue;
    const std::string& text = entry.value();
    const size_t one = text.find(kSeparator), two = text.rfind(kSeparator);
    if (one == std::string::npos || one == two) break;
    std::from_chars(text.data(), text.data() + one, source.index);
    source.first_output = text.substr(one + 1, two - one - 1);
    source.subgraph = text.substr(two + 1);
    break;
  }
  return source;
}

}  // namespace pt
