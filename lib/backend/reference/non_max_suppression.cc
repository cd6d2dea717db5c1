// NonMaxSuppression: of boxes that overlap, the ones with the highest scores. What is selected is worked out when the
// routine is made, from the inputs' contents.
#include <algorithm>
#include <array>

#include "lib/backend/reference/operator.h"
#include "lib/backend/reference/types.h"
#include "partitiontuner/graph/operators/selections.h"

namespace pt::reference {
namespace {

// Corners in order. All arithmetic is in float32, as ONNX Runtime's: thresholds that a quotient meets exactly decide
// alike.
struct Box {
  float x_low = 0, y_low = 0, x_high = 0, y_high = 0;
  float area() const { return (x_high - x_low) * (y_high - y_low); }
};

Box ReadBox(const float* from, bool centred) {
  if (centred) {
    const float half_width = from[2] / 2, half_height = from[3] / 2;
    return {from[0] - half_width, from[1] - half_height, from[0] + half_width, from[1] + half_height};
  }
  // y1, x1, y2, x2: any two opposite corners.
  return {std::min(from[1], from[3]), std::min(from[0], from[2]), std::max(from[1], from[3]),
          std::max(from[0], from[2])};
}

// Whether the intersection is more than that part of the union. Boxes without an area overlap nothing.
bool Overlap(const Box& a, const Box& b, float threshold) {
  const float width = std::min(a.x_high, b.x_high) - std::max(a.x_low, b.x_low),
              height = std::min(a.y_high, b.y_high) - std::max(a.y_low, b.y_low);
  if (!(width > 0 && height > 0)) return false;
  const float intersection = width * height, area_a = a.area(), area_b = b.area();
  if (!(intersection > 0 && area_a > 0 && area_b > 0)) return false;
  const float whole = area_a + area_b - intersection;
  return whole > 0 && intersection / whole > threshold;
}

struct Suppression {
  int64_t batches = 0, boxes = 0, classes = 0;
  int64_t most = 0;  // selected a class; below 0 none are
  float overlap = 0;
  std::optional<float> score;
  bool centred = false;
};

// A scalar, or a list of one; absent: `otherwise`.
template <typename T>
Result<T> Parameter(const ReferenceSite& site, size_t input, DataType type, std::string_view name, T otherwise) {
  if (!site.has(input)) return otherwise;
  if (site.in[input].type != type || site.in[input].count() != 1) {
    return site.Invalid(std::string(name) + " is not one number of type " + std::string(DataTypeName(type)));
  }
  return site.in[input].constant->values<T>()[0];
}

Result<Suppression> ReadSuppression(const ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(2, 5));
  for (size_t i = 0; i < site.in.size(); ++i) {
    if (site.has(i)) PT_CHECK_OK(site.NeedContent(i));
  }
  const std::vector<int64_t>&boxes = site.in[0].dims, &scores = site.in[1].dims;
  if (site.in[0].type != DataType::kFloat32 || site.in[1].type != DataType::kFloat32)
    return site.Invalid("boxes and scores are not float32");
  if (boxes.size() != 3 || boxes[2] != 4) return site.Invalid("the boxes do not have dims [batches, boxes, 4]");
  if (scores.size() != 3) return site.Invalid("the scores do not have dims [batches, classes, boxes]");
  PT_CHECK_OK(site.NeedDims(1, "the scores", {boxes[0], scores[1], boxes[1]}));
  Suppression s{boxes[0], boxes[1], scores[1], 0, 0, std::nullopt, HasCentredBoxes(site.node)};
  PT_ASSIGN(s.most, Parameter<int64_t>(site, 2, DataType::kInt64, "max_output_boxes_per_class", 0));
  PT_ASSIGN(s.overlap, Parameter<float>(site, 3, DataType::kFloat32, "iou_threshold", 0));
  if (!(s.overlap >= 0 && s.overlap <= 1))
    return site.Invalid("iou_threshold is " + std::to_string(s.overlap) + "; expected 0 to 1");
  if (site.has(4)) {
    PT_ASSIGN(s.score, Parameter<float>(site, 4, DataType::kFloat32, "score_threshold", 0));
  }
  return s;
}

// Indices of the boxes of one class that may be selected, best first; of equal scores the first box. A score that is
// no number is never selected.
std::vector<int64_t> Ranked(const Suppression& s, const float* scores) {
  std::vector<int64_t> ranked;
  for (int64_t i = 0; i < s.boxes; ++i) {
    if (s.score ? scores[i] > *s.score : scores[i] == scores[i]) ranked.push_back(i);
  }
  std::stable_sort(ranked.begin(), ranked.end(), [&](int64_t a, int64_t b) { return scores[a] > scores[b]; });
  return ranked;
}

// Triples of batch, class and box, in that order of batches and classes, best first.
std::vector<int64_t> Select(const Suppression& s, const float* boxes, const float* scores) {
  std::vector<int64_t> selected;
  std::vector<Box> corners, kept;
  for (int64_t batch = 0; batch < s.batches && s.most > 0; ++batch) {
    corners.clear();
    for (int64_t i = 0; i < s.boxes; ++i) corners.push_back(ReadBox(boxes + (batch * s.boxes + i) * 4, s.centred));
    for (int64_t c = 0; c < s.classes; ++c) {
      kept.clear();
      for (const int64_t i : Ranked(s, scores + (batch * s.classes + c) * s.boxes)) {
        if (static_cast<int64_t>(kept.size()) == s.most) break;
        const Box& box = corners[static_cast<size_t>(i)];
        if (std::any_of(kept.begin(), kept.end(), [&](const Box& k) { return Overlap(box, k, s.overlap); })) continue;
        kept.push_back(box);
        selected.insert(selected.end(), {batch, c, i});
      }
    }
  }
  return selected;
}

Result<ReferenceRoutine> NonMaxSuppression(ReferenceSite& site) {
  PT_ASSIGN(const Suppression suppression, ReadSuppression(site));
  std::vector<int64_t> selected =
      Select(suppression, site.in[0].constant->values<float>().data(), site.in[1].constant->values<float>().data());
  PT_CHECK_OK(site.Out(0, DataType::kInt64, {static_cast<int64_t>(selected.size() / 3), 3}));
  return ReferenceRoutine{[selected = std::move(selected)](const TensorCall& run) -> Status {
    std::copy(selected.begin(), selected.end(), run.out<int64_t>());
    return {};
  }};
}

constexpr std::array kNonMaxSuppressionOperators = {
    ReferenceRow{
        .op = "NonMaxSuppression", .make = NonMaxSuppression, .since = 10, .by_content = Inputs({0, 1, 2, 3, 4})},
};

}  // namespace

std::span<const ReferenceRow> NonMaxSuppressionOperators() { return kNonMaxSuppressionOperators; }

}  // namespace pt::reference
