#include "tools/pt-profile/operator_table.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "tools/common/text.h"
#include "tools/report/table.h"

namespace pt::tools {
namespace {
constexpr size_t kShownRows = 30;
}  // namespace

OperatorTable::OperatorTable(const Model& model, const Platform& platform, const CostModel& costs) {
  const Graph& graph = *model.graph;
  // A column for each class that something can run on: copy engines run no operators.
  std::vector<std::optional<size_t>> column_of(platform.unit_classes.size());
  for (size_t i = 0; i < column_of.size(); ++i) {
    const bool runs =
        std::ranges::any_of(model.candidates, [&](const Candidate& c) { return c.unit_class.index() == i; });
    if (!runs) continue;
    column_of[i] = columns_.size();
    columns_.push_back(platform.unit_classes[i].name);
  }
  rows_.resize(graph.nodes().size());
  for (size_t i = 0; i < rows_.size(); ++i) {
    rows_[i].label = NodeLabel(graph, NodeId(i));
    rows_[i].cells.resize(columns_.size());
  }
  for (const Candidate& candidate : model.candidates) {
    if (candidate.nodes.size() != 1) continue;
    const std::optional<Estimate> cost = costs.OfStep(candidate).run;
    if (!cost) continue;
    Cell& cell = rows_[candidate.nodes[0].index()].cells[*column_of[candidate.unit_class.index()]];
    if (cell.ns >= 0 && cell.ns <= cost->ns) continue;
    cell = {cost->ns, cost->spread_ns, cost->provenance == Provenance::kSimulated, candidate.library};
  }
  for (Row& row : rows_) {
    const Cell* best = nullptr;
    for (size_t i = 0; i < columns_.size(); ++i) {
      const Cell& cell = row.cells[i];
      if (cell.ns < 0 || (best != nullptr && cell.ns >= best->ns)) continue;
      best = &cell;
      row.best = columns_[i];
    }
    if (best == nullptr) {
      row.note = "not measured";
      continue;
    }
    row.best_ns = best->ns;
    row.note = best->library;
    const bool tie = std::ranges::any_of(row.cells, [&](const Cell& cell) {
      return &cell != best && cell.ns >= 0 && cell.ns - best->ns <= cell.spread_ns + best->spread_ns;
    });
    if (tie) row.best = "either";
  }
}

std::string OperatorTable::Text(bool all) const {
  std::vector<std::string> titles = {"operator"};
  titles.insert(titles.end(), columns_.begin(), columns_.end());
  titles.insert(titles.end(), {"<best", "<library"});
  TextTable table(titles);
  std::vector<size_t> order(rows_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const bool cut = !all && rows_.size() > kShownRows;
  if (cut) {
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return rows_[a].best_ns > rows_[b].best_ns; });
    order.resize(kShownRows);
    std::sort(order.begin(), order.end());
  }
  for (const size_t i : order) {
    std::vector<std::string> cells = {rows_[i].label};
    for (const Cell& cell : rows_[i].cells)
      cells.push_back(cell.ns < 0 ? "-" : ShortTime(cell.ns) + (cell.simulated ? " (sim)" : ""));
    cells.push_back(rows_[i].best);
    cells.push_back(rows_[i].note);
    table.Row(std::move(cells));
  }
  if (cut) table.Row({"... and " + std::to_string(rows_.size() - kShownRows) + " lighter ones (-v)"});
  std::vector<std::string> sums = {"sum"};
  for (size_t column = 0; column < columns_.size(); ++column) {
    int64_t sum = 0;
    const bool whole = std::ranges::all_of(rows_, [&](const Row& row) { return row.cells[column].ns >= 0; });
    for (const Row& row : rows_) sum += std::max<int64_t>(row.cells[column].ns, 0);
    sums.push_back((whole ? "" : ">= ") + ShortTime(sum));
  }
  table.Row(std::move(sums));
  return table.Text();
}

Json OperatorTable::AsJson() const {
  Json rows = Json::MakeArray();
  for (size_t i = 0; i < rows_.size(); ++i) {
    Json times = Json::MakeObject();
    for (size_t column = 0; column < columns_.size(); ++column) {
      const Cell& cell = rows_[i].cells[column];
      if (cell.ns < 0) continue;
      Json json = Json::MakeObject();
      json.Set("ns", cell.ns);
      json.Set("spread_ns", cell.spread_ns);
      json.Set("library", cell.library);
      json.Set("simulated", cell.simulated);
      times.Set(columns_[column], std::move(json));
    }
    Json row = Json::MakeObject();
    row.Set("node", static_cast<int64_t>(i));
    row.Set("label", rows_[i].label);
    row.Set("best", rows_[i].best);
    row.Set("times", std::move(times));
    rows.Push(std::move(row));
  }
  return rows;
}

}  // namespace pt::tools
