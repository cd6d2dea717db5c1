// NonMaxSuppression: each batch entry's class by itself. Candidates come from a heap, since few of them are looked at;
// one is held against the kept boxes of the bands that it touches, which lie side by side for vectors.
#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <new>
#include <span>

#include "lib/backend/host/parallel.h"
#include "lib/backend/host_kernels/data_sized.h"
#include "partitiontuner/graph/operators/selections.h"

namespace pt::host {
namespace {

// Corners in order. Arithmetic is in float32 and in the definition's order, with no multiplication fused into a sum:
// thresholds that a quotient meets exactly decide alike everywhere.
struct Rectangle {
  float x_low = 0, y_low = 0, x_high = 0, y_high = 0, area = 0;
};

Rectangle ReadBox(const float* from, bool centred) {
  Rectangle box;
  if (centred) {
    const float half_width = from[2] / 2, half_height = from[3] / 2;
    box = {from[0] - half_width, from[1] - half_height, from[0] + half_width, from[1] + half_height};
  } else {  // y1, x1, y2, x2: any two opposite corners
    box = {std::min(from[1], from[3]), std::min(from[0], from[2]), std::max(from[1], from[3]),
           std::max(from[0], from[2])};
  }
  box.area = (box.x_high - box.x_low) * (box.y_high - box.y_low);
  return box;
}

// The quotient of the definition is above a threshold, which is not below 0, only where both areas are finite and above
// zero.
bool CanOverlap(const Rectangle& box) { return box.area > 0 && box.area <= std::numeric_limits<float>::max(); }

// Boxes that can overlap, by their parts.
class BoxList {
 public:
  void Clear() {
    for (std::vector<float>* part : {&x_low_, &y_low_, &x_high_, &y_high_, &area_}) part->clear();
  }
  void Add(const Rectangle& box) {
    x_low_.push_back(box.x_low);
    y_low_.push_back(box.y_low);
    x_high_.push_back(box.x_high);
    y_high_.push_back(box.y_high);
    area_.push_back(box.area);
  }

  // Whether the intersection with one of them is more than that part of the union.
  bool OverlapWith(const Rectangle& box, float threshold) const {
    constexpr size_t kBlock = 64;
    for (size_t at = 0; at < area_.size(); at += kBlock) {
      const size_t end = std::min(at + kBlock, area_.size());
      uint32_t any = 0;
      for (size_t i = at; i < end; ++i) {
        const float width = std::min(box.x_high, x_high_[i]) - std::max(box.x_low, x_low_[i]);
        const float height = std::min(box.y_high, y_high_[i]) - std::max(box.y_low, y_low_[i]);
        const float intersection = width * height;
        const float whole = box.area + area_[i] - intersection;
        any |= static_cast<uint32_t>(width > 0) & static_cast<uint32_t>(height > 0) &
               static_cast<uint32_t>(intersection > 0) & static_cast<uint32_t>(whole > 0) &
               static_cast<uint32_t>(intersection / whole > threshold);
      }
      if (any != 0) return true;
    }
    return false;
  }

 private:
  std::vector<float> x_low_, y_low_, x_high_, y_high_, area_;
};

// A candidate: its score, and which box it is.
struct Scored {
  float score;
  int64_t box;
};

// The boxes that were kept, by bands of x about as wide as a box. Boxes that overlap have an x and so its band in
// common; where offsets tell classes apart, most boxes of other classes are never met.
class KeptBoxes {
 public:
  // None yet, with bands that suit the candidates among the boxes.
  void Reset(std::span<const Scored> candidates, const Rectangle* boxes) {
    double low = std::numeric_limits<double>::max(), high = -low, widths = 0, count = 0;
    for (const Scored& candidate : candidates) {
      const Rectangle& box = boxes[candidate.box];
      if (!CanOverlap(box)) continue;
      low = std::min<double>(low, box.x_low);
      high = std::max<double>(high, box.x_high);
      widths += static_cast<double>(box.x_high) - box.x_low;
      ++count;
    }
    used_ = 1;
    if (count > kFewBoxes) used_ = static_cast<size_t>(std::clamp((high - low) / widths * count, 1.0, kMostBands));
    if (bands_.size() < used_) bands_.resize(used_);
    for (size_t i = 0; i < used_; ++i) bands_[i].Clear();
    origin_ = low;
    bands_by_x_ = used_ > 1 ? static_cast<double>(used_) / (high - low) : 0;
  }

