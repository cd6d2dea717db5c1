#include "test/testing/generated/case_lines.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace pt::testing {
namespace {

// The names in "a, b, _, c".
std::vector<std::string> NamesIn(std::string_view list) {
  std::vector<std::string> names;
  while (!list.empty()) {
    const size_t end = std::min(list.find(", "), list.size());
    if (end > 0 && list.substr(0, end) != "_") names.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 2, list.size()));
  }
  return names;
}

Line LineOf(const std::string& text) {
  Line line;
  line.text = text;
  const size_t blank = text.find(' ');
  const std::string first = text.substr(0, blank);
  if (first == "opset") {
    line.kind = Line::Kind::kOpset;
  } else if (first == "input" || first == "const") {
    line.kind = first == "input" ? Line::Kind::kInput : Line::Kind::kConstant;
    line.makes = {text.substr(blank + 1, text.find(' ', blank + 1) - blank - 1)};
  } else if (first == "output") {
    line.kind = Line::Kind::kOutput;
    line.reads = {text.substr(blank + 1)};
  } else {
    const size_t open = text.find('(');
    line.makes = NamesIn(std::string_view(text).substr(0, text.find(" = ")));
    line.reads = NamesIn(std::string_view(text).substr(open + 1, text.find(')') - open - 1));
  }
  return line;
}

}  // namespace

std::vector<Line> LinesOf(const std::string& text) {
  std::vector<Line> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) lines.push_back(LineOf(text.substr(at, end - at)));
    at = end + 1;
  }
  return lines;
}

std::string TextOf(const std::vector<Line>& lines) {
  std::string text;
  for (const Line& line : lines) text += line.text + "\n";
  return text;
}

std::vector<Line> WithoutDead(std::vector<Line> lines) {
  std::set<std::string> needed;
  std::vector<Line> kept;
  for (size_t i = lines.size(); i-- > 0;) {
    Line& line = lines[i];
    const bool stays = line.kind == Line::Kind::kOutput || line.kind == Line::Kind::kOpset ||
                       std::ranges::any_of(line.makes, [&](const std::string& name) { return needed.contains(name); });
    if (!stays) continue;
    needed.insert(line.reads.begin(), line.reads.end());
    kept.push_back(std::move(line));
  }
  std::ranges::reverse(kept);
  return kept;
}

}  // namespace pt::testing
