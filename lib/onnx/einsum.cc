#include "lib/onnx/einsum.h"

#include <set>

namespace pt {
namespace {

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Reads labels and at most one "..." up to a ',' or the end; false when there is anything else.
bool ReadTerm(std::string_view& rest, std::string& labels, bool& ellipsis) {
  labels.clear();
  ellipsis = false;
  while (!rest.empty() && rest.front() != ',') {
    if (rest.starts_with("...") && !ellipsis) {
      ellipsis = true;
      rest.remove_prefix(3);
    } else if (IsLetter(rest.front()) || rest.front() == ' ') {
      if (rest.front() != ' ') labels += rest.front();
      rest.remove_prefix(1);
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace

std::string EinsumFault(std::string_view equation, size_t operands) {
  const size_t arrow = equation.find("->");
  std::string_view left = equation.substr(0, arrow);
  std::set<char> known;
  std::string labels;
  bool ellipsis = false, any_ellipsis = false;
  size_t terms = 0;
  while (true) {
    if (!ReadTerm(left, labels, ellipsis)) return "a term may hold letters, spaces and one \"...\"";
    known.insert(labels.begin(), labels.end());
    any_ellipsis = any_ellipsis || ellipsis;
    ++terms;
    if (left.empty()) break;
    left.remove_prefix(1);
  }
  if (terms != operands)
    return "it has " + std::to_string(terms) + " terms for " + std::to_string(operands) + " inputs";
  if (arrow == std::string_view::npos) return {};
  std::string_view right = equation.substr(arrow + 2);
  if (!ReadTerm(right, labels, ellipsis) || !right.empty())
    return "its output may hold letters, spaces and one \"...\"";
  if (ellipsis && !any_ellipsis) return "its output has an ellipsis that no input has";
  std::set<char> seen;
  for (char c : labels) {
    if (!known.contains(c)) return std::string("its output has the label ") + c + " that no input has";
    if (!seen.insert(c).second) return std::string("its output has the label ") + c + " twice";
  }
  return {};
}

bool IsSafeForInference(std::string_view equation) {
  const std::string_view left = equation.substr(0, equation.find("->"));
  const size_t first = left.find("...");
  return first == std::string_view::npos || left.find("...", first + 3) == std::string_view::npos;
}

}  // namespace pt
