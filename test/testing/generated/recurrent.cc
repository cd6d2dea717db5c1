// Recurrent operators with everything they may have.
#include <algorithm>

#include "test/testing/generated/families.h"

namespace pt::testing {
namespace {

struct CellRow {
  const char* op;
  int64_t gates;
  size_t activations;  // a direction
};
constexpr CellRow kCells[] = {{"LSTM", 4, 3}, {"GRU", 3, 2}, {"RNN", 1, 1}};

void DrawRecurrent(Drawing& d, const CellRow& cell) {
  const bool batch_first = d.Chance(0.3), lstm = cell.gates == 4;
  DrawnOperand x = d.Chance(0.6) ? d.Find([](const DrawnValue& v) { return v.is_float() && v.rank() == 3; }) : nullptr;
  if (x == nullptr || std::ranges::find(x->dims, 0) != x->dims.end()) {
    x = d.Input(kFloat, batch_first ? Dims{d.Between(1, 4), d.Between(1, 6), d.Between(1, 20)}
                                    : Dims{d.Between(1, 6), d.Between(1, 4), d.Between(1, 20)});
  }
  const int64_t time = x->dims[batch_first ? 1 : 0], batch = x->dims[batch_first ? 0 : 1];
  const std::string direction = d.OneOf({"forward", "forward", "reverse", "bidirectional"});
  const int64_t directions = direction == "bidirectional" ? 2 : 1;
  const int64_t hidden = d.OneOf(Dims{1, 2, 3, 4, 7, 8, 15, 16, 17, 32, 33});
  const Dims state = batch_first ? Dims{batch, directions, hidden} : Dims{directions, batch, hidden};
  const auto weights = [&](const Dims& dims) {
    return d.Chance(0.92) ? d.Constant(kFloat, dims) : d.Input(kFloat, dims);
  };
  std::vector<DrawnOperand> operands = {x, weights({directions, cell.gates * hidden, x->dims[2]}),
                                        weights({directions, cell.gates * hidden, hidden})};
  operands.push_back(d.Chance(0.7) ? weights({directions, 2 * cell.gates * hidden}) : Drawing::LeftOut());
  if (d.Chance(0.15)) {
    Dims lengths;
    for (int64_t i = 0; i < batch; ++i) lengths.push_back(d.Chance(0.5) ? time : d.Between(0, time));
    operands.push_back(d.List(lengths, DataType::kInt32));
  } else {
    operands.push_back(Drawing::LeftOut());
  }
  if (d.Chance(0.5)) {
    operands.push_back(d.Like(kFloat, state));
    if (lstm) operands.push_back(d.Chance(0.7) ? d.Like(kFloat, state) : Drawing::LeftOut());
    if (lstm && d.Chance(0.15)) operands.push_back(d.Constant(kFloat, {directions, 3 * hidden}));
  }
  while (operands.back() == Drawing::LeftOut()) operands.pop_back();
  Attributes attributes;
  attributes.Int("hidden_size", hidden);
  if (direction != "forward" || d.Chance(0.3)) attributes.Text("direction", direction);
  if (batch_first) attributes.Int("layout", 1);
  if (cell.gates == 3 && d.Chance(0.6)) attributes.Int("linear_before_reset", d.Between(0, 1));
  if (d.Chance(0.08)) attributes.Float("clip", d.Real(0.5, 3));
  if (lstm && d.Chance(0.05)) attributes.Int("input_forget", 1);
  const std::vector<std::vector<bool>> two = {{true, true}, {true, false}, {false, true}};
  const std::vector<std::vector<bool>> three = {{true, true, true},  {true, false, false}, {false, true, false},
                                                {false, true, true}, {false, false, true}, {true, false, true}};
  d.Node(cell.op, operands, attributes, d.OneOf(lstm ? three : two));
}

}  // namespace

DrawnFamily RecurrentFamily() {
  DrawnFamily family{"recurrent", {}, 1};
  for (const CellRow& cell : kCells) {
    family.rows.push_back({cell.op, [&cell](Drawing& d) { DrawRecurrent(d, cell); }});
  }
  return family;
}

}  // namespace pt::testing