  void Add(const Rectangle& box) {
    if (!CanOverlap(box)) return;
    for (size_t i = BandOf(box.x_low), last = BandOf(box.x_high); i <= last; ++i) bands_[i].Add(box);
  }

  bool OverlapWith(const Rectangle& box, float threshold) const {
    if (!CanOverlap(box)) return false;
    for (size_t i = BandOf(box.x_low), last = BandOf(box.x_high); i <= last; ++i) {
      if (bands_[i].OverlapWith(box, threshold)) return true;
    }
    return false;
  }

 private:
  static constexpr double kFewBoxes = 64;  // are looked through as fast as they are found
  static constexpr double kMostBands = 1024;

  // Never falls as x grows.
  size_t BandOf(float x) const {
    return std::min(used_ - 1, static_cast<size_t>((static_cast<double>(x) - origin_) * bands_by_x_));
  }

  std::vector<BoxList> bands_;  // the first `used_`; the others keep their memory
  size_t used_ = 1;
  double origin_ = 0, bands_by_x_ = 0;
};

struct Suppression {
  int64_t batches = 0, boxes = 0, classes = 0;
  int64_t most = 0;  // selected a class
  float overlap = 0;
  std::optional<float> score;
  bool centred = false;
};

// A scalar, or a list of one; absent: `otherwise`.
template <typename T>
Result<T> Parameter(const DataSizedRun& run, size_t input, DataType type, std::string_view name, T otherwise) {
  if (!run.has(input)) return otherwise;
  if (run.type(input) != type || run.count(input) != 1) {
    return run.Invalid(std::string(name) + " is not one number of type " + std::string(DataTypeName(type)));
  }
  return *run.in<T>(input);
}

Result<Suppression> ReadSuppression(const DataSizedRun& run) {
  if (!run.has(1)) return run.Invalid("the scores are missing");
  if (run.type(1) != DataType::kFloat32) return run.Invalid("boxes and scores are not float32");
  const std::vector<int64_t>&boxes = run.dims(0), &scores = run.dims(1);
  if (boxes.size() != 3 || boxes[2] != 4) return run.Invalid("the boxes do not have dims [batches, boxes, 4]");
  if (scores.size() != 3 || scores[0] != boxes[0] || scores[2] != boxes[1]) {
    return run.Invalid("the scores " + ToString(StaticType(run.type(1), scores)) + " do not fit the boxes " +
                       ToString(StaticType(run.type(0), boxes)));
  }
  Suppression s{boxes[0], boxes[1], scores[1], 0, 0, std::nullopt, HasCentredBoxes(run.node())};
  PT_ASSIGN(s.most, Parameter<int64_t>(run, 2, DataType::kInt64, "max_output_boxes_per_class", 0));
  PT_ASSIGN(s.overlap, Parameter<float>(run, 3, DataType::kFloat32, "iou_threshold", 0));
  if (!(s.overlap >= 0 && s.overlap <= 1)) {
    return run.Invalid("iou_threshold is " + std::to_string(s.overlap) + "; expected 0 to 1");
  }
  if (run.has(4)) {
    PT_ASSIGN(s.score, Parameter<float>(run, 4, DataType::kFloat32, "score_threshold", 0));
  }
  return s;
}

class NonMaxSuppression final : public DataSized {
 public:
  Status Run(DataSizedRun& run) override {
    PT_ASSIGN(const Suppression s, ReadSuppression(run));
    const int64_t width = run.team() != nullptr ? run.team()->width() : 1;
    parts_.resize(static_cast<size_t>(width) * kPartsOfCore);
    for (Part& part : parts_) part.selected.clear();
    corners_.resize(static_cast<size_t>(s.most > 0 ? s.batches * s.boxes : 0));
    const auto count = static_cast<int64_t>(corners_.size());
    ParallelRanges(run.team(), count, 2, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        corners_[static_cast<size_t>(i)] = ReadBox(run.in<float>(0) + i * 4, s.centred);
      }
    });
    std::atomic<bool> has_memory = true;
    ParallelParts(run.team(), s.most > 0 ? s.batches * s.classes : 0, static_cast<double>(s.boxes) * 2,
                  static_cast<int64_t>(parts_.size()), [&](int64_t part, int64_t begin, int64_t end) {
                    Part& own = parts_[static_cast<size_t>(part)];
                    try {
                      for (int64_t i = begin; i < end; ++i) Select(s, run.in<float>(1), i, own);
                    } catch (const std::bad_alloc&) {
                      has_memory = false;
                    }
                  });
    if (!has_memory) return MakeError(ErrorCode::kOutOfMemory, "host.memory", "no memory for the boxes selected");
    return Write(run);
  }

