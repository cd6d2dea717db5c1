// CropAndResize: parts of images, each read at a grid of points. As GatherND of pixels and sums of those beside a
// point.
#include <algorithm>
#include <cctype>

#include "lib/onnx/contrib/inference.h"
#include "lib/onnx/contrib/rewrite.h"

namespace pt::contrib {
namespace {

using A = proto::AttributeProto;

enum CropInput { kImages, kBoxes, kImageOfBox, kCropSize };

constexpr int32_t kReal = proto::TensorProto::FLOAT;
constexpr int32_t kIndex = proto::TensorProto::INT64;

std::string To(Rewrite& r, const std::string& value, int32_t type) {
  return r.Add("Cast", {value}, {IntAttribute("to", type)});
}

// Of all points along one axis of the images, for each box: [boxes, points].
struct Points {
  std::string count;           // a scalar
  std::string inside;          // whether the image has it
  std::string before, behind;  // pixels; equal where a point is one
  std::string beyond;          // how far behind the former
};

// `axis`: 0 of rows, 1 of columns. In the order in which ONNX Runtime computes, since rounding decides at edges.
Points PointsAlong(Rewrite& r, const std::string& boxes, int64_t axis) {
  const auto column = [&](int64_t at) {
    return r.Add("Slice", {boxes, r.AddInts({at}), r.AddInts({at + 1}), r.AddInts({1})});
  };
  const auto number = [&](float value) { return r.AddScalar(kReal, value); };
  const std::string begin = column(axis), end = column(axis + 2);
  Points points;
  const std::string size = r.Add("Gather", {r.in(kCropSize), r.Add("Squeeze", {r.AddInts({axis})})});
  points.count = To(r, size, kIndex);
  const std::string extent =
      r.Add("Shape", {r.in(kImages)}, {IntAttribute("start", axis + 2), IntAttribute("end", axis + 3)});
  const std::string last_pixel = r.Add("Sub", {To(r, extent, kReal), number(1)});
  const std::string last = r.Add("Sub", {To(r, points.count, kReal), number(1)});
  const std::string at = To(r, r.Add("Range", {r.AddScalar(kIndex, 0), points.count, r.AddScalar(kIndex, 1)}), kReal);

  const std::string first_place = r.Add("Mul", {begin, last_pixel}), last_place = r.Add("Mul", {end, last_pixel});
  const std::string gaps = r.Add("Max", {last, number(1)});
  const std::string step = r.Add("Div", {r.Add("Mul", {r.Add("Sub", {end, begin}), last_pixel}), gaps});
  const std::string middle = r.Add("Mul", {r.Add("Mul", {number(0.5F), r.Add("Add", {begin, end})}), last_pixel});
  const std::string walked = r.Add("Add", {first_place, r.Add("Mul", {at, step})});
  const std::string ended = r.Add("Where", {r.Add("Equal", {at, last}), last_place, walked});
  const std::string place = r.Add("Where", {r.Add("Equal", {last, number(0)}), middle, ended});

  points.inside =
      r.Add("And", {r.Add("GreaterOrEqual", {place, number(0)}), r.Add("LessOrEqual", {place, last_pixel})});
  const std::string kept = r.Add("Where", {points.inside, place, number(0)});
  const std::string floor = r.Add("Floor", {kept});
  points.beyond = r.Add("Sub", {kept, floor});
  points.before = To(r, floor, kIndex);
  points.behind = To(r, r.Add("Ceil", {kept}), kIndex);
  return points;
}

// [boxes, points] as [boxes, rows, 1, 1] or [boxes, 1, columns, 1].
std::string OfRows(Rewrite& r, const std::string& value) { return r.Add("Unsqueeze", {value, r.AddInts({2, 3})}); }
std::string OfColumns(Rewrite& r, const std::string& value) { return r.Add("Unsqueeze", {value, r.AddInts({1, 3})}); }

// Pixels [boxes, rows, columns, channels].
class Pixels {
 public:
  Pixels(Rewrite& r, const Points& rows, const Points& columns) : r_(r) {
    images_ = r.Add("Transpose", {r.in(kImages)}, {IntsAttribute("perm", {0, 2, 3, 1})});
    const std::string boxes = r.Add("Shape", {r.in(kImageOfBox)});
    const auto one = [&](const std::string& count) { return r.Add("Reshape", {count, r.AddInts({1})}); };
    dims_ = r.Add("Concat", {boxes, one(rows.count), one(columns.count), r.AddInts({1})}, {IntAttribute("axis", 0)});
    // GatherND counts from the end what is below 0.
    const std::string image = To(r, r.in(kImageOfBox), kIndex);
    const std::string exists = r.Add("GreaterOrEqual", {image, r.AddScalar(kIndex, 0)});
    const std::string refused = r.Add("Where", {exists, image, r.AddScalar(kIndex, -0x1p63F)});
    image_ = Everywhere(r.Add("Unsqueeze", {refused, r.AddInts({1, 2, 3})}));
  }

