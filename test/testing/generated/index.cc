// Elements by their places.
#include <algorithm>

#include "test/testing/generated/families.h"

namespace pt::testing {
namespace {

DrawnOperand AnyIndexed(Drawing& d, int64_t least_rank) {
  const auto fits = [&](const DrawnValue& v) {
    return v.type != DataType::kBool && v.rank() >= least_rank && v.rank() <= 4 &&
           std::ranges::find(v.dims, 0) == v.dims.end();
  };
  const DrawnOperand there = d.Find(fits);
  if (there != nullptr && d.Chance(0.9)) return there;
  Dims dims = d.AnyDims(least_rank, 4);
  for (int64_t& dim : dims) dim = std::max<int64_t>(dim, 1);
  return d.Input(d.Chance(0.8) ? DataType::kFloat32 : DataType::kInt64, dims);
}

// Places below each bound in turn, some counted from the end: constant, or the same numbers known in the run only.
DrawnOperand Places(Drawing& d, const Dims& dims, const Dims& bounds, bool from_end, DataType type) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  std::string fill = count == 0 ? "zeros" : "ints";
  for (int64_t i = 0; i < count; ++i) {
    const int64_t bound = bounds[static_cast<size_t>(i) % bounds.size()];
    const int64_t place = d.Between(0, bound - 1);
    fill += " " + std::to_string(from_end && d.Chance(0.2) ? place - bound : place);
  }
  const DrawnOperand constant = d.Constant(type, dims, fill);
  if (d.Chance(0.7)) return constant;
  // Plus nothing that any pass could see: zero times an input.
  const DrawnOperand nothing = d.Node("Mul", {d.Input(type, {}), d.Constant(type, {}, "zeros")});
  return d.Node("Add", {constant, nothing});
}

DataType IndexType(Drawing& d) { return d.Chance(0.7) ? DataType::kInt64 : DataType::kInt32; }

void DrawGather(Drawing& d) {
  const DrawnOperand x = AnyIndexed(d, 1);
  const int64_t axis = d.Axis(x->rank());
  Dims dims = d.OneOf(std::vector<Dims>{{}, {1}, {3}, {2, 2}, {5}});
  Attributes attributes;
  if (axis != 0) attributes.Int("axis", axis);
  d.Node("Gather", {x, Places(d, dims, {x->dims[Place(axis, x->rank())]}, true, IndexType(d))}, attributes);
}

void DrawGatherElements(Drawing& d) {
  const DrawnOperand x = AnyIndexed(d, 1);
  const int64_t axis = d.Axis(x->rank());
  Dims dims;
  for (const int64_t dim : x->dims) dims.push_back(d.Between(1, std::min<int64_t>(dim, 4)));
  dims[Place(axis, x->rank())] = d.Between(1, 5);
  const DrawnOperand places = Places(d, dims, {x->dims[Place(axis, x->rank())]}, true, IndexType(d));
  d.Node("GatherElements", {x, places}, Attributes().Int("axis", axis));
}

void DrawGatherNd(Drawing& d) {
  const DrawnOperand x = AnyIndexed(d, 1);
  const int64_t batch_dims = x->rank() >= 2 && d.Chance(0.25) ? 1 : 0;
  const int64_t depth = d.Between(1, x->rank() - batch_dims);
  Dims dims(x->dims.begin(), x->dims.begin() + batch_dims);
  if (d.Chance(0.8)) dims.push_back(d.Between(1, 4));
  dims.push_back(depth);
  const Dims bounds(x->dims.begin() + batch_dims, x->dims.begin() + batch_dims + depth);
  Attributes attributes;
  if (batch_dims > 0) attributes.Int("batch_dims", batch_dims);
  d.Node("GatherND", {x, Places(d, dims, bounds, true, DataType::kInt64)}, attributes);
}

// Each place once at most: the order of updates of one place is nobody's.
void DrawScatterElements(Drawing& d) {
  const DrawnOperand x = AnyIndexed(d, 1);
  const int64_t axis = d.Axis(x->rank()), size = x->dims[Place(axis, x->rank())];
  const std::string reduction = d.OneOf({"none", "none", "add", "mul", "max", "min"});
  Dims dims;
  for (const int64_t dim : x->dims) dims.push_back(d.Between(1, std::min<int64_t>(dim, 4)));
  int64_t& along = dims[Place(axis, x->rank())];
  along = reduction == "none" ? 1 : d.Between(1, std::min<int64_t>(size, 4));
  Attributes attributes;
  attributes.Int("axis", axis);
  if (reduction != "none") attributes.Text("reduction", reduction);
  d.Node("ScatterElements", {x, Places(d, dims, {size}, true, IndexType(d)), d.Like(x->type, dims)}, attributes);
}

void DrawScatterNd(Drawing& d) {
  const DrawnOperand x = AnyIndexed(d, 1);
  const std::string reduction = d.OneOf({"none", "none", "add", "mul", "max", "min"});
  const int64_t depth = d.Between(1, x->rank()), tuples = reduction == "none" ? 1 : d.Between(1, 3);
  Dims updates = {tuples};
  updates.insert(updates.end(), x->dims.begin() + depth, x->dims.end());
  const Dims bounds(x->dims.begin(), x->dims.begin() + depth);
  const DrawnOperand places = Places(d, {tuples, depth}, bounds, true, DataType::kInt64);
  d.Node("ScatterND", {x, places, d.Like(x->type, updates)},
         reduction == "none" ? Attributes() : Attributes().Text("reduction", reduction));
}

void DrawOneHot(Drawing& d) {
  const int64_t depth = d.Between(1, 6);
  const Dims dims = d.AnyDims(1, 2);
  const DrawnOperand values = d.Constant(
      DataType::kFloat32, {2}, "floats " + std::to_string(d.Real(-1, 1)) + " " + std::to_string(d.Real(1, 2)));
  const DrawnOperand places = Places(d, dims, {depth + 1}, true, IndexType(d));
  Attributes attributes;
  if (d.Chance(0.6))
    attributes.Int("axis", d.Between(-static_cast<int64_t>(dims.size()) - 1, static_cast<int64_t>(dims.size())));
  d.Node("OneHot", {places, d.Constant(DataType::kInt64, {}, "ints " + std::to_string(depth)), values}, attributes);
}

}  // namespace

DrawnFamily IndexFamily() {
  return {"index",
          {{"Gather", DrawGather},
           {"Gather", DrawGather},
           {"GatherElements", DrawGatherElements},
           {"GatherND", DrawGatherNd},
           {"ScatterElements", DrawScatterElements},
           {"ScatterND", DrawScatterNd},
           {"OneHot", DrawOneHot}},
          2};
}

}  // namespace pt::testing
