// The table of operators: each node's best time on each unit class, and the sums.
#pragma once

#include <string>
#include <vector>

#include "partitiontuner/cost/cost_model.h"
#include "partitiontuner/engine/engine.h"

namespace pt::tools {

class OperatorTable {
 public:
  // costs: of measurements only, no estimates.
  OperatorTable(const Model& model, const Platform& platform, const CostModel& costs);

  std::string Text(bool all) const;  // the heaviest operators, or all
  Json AsJson() const;

 private:
  struct Cell {
    int64_t ns = -1, spread_ns = 0;  // -1: not measured or not possible
    bool simulated = false;
    std::string library;
  };
  struct Row {
    std::string label;
    std::vector<Cell> cells;  // by column
    std::string best, note;
    int64_t best_ns = -1;
  };
  std::vector<std::string> columns_;  // names of unit classes
  std::vector<Row> rows_;             // by node
};

}  // namespace pt::tools