  std::string At(const std::string& row, const std::string& column) {
    const std::string indices = r_.Add(
        "Concat", {image_, Everywhere(OfRows(r_, row)), Everywhere(OfColumns(r_, column))}, {IntAttribute("axis", 3)});
    return r_.Add("GatherND", {images_, indices});
  }

 private:
  std::string Everywhere(const std::string& value) { return r_.Add("Expand", {value, dims_}); }

  Rewrite& r_;
  std::string images_, dims_, image_;
};

// Halves go to the pixel behind.
std::string Nearest(Rewrite& r, const Points& points) {
  return r.Add("Where",
               {r.Add("GreaterOrEqual", {points.beyond, r.AddScalar(kReal, 0.5F)}), points.behind, points.before});
}

Status CropAndResize(Rewrite& r) {
  for (const auto& [input, rank] : {std::pair{kImages, 4}, {kBoxes, 2}, {kImageOfBox, 1}, {kCropSize, 1}}) {
    const std::string what = "input " + std::to_string(input);
    PT_ASSIGN(const int64_t has, r.NeedRank(r.in(input), what));
    if (has != rank)
      return Rewrite::Invalid(what + " has " + std::to_string(has) + " dims; it needs " + std::to_string(rank));
  }
  PT_ASSIGN(const int32_t type, r.NeedElementType(r.in(kImages), "X"));
  if (type != kReal) return Rewrite::Unsupported("images of other types than float32 are not supported");
  std::string mode = r.Text("mode", "bilinear");
  std::transform(mode.begin(), mode.end(), mode.begin(), [](unsigned char c) { return std::tolower(c); });
  if (mode != "bilinear" && mode != "nearest")
    return Rewrite::Invalid("unknown mode \"" + mode + "\"; expected bilinear or nearest");

  if (const auto edges = r.dim(r.in(kBoxes), 1); edges && *edges != 4)
    return Rewrite::Invalid("its rois have " + std::to_string(*edges) + " columns; they need 4");
  // As many boxes as batch_indices, or the run ends here.
  const std::string count = r.Add("Shape", {r.in(kImageOfBox)});
  const std::string boxes =
      r.Add("Reshape", {r.in(kBoxes), r.Add("Concat", {count, r.AddInts({4})}, {IntAttribute("axis", 0)})});
  const Points rows = PointsAlong(r, boxes, 0), columns = PointsAlong(r, boxes, 1);
  Pixels pixels(r, rows, columns);
  std::string value;
  if (mode == "nearest") {
    value = pixels.At(Nearest(r, rows), Nearest(r, columns));
  } else {
    const auto between = [&](const std::string& a, const std::string& b, const std::string& share) {
      return r.Add("Add", {a, r.Add("Mul", {r.Add("Sub", {b, a}), share})});
    };
    const std::string along = OfColumns(r, columns.beyond), across = OfRows(r, rows.beyond);
    const std::string above =
        between(pixels.At(rows.before, columns.before), pixels.At(rows.before, columns.behind), along);
    const std::string below =
        between(pixels.At(rows.behind, columns.before), pixels.At(rows.behind, columns.behind), along);
    value = between(above, below, across);
  }
  const std::string inside = r.Add("And", {OfRows(r, rows.inside), OfColumns(r, columns.inside)});
  const std::string shown = r.Add("Where", {inside, value, r.AddScalar(kReal, r.Float("extrapolation_value", 0))});
  r.Finish(0, "Transpose", {shown}, {IntsAttribute("perm", {0, 3, 1, 2})});
  return {};
}

void InferCrops(proto::InferenceContext& context) {
  CopyElementType(context, 0, kImages);
  SetShape(context, 0, {DimOf(context, kImageOfBox, 0), DimOf(context, kImages, 1), {}, {}});
}

}  // namespace

std::vector<Row> CropAndResizeRows() {
  return {{"CropAndResize",
           {"X", "rois", "batch_indices", "crop_size"},
           {"Y"},
           {{"extrapolation_value", A::FLOAT}, {"mode", A::STRING}},
           InferCrops,
           CropAndResize}};
}

}  // namespace pt::contrib
