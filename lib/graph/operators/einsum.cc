#include "partitiontuner/graph/operators/einsum.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>

namespace pt {
namespace {

constexpr std::string_view kDots = "...";

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

Error Malformed(const std::string& what) { return MakeError(ErrorCode::kInvalidInput, "graph.einsum", what); }

// nullopt where something else than letters and one "..." stands there.
std::optional<std::string> SpellOut(std::string_view term, size_t hidden) {
  std::string labels;
  const size_t dots = term.find(kDots);
  for (size_t i = 0; i < term.size(); ++i) {
    if (i == dots) {
      for (size_t h = hidden; h-- > 0;) labels += static_cast<char>('0' + h);
      i += kDots.size() - 1;
    } else if (IsLetter(term[i])) {
      labels += term[i];
    } else {
      return std::nullopt;
    }
  }
  return labels;
}

}  // namespace

Result<EinsumNode> ReadEinsum(const Node& node, std::span<const size_t> ranks) {
  const std::string spaced = node.string_or("equation", "");
  std::string text;
  std::ranges::copy_if(spaced, std::back_inserter(text), [](char c) { return c != ' '; });
  const size_t arrow = text.find("->");
  std::string_view left = std::string_view(text).substr(0, arrow);
  EinsumNode einsum;
  size_t most_hidden = 0;
  std::map<char, int> uses;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const size_t comma = left.find(',');
    if ((comma == std::string_view::npos) != (i + 1 == ranks.size()))
      return Malformed("its equation has another number of terms than inputs");
    const std::string_view term = left.substr(0, comma);
    const bool has_dots = term.find(kDots) != std::string_view::npos;
    const size_t named = term.size() - (has_dots ? kDots.size() : 0);
    const size_t hidden = has_dots && named <= ranks[i] ? ranks[i] - named : 0;
    std::optional<std::string> labels = SpellOut(term, hidden);
    if (!labels) return Malformed("its equation is malformed");
    if (labels->size() != ranks[i]) return Malformed("a term does not fit its input");
    most_hidden = std::max(most_hidden, hidden);
    for (const char label : *labels) ++uses[label];
    einsum.inputs.push_back(*std::move(labels));
    if (comma != std::string_view::npos) left.remove_prefix(comma + 1);
  }
  if (arrow != std::string::npos) {
    std::optional<std::string> output = SpellOut(std::string_view(text).substr(arrow + 2), most_hidden);
    if (!output) return Malformed("its equation is malformed");
    einsum.output = *std::move(output);
    return einsum;
  }
  einsum.output = *SpellOut(kDots, most_hidden);
  for (const auto& [label, count] : uses) {
    if (IsLetter(label) && count == 1) einsum.output += label;
  }
  return einsum;
}

}  // namespace pt
