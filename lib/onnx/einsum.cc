#include "lib/onnx/einsum.h"

#include <set>

namespace pt {
namespace {

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

}  // namespace

std::optional<EinsumTerm> ReadEinsumTerm(std::string_view& rest) {
  EinsumTerm term;
  while (!rest.empty() && rest.front() != ',') {
    if (rest.starts_with("...") && !term.ellipsis) {
      term.ellipsis = term.labels.size();
      rest.remove_prefix(3);
    } else if (IsLetter(rest.front()) || rest.front() == ' ') {
      if (rest.front() != ' ') term.labels += rest.front();
      rest.remove_prefix(1);
    } else {
      return std::nullopt;
    }
  }
  return term;
}

std::string EinsumFault(std::string_view equation, size_t operands) {
  const size_t arrow = equation.find("->");
  std::string_view left = equation.substr(0, arrow);
  std::set<char> known;
  bool any_ellipsis = false;
  size_t terms = 0;
  while (true) {
    const auto term = ReadEinsumTerm(left);
    if (!term) return "a term may hold letters, spaces and one \"...\"";
    known.insert(term->labels.begin(), term->labels.end());
    any_ellipsis = any_ellipsis || term->ellipsis;
    ++terms;
    if (left.empty()) break;
    left.remove_prefix(1);
  }
  if (terms != operands)
    return "it has " + std::to_string(terms) + " terms for " + std::to_string(operands) + " inputs";
  if (arrow == std::string_view::npos) return {};
  std::string_view right = equation.substr(arrow + 2);
  const auto made = ReadEinsumTerm(right);
  if (!made || !right.empty()) return "its output may hold letters, spaces and one \"...\"";
  if (made->ellipsis && !any_ellipsis) return "its output has an ellipsis that no input has";
  std::set<char> seen;
  for (char c : made->labels) {
    if (!known.contains(c)) return std::string("its output has the label ") + c + " that no input has";
    if (!seen.insert(c).second) return std::string("its output has the label ") + c + " twice";
  }
  return {};
}

}  // namespace pt
