// What moves elements and changes shapes.
#include <algorithm>
#include <numeric>

#include "test/testing/generated/families.h"

namespace pt::testing {
namespace {

// Of any type and that many dims.
DrawnOperand AnyMoved(Drawing& d, int64_t least_rank, int64_t most_rank) {
  const DrawnOperand there =
      d.Chance(0.9) ? d.Find([&](const DrawnValue& v) { return v.rank() >= least_rank && v.rank() <= most_rank; })
                    : nullptr;
  if (there != nullptr) return there;
  const std::vector<DataType> types = {DataType::kFloat32, DataType::kFloat32, DataType::kFloat32, DataType::kInt64,
                                       DataType::kInt32,   DataType::kUint8,   DataType::kBool};
  return d.Input(d.OneOf(types), d.AnyDims(least_rank, most_rank));
}

void DrawConcat(Drawing& d) {
  const DrawnOperand first = AnyMoved(d, 1, 5);
  const int64_t axis = d.Axis(first->rank());
  const size_t place = Place(axis, first->rank());
  std::vector<DrawnOperand> operands = {first};
  for (int64_t i = d.Between(0, 3); i > 0; --i) {
    const auto fits = [&](const DrawnValue& v) {
      if (v.type != first->type || v.rank() != first->rank()) return false;
      for (size_t k = 0; k < v.dims.size(); ++k) {
        if (k != place && v.dims[k] != first->dims[k]) return false;
      }
      return true;
    };
    DrawnOperand next = d.Find(fits);
    if (next == nullptr || d.Chance(0.3)) {
      Dims dims = first->dims;
      dims[place] = d.AnyDim();
      next = d.Like(first->type, dims);
    }
    operands.push_back(next);
  }
  d.Node("Concat", operands, Attributes().Int("axis", axis));
}

void DrawSplit(Drawing& d) {
  const DrawnOperand x = AnyMoved(d, 1, 5);
  const int64_t axis = d.Axis(x->rank()), size = x->dims[Place(axis, x->rank())];
  if (size == 0) return;
  const int64_t parts = d.Between(1, std::min<int64_t>(4, size));
  std::vector<bool> wanted(static_cast<size_t>(parts));
  for (size_t i = 0; i < wanted.size(); ++i) wanted[i] = d.Chance(0.85);
  if (std::ranges::find(wanted, true) == wanted.end()) wanted[0] = true;
  Attributes attributes;
  attributes.Int("axis", axis);
  if (d.Chance(0.5)) {
    // Equal parts but for the last, which must not be beyond the end.
    const int64_t part = (size + parts - 1) / parts;
    if (part * (parts - 1) > size) return;
    d.Node("Split", {x}, attributes.Int("num_outputs", parts), wanted);
    return;
  }
  Dims sizes;
  int64_t left = size;
  for (int64_t i = 1; i < parts; ++i) {
    sizes.push_back(d.Between(0, left));
    left -= sizes.back();
  }
  sizes.push_back(left);
  d.Node("Split", {x, d.List(sizes)}, attributes, wanted);
}

Dims AnyOrder(Drawing& d, int64_t rank) {
  Dims order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[static_cast<size_t>(d.Between(0, static_cast<int64_t>(i) - 1))]);
  }
  return order;
}

void DrawTranspose(Drawing& d) {
  const DrawnOperand x = AnyMoved(d, 1, 5);
  d.Node("Transpose", {x}, d.Chance(0.15) ? Attributes() : Attributes().Ints("perm", AnyOrder(d, x->rank())));
}

// Between channels-first and channels-last.
void DrawTurnedImage(Drawing& d) {
  const DrawnOperand x = d.Image(2);
  d.Node("Transpose", {x}, Attributes().Ints("perm", d.Chance(0.5) ? Dims{0, 2, 3, 1} : Dims{0, 3, 1, 2}));
}

// Dims of the same number of elements, some of them told as 0 (as it is) and -1 (what is left).
void DrawReshape(Drawing& d) {
  const DrawnOperand x = AnyMoved(d, 0, 5);
  int64_t left = 1;
  for (const int64_t dim : x->dims) left *= dim;
  if (left == 0) return;
  Dims dims;
  for (int64_t i = d.Between(0, 3); i > 0; --i) {
    Dims divisors;
    for (int64_t k = 1; k <= std::min<int64_t>(left, 64); ++k) {
      if (left % k == 0) divisors.push_back(k);
    }
    dims.push_back(d.OneOf(divisors));
    left /= dims.back();
  }
  if (left != 1 || (dims.empty() && d.Chance(0.5))) dims.push_back(left);
  for (size_t i = 0; i < dims.size() && i < x->dims.size(); ++i) {
    if (dims[i] == x->dims[i] && d.Chance(0.5)) dims[i] = 0;
  }
  if (!dims.empty() && d.Chance(0.4))
    dims[static_cast<size_t>(d.Between(0, static_cast<int64_t>(dims.size()) - 1))] = -1;
  d.Node("Reshape", {x, d.List(dims)});
}

void DrawFlatten(Drawing& d) {
  const DrawnOperand x = AnyMoved(d, 0, 5);
  Attributes attributes;
  if (d.Chance(0.7)) attributes.Int("axis", d.Between(-x->rank(), x->rank()));
  d.Node("Flatten", {x}, x->rank() == 0 ? Attributes().Int("axis", 0) : attributes);
}