 private:
  static constexpr size_t kPartsOfCore = 4;  // classes differ in how many boxes they have

  // Some classes, one after the other.
  struct Part {
    std::vector<Scored> ranked;
    KeptBoxes kept;
    std::vector<int64_t> selected;  // triples of batch, class and box
  };

  // Whether b comes before a: the higher score, of equal ones the first box.
  static bool ComesAfter(const Scored& a, const Scored& b) {
    return a.score != b.score ? a.score < b.score : a.box > b.box;
  }

  // Class i of all batch entries' together. A score that is not a number is never selected.
  void Select(const Suppression& s, const float* scores, int64_t i, Part& part) const {
    part.ranked.clear();
    const float* const own = scores + i * s.boxes;
    for (int64_t box = 0; box < s.boxes; ++box) {
      if (s.score ? own[box] > *s.score : own[box] == own[box]) part.ranked.push_back({own[box], box});
    }
    std::make_heap(part.ranked.begin(), part.ranked.end(), ComesAfter);
    const int64_t batch = i / s.classes;
    const Rectangle* const boxes = corners_.data() + batch * s.boxes;
    part.kept.Reset(part.ranked, boxes);
    for (int64_t kept = 0; kept < s.most && !part.ranked.empty();) {
      std::pop_heap(part.ranked.begin(), part.ranked.end(), ComesAfter);
      const int64_t chosen = part.ranked.back().box;
      part.ranked.pop_back();
      const Rectangle& box = boxes[chosen];
      if (part.kept.OverlapWith(box, s.overlap)) continue;
      part.kept.Add(box);
      ++kept;
      part.selected.insert(part.selected.end(), {batch, i % s.classes, chosen});
    }
  }

  Status Write(DataSizedRun& run) const {
    size_t count = 0;
    for (const Part& part : parts_) count += part.selected.size();
    PT_ASSIGN(void* const out,
              run.Output(0, DataType::kInt64, std::array{static_cast<int64_t>(count / 3), int64_t{3}}));
    if (out == nullptr) return {};
    auto* to = static_cast<int64_t*>(out);
    for (const Part& part : parts_) to = std::copy(part.selected.begin(), part.selected.end(), to);
    return {};
  }

  std::vector<Rectangle> corners_;
  std::vector<Part> parts_;  // in the order of their classes
};

constexpr std::array kNonMaxSuppressionOperators = {
    DataSizedRow{"NonMaxSuppression", [](DataType type) { return type == DataType::kFloat32; },
                 []() -> std::unique_ptr<DataSized> { return std::make_unique<NonMaxSuppression>(); }}};

}  // namespace

std::span<const DataSizedRow> NonMaxSuppressionOperators() { return kNonMaxSuppressionOperators; }

}  // namespace pt::host
