// The text form of a drawn graph (graph_text.h) line by line, as drawing writes it: what shrinking takes apart.
#pragma once

#include <string>
#include <vector>

namespace pt::testing {

struct Line {
  enum class Kind { kOpset, kInput, kConstant, kNode, kOutput } kind = Kind::kNode;
  std::vector<std::string> makes, reads;  // names of values; operands that are left out are no names
  std::string text;
};

std::vector<Line> LinesOf(const std::string& text);
std::string TextOf(const std::vector<Line>& lines);

// Without nodes, constants and inputs that no output needs. Opsets stay.
std::vector<Line> WithoutDead(std::vector<Line> lines);

}  // namespace pt::testing
