#include "plugins/cuda/index_space.h"

#include <cstdlib>

namespace pt::cuda {
namespace {

// A thread's next element is numbered as far as the grid is wide beyond the last one.
constexpr int64_t kMostIn32Bits = int64_t{1} << 30;

int64_t Furthest(std::span<const int64_t> dims, std::span<const int64_t> strides) {
  int64_t furthest = 0;
  for (size_t d = 0; d < dims.size(); ++d) furthest += std::abs(strides[d]) * dims[d];
  return furthest;
}

std::string Coordinate(char letter, size_t d) { return letter + std::to_string(d); }

}  // namespace

IndexSpace::IndexSpace(std::span<const int64_t> dims, std::vector<std::vector<int64_t>> strides) {
  for (const int64_t dim : dims) count_ *= dim;
  strides_.resize(strides.size());
  DropOnes(dims, strides);
  Merge();
}

IndexSpace IndexSpace::Whole(std::span<const int64_t> dims, std::vector<std::vector<int64_t>> strides) {
  IndexSpace space;
  for (const int64_t dim : dims) space.count_ *= dim;
  space.dims_.assign(dims.begin(), dims.end());
  space.strides_ = std::move(strides);
  return space;
}

void IndexSpace::DropOnes(std::span<const int64_t> dims, const std::vector<std::vector<int64_t>>& strides) {
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == 1) continue;
    dims_.push_back(dims[d]);
    for (size_t t = 0; t < strides.size(); ++t) strides_[t].push_back(strides[t][d]);
  }
}

void IndexSpace::Merge() {
  for (size_t d = dims_.size(); d-- > 1;) {
    bool together = true;
    for (const std::vector<int64_t>& strides : strides_) {
      together = together && strides[d - 1] == strides[d] * dims_[d];
    }
    if (!together) continue;
    dims_[d - 1] *= dims_[d];
    dims_.erase(dims_.begin() + static_cast<ptrdiff_t>(d));
    for (std::vector<int64_t>& strides : strides_) strides.erase(strides.begin() + static_cast<ptrdiff_t>(d) - 1);
  }
}

int64_t IndexSpace::OffsetAt(size_t tensor, int64_t element) const {
  int64_t offset = 0;
  for (size_t d = dims_.size(); d-- > 0; element /= dims_[d]) offset += element % dims_[d] * strides_[tensor][d];
  return offset;
}

std::string_view IndexSpace::index_type() const {
  bool fits = count_ < kMostIn32Bits && !wide_;
  for (const std::vector<int64_t>& strides : strides_) fits = fits && Furthest(dims_, strides) < kMostIn32Bits;
  return fits ? "int" : "long long";
}

std::optional<IndexSpace> IndexSpace::Quads(std::span<const int64_t> first) const {
  if (dims_.empty() || dims_.back() % 4 != 0) return std::nullopt;
  IndexSpace quads = *this;
  quads.dims_.back() /= 4;
  quads.count_ /= 4;
  for (size_t t = 0; t < strides_.size(); ++t) {
    std::vector<int64_t>& strides = quads.strides_[t];
    if (strides.back() == 0) continue;
    if (strides.back() != 1 || (t < first.size() && first[t] % 4 != 0)) return std::nullopt;
    for (size_t d = 0; d + 1 < strides.size(); ++d) {
      if (strides[d] % 4 != 0) return std::nullopt;
    }
    strides.back() = 4;
  }
  return quads;
}

std::string IndexSpace::CoordinatesText(const std::string& element, char letter) const {
  if (dims_.empty()) return "";
  const std::string type(index_type());
  const auto define = [&](size_t d, const std::string& number) {
    return "    const " + type + " " + Coordinate(letter, d) + " = " + (dims_[d] == 1 ? "0" : number) + ";\n";
  };
  if (dims_.size() == 1) return define(0, element);
  const std::string rest = std::string("rest_") + letter;
  std::string text = "    " + type + " " + rest + " = " + element + ";\n";
  for (size_t d = dims_.size(); d-- > 1;) {
    const std::string dim = std::to_string(dims_[d]);
    text += define(d, rest + " % " + dim);
    if (dims_[d] != 1) text += "    " + rest + " /= " + dim + ";\n";
  }
  return text + define(0, rest);
}

std::string IndexSpace::OffsetText(size_t tensor, char letter) const {
  std::string text;
  for (size_t d = 0; d < dims_.size(); ++d) {
    const int64_t stride = strides_[tensor][d];
    if (stride == 0) continue;
    text += (text.empty() ? "" : " + ") + Coordinate(letter, d);
    if (stride != 1) text += " * (" + std::to_string(stride) + ")";
  }
  return text.empty() ? "0" : text;
}

bool IsWide(const TensorLayout& layout) { return Furthest(layout.dims, layout.strides) >= kMostIn32Bits; }

std::optional<std::vector<int64_t>> BroadcastStrides(const TensorLayout& from, std::span<const int64_t> dims) {
  if (from.dims.size() > dims.size()) return std::nullopt;
  const size_t missing = dims.size() - from.dims.size();
  std::vector<int64_t> strides(dims.size(), 0);
  for (size_t d = 0; d < from.dims.size(); ++d) {
    if (from.dims[d] == dims[missing + d]) {
      strides[missing + d] = from.strides[d];
    } else if (from.dims[d] != 1) {
      return std::nullopt;
    }
  }
  return strides;
}

}  // namespace pt::cuda
