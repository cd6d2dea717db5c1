// Tables as aligned text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pt::tools {

class TextTable {
 public:
  // The first column and those whose title starts with '<' (not printed) are aligned left, the
  // others right.
  explicit TextTable(std::vector<std::string> columns);
  void Row(std::vector<std::string> cells);  // at most as many as columns
  std::string Text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<bool> left_;
};

// Median and the like of a sorted list, by nearest rank. The list may not be empty.
int64_t PercentileOf(const std::vector<int64_t>& sorted, double percent);

}  // namespace pt::tools
