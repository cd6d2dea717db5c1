#include "lib/cost/key_reader.h"

#include <algorithm>
#include <charconv>

namespace pt {
namespace {

constexpr std::string_view kSeparator = " | ";

// Nothing within quotes is ever a separator: what is quoted holds no quotes itself.
std::vector<std::string_view> FieldsOf(std::string_view text) {
  std::vector<std::string_view> fields;
  for (size_t at = text.find(kSeparator); at != std::string_view::npos; at = text.find(kSeparator)) {
    fields.push_back(text.substr(0, at));
    text.remove_prefix(at + kSeparator.size());
  }
  fields.push_back(text);
  return fields;
}

std::optional<std::string_view> After(std::string_view text, std::string_view start) {
  if (!text.starts_with(start)) return std::nullopt;
  return text.substr(start.size());
}

template <typename T>
std::optional<T> ReadNumber(std::string_view text) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Reads one piece of work from its start; every reading step says whether the text went on as it must.
class WorkReader {
 public:
  explicit WorkReader(std::string_view text) : text_(text) {}

  bool Read(RunKey& key) {
    if (!Take("opset ")) return false;
    Until(":");
    if (!Take(": ")) return false;
    do {
      if (!ReadNode(key)) return false;
    } while (Take("; "));
    return text_.empty();
  }

 private:
  bool Take(std::string_view expected) {
    if (!text_.starts_with(expected)) return false;
    text_.remove_prefix(expected.size());
    return true;
  }

  // Up to the first of these characters outside of quotes and brackets; all that is left where there is none.
  std::string_view Until(std::string_view stops) {
    size_t at = 0;
    int depth = 0;
    bool quoted = false;
    for (; at < text_.size(); ++at) {
      const char c = text_[at];
      if (c == '"') quoted = !quoted;
      if (quoted) continue;
      if (depth == 0 && stops.find(c) != std::string_view::npos) break;
      if (c == '[' || c == '{') ++depth;
      if (c == ']' || c == '}') --depth;
    }
    const std::string_view taken = text_.substr(0, at);
    text_.remove_prefix(at);
    return taken;
  }

  bool ReadNode(RunKey& key) {
    KeyNode node;
    node.op = Until("{");
    if (node.op.empty() || !Take("{")) return false;
    while (!Take("}")) {
      const std::string_view name = Until("=");
      if (!Take("=")) return false;
      node.attributes[name] = Until(",}");
      if (text_.empty()) return false;
      Take(",");
    }
    key.nodes.push_back(std::move(node));
    return Take("(") && ReadValues(key) && Take("->(") && ReadValues(key);
  }

  bool ReadValues(RunKey& key) {
    if (Take(")")) return true;
    do {
      const std::string_view name = Until(":,)");
      if (Take(":") && !ReadTensor(name, key)) return false;
    } while (Take(","));
    return Take(")");
  }

  bool ReadTensor(std::string_view name, RunKey& key) {
    KeyTensor tensor;
    tensor.constant = Take("const ");
    const std::optional<DataType> type = DataTypeFromName(Until("["));
    if (!type) return false;
    tensor.type = *type;
    const size_t end = text_.find(']');
    if (end == std::string_view::npos) return false;
    std::optional<std::vector<int64_t>> dims = ReadIntegers(text_.substr(0, end + 1));
    if (!dims) return false;
    tensor.dims = std::move(*dims);
    text_.remove_prefix(end + 1);
    if (Take("{")) {  // the values of a small constant
      Until("}");
      if (!Take("}")) return false;
    }
    key.tensors.emplace_back(name, std::move(tensor));
    return true;
  }

  std::string_view text_;
};

std::optional<KeyForm> ReadForm(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::optional<DataType> storage = DataTypeFromName(text.substr(0, colon));
  if (!storage) return std::nullopt;
  const std::string_view layout = text.substr(colon + 1), name = layout.substr(0, layout.find(' '));
  return KeyForm{*storage, name, name.size() != layout.size()};
}

std::optional<std::vector<KeyForm>> ReadForms(std::string_view field, std::string_view start) {
  const std::optional<std::string_view> list = After(field, start);
  if (!list) return std::nullopt;
  std::vector<KeyForm> forms;
  for (std::string_view rest = *list; !rest.empty();) {
    const size_t comma = std::min(rest.find(','), rest.size());
    const std::optional<KeyForm> form = ReadForm(rest.substr(0, comma));
    if (!form) return std::nullopt;
    forms.push_back(*form);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return forms;
}

uint64_t ReuseKib(const std::vector<std::string_view>& fields) {
  const std::optional<std::string_view> reuse = After(fields.back(), "after ");
  return reuse ? ReadNumber<uint64_t>(reuse->substr(0, reuse->find(' '))).value_or(0) : 0;
}

}  // namespace

const KeyTensor* RunKey::find(std::string_view name) const {
  const auto at = std::ranges::find_if(tensors, [&](const auto& tensor) { return tensor.first == name; });
  return at == tensors.end() ? nullptr : &at->second;
}

std::optional<std::vector<int64_t>> ReadIntegers(std::string_view text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return std::nullopt;
  text = text.substr(1, text.size() - 2);
  std::vector<int64_t> numbers;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::optional<int64_t> number = ReadNumber<int64_t>(text.substr(0, comma));
    if (!number) return std::nullopt;
    numbers.push_back(*number);
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
    if (text.empty()) return std::nullopt;
  }
  return numbers;
}

std::optional<RunKey> ReadRunKey(std::string_view key_text) {
  const std::vector<std::string_view> fields = FieldsOf(key_text);
  if (fields.size() < 7) return std::nullopt;
  const std::optional<std::string_view> work = After(fields[0], "run ");
  const std::optional<std::string_view> elision = After(fields[4], "elision ");
  std::optional<std::vector<KeyForm>> in = ReadForms(fields[1], "in "), out = ReadForms(fields[2], "out ");
  RunKey key;
  if (!work || !elision || !in || !out || !WorkReader(*work).Read(key)) return std::nullopt;
  key.in = std::move(*in);
  key.out = std::move(*out);
  key.elision = *elision;
  key.variant = fields[6];
  key.reuse_kib = ReuseKib(fields);
  return key;
}

std::optional<ReorderKeyWords> ReadReorderKey(std::string_view key_text) {
  const std::vector<std::string_view> fields = FieldsOf(key_text);
  const std::optional<std::string_view> dims_text = After(fields[0], "reorder ");
  if (fields.size() < 3 || !dims_text) return std::nullopt;
  std::optional<std::vector<int64_t>> dims = ReadIntegers(*dims_text);
  const std::optional<KeyForm> from = ReadForm(fields[1]), to = ReadForm(fields[2]);
  if (!dims || !from || !to) return std::nullopt;
  return ReorderKeyWords{std::move(*dims), *from, *to, ReuseKib(fields)};
}

}  // namespace pt