void DrawSqueeze(Drawing& d) {
  const DrawnOperand x = AnyMoved(d, 0, 5);
  Dims axes;
  for (int64_t i = 0; i < x->rank(); ++i) {
    if (x->dims[static_cast<size_t>(i)] == 1 && d.Chance(0.6)) axes.push_back(d.Chance(0.4) ? i - x->rank() : i);
  }
  if (axes.empty() && d.Chance(0.7)) return;
  d.Node("Squeeze", axes.empty() ? std::vector<DrawnOperand>{x} : std::vector<DrawnOperand>{x, d.List(axes)});
}

void DrawUnsqueeze(Drawing& d) {
  const DrawnOperand x = AnyMoved(d, 0, 4);
  const int64_t more = d.Between(1, 2), rank = x->rank() + more;
  Dims axes = AnyOrder(d, rank);
  axes.resize(static_cast<size_t>(more));
  for (int64_t& axis : axes) axis -= d.Chance(0.4) ? rank : 0;
  d.Node("Unsqueeze", {x, d.List(axes)});
}

void DrawExpand(Drawing& d) {
  const DrawnOperand x = AnyMoved(d, 0, 4);
  Dims shape = x->dims;
  for (int64_t& dim : shape) {
    if (dim == 1) dim = d.Between(1, 6);
  }
  if (d.Chance(0.3)) shape.erase(shape.begin(), shape.begin() + d.Between(0, static_cast<int64_t>(shape.size())));
  for (int64_t& dim : shape) dim = d.Chance(0.2) ? 1 : dim;
  if (d.Chance(0.4) && shape.size() == x->dims.size()) shape.insert(shape.begin(), d.Between(1, 3));
  d.Node("Expand", {x, d.List(shape)});
}

void DrawTile(Drawing& d) {
  const DrawnOperand x = AnyMoved(d, 1, 4);
  Dims repeats;
  for (int64_t i = 0; i < x->rank(); ++i) repeats.push_back(d.OneOf(Dims{1, 1, 1, 2, 3}));
  d.Node("Tile", {x, d.List(repeats)});
}

// Of channels that the block divides.
void DrawDepthToSpace(Drawing& d) {
  const int64_t block = d.Between(1, 3);
  DrawnOperand x =
      d.Find([&](const DrawnValue& v) { return v.is_float() && v.rank() == 4 && v.dims[1] % (block * block) == 0; });
  if (x == nullptr)
    x = d.Input(DataType::kFloat32,
                {d.Between(1, 2), block * block * d.Between(1, 4), d.Between(1, 6), d.Between(1, 6)});
  Attributes attributes;
  attributes.Int("blocksize", block);
  if (d.Chance(0.6)) attributes.Text("mode", d.OneOf({"DCR", "CRD"}));
  d.Node("DepthToSpace", {x}, attributes);
}

void DrawSpaceToDepth(Drawing& d) {
  const int64_t block = d.Between(1, 3);
  DrawnOperand x = d.Find([&](const DrawnValue& v) {
    return v.is_float() && v.rank() == 4 && v.dims[2] % block == 0 && v.dims[3] % block == 0;
  });
  if (x == nullptr)
    x = d.Input(DataType::kFloat32,
                {d.Between(1, 2), d.Between(1, 9), block * d.Between(1, 4), block * d.Between(1, 4)});
  d.Node("SpaceToDepth", {x}, Attributes().Int("blocksize", block));
}

void DrawTrilu(Drawing& d) {
  const DrawnOperand x = AnyMoved(d, 2, 4);
  Attributes attributes;
  if (d.Chance(0.6)) attributes.Int("upper", d.Between(0, 1));
  d.Node("Trilu",
         d.Chance(0.4) ? std::vector<DrawnOperand>{x}
                       : std::vector<DrawnOperand>{x, d.Constant(DataType::kInt64, {},
                                                                 "ints " + std::to_string(d.Between(-4, 4)))},
         attributes);
}

void DrawReverseSequence(Drawing& d) {
  const DrawnOperand x = AnyMoved(d, 2, 4);
  const int64_t batch_axis = d.Between(0, 1);
  const int64_t batch = x->dims[static_cast<size_t>(batch_axis)], time = x->dims[static_cast<size_t>(1 - batch_axis)];
  if (batch == 0 || time == 0) return;
  Dims lengths;
  for (int64_t i = 0; i < batch; ++i) lengths.push_back(d.Between(1, time));
  d.Node("ReverseSequence", {x, d.List(lengths)},
         Attributes().Int("batch_axis", batch_axis).Int("time_axis", 1 - batch_axis));
}

// Shapes that something is computed from: known before the run, whatever it reads.
void DrawShape(Drawing& d) {
  const DrawnOperand x = d.Float(1, 4);
  const DrawnOperand shape = d.Node("Shape", {x});
  if (d.Chance(0.5)) {
    d.Node("Expand", {d.Number(d.Real(-1, 1)), shape});
  } else {
    d.Node("Reshape", {d.Node("Neg", {x}), shape});
  }
}

}  // namespace

DrawnFamily MovementFamily() {
  return {"movement",
          {{"Concat", DrawConcat},
           {"Concat", DrawConcat},
           {"Split", DrawSplit},
           {"Split", DrawSplit},
           {"Transpose", DrawTranspose},
           {"Transpose", DrawTurnedImage},
           {"Reshape", DrawReshape},
           {"Reshape", DrawReshape},
           {"Flatten", DrawFlatten},
           {"Squeeze", DrawSqueeze},
           {"Unsqueeze", DrawUnsqueeze},
           {"Expand", DrawExpand},
           {"Tile", DrawTile},
           {"DepthToSpace", DrawDepthToSpace},
           {"SpaceToDepth", DrawSpaceToDepth},
           {"Trilu", DrawTrilu},
           {"ReverseSequence", DrawReverseSequence},
           {"Shape", DrawShape}},
          5};
}

}  // namespace pt::testing
