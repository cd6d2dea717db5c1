// Resize and Upsample: a thread for each element of the result, with tables of what each index is made of.
#include <array>

#include "plugins/cuda/movement.h"
#include "plugins/cuda/resize_taps.h"

namespace pt::cuda {
namespace {

std::string N(size_t n) { return std::to_string(n); }

// Tables of a kernel, behind the operands among its arguments.
class Tables {
 public:
  explicit Tables(const CudaSite& site) : first_(site.in.size() + site.out.size()) {}

  template <typename T>
  std::string Add(DataType type, const std::vector<T>& numbers) {
    const std::string name = "table" + N(tables_.size()), c_type = "const " + std::string(CTypeOf(type)) + "*";
    text_ +=
        "    " + c_type + " const " + name + " = (" + c_type + ")arguments.at[" + N(first_ + tables_.size()) + "];\n";
    tables_.push_back(Tensor::Of<T>(type, {static_cast<int64_t>(numbers.size())}, numbers));
    return name;
  }
  const std::string& text() const { return text_; }
  std::vector<Tensor> Take() { return std::move(tables_); }
  bool fits() const { return first_ + tables_.size() <= kMostArguments; }

 private:
  const size_t first_;
  std::string text_;
  std::vector<Tensor> tables_;
};

Result<CudaRoutine> Resize(const CudaSite& site) {
  PT_ASSIGN(const CudaOperand* const x, MovedInput(site));
  const CudaOperand& y = site.out[0];
  PT_ASSIGN(const Resizing resizing, ReadResizing(site));
  if (!resizing.nearest && !IsReal(x->type())) return site.Unsupported("it weighs other types than real numbers");
  const IndexSpace space = IndexSpace::Whole(y.dims(), {y.strides()});
  if (space.count() == 0) return CudaRoutine{};
  const std::string store = "    out0[" + space.OffsetText(0) + "] = ", type(ComputeTypeOf(x->type()));
  Tables tables(site);
  std::string body, loops, ends, offset = "0", weight = "1.0f";
  std::vector<bool> resized(y.dims().size(), false);
  for (const DimTaps& dim : resizing.dims) {
    const std::string c = "c" + N(dim.dim), k = "k" + N(dim.dim), width = std::to_string(dim.width);
    resized[dim.dim] = true;
    if (!dim.outside.empty()) {
      const std::string literal = FloatLiteral(resizing.extrapolation);
      if (literal.empty() || !IsReal(x->type())) return site.Unsupported("its extrapolation value does not fit");
      body += "    if (" + tables.Add(DataType::kInt32, dim.outside) + "[" + c + "] != 0) {\n  " + store + literal +
              ";\n      continue;\n    }\n";
    }
    const std::string source = tables.Add(DataType::kInt32, dim.sources) + "[" + c + " * " + width + " + " + k + "]";
    loops += "    for (int " + k + " = 0; " + k + " < " + width + "; ++" + k + ") {\n";
    ends += "    }\n";
    offset += " + (Index)" + source + " * " + std::to_string(x->strides()[dim.dim]);
    if (!resizing.nearest) {
      weight += " * " + tables.Add(DataType::kFloat32, dim.weights) + "[" + c + " * " + width + " + " + k + "]";
    }
  }
  if (!tables.fits()) return site.Unsupported("it resizes more dims than a kernel takes tables for");
  for (size_t d = 0; d < resized.size(); ++d) {
    if (!resized[d]) offset += " + c" + N(d) + " * " + std::to_string(x->strides()[d]);
  }
  const std::string element = "(" + type + ")" + site.NameOf(*x) + "[" + offset + "]";
  if (resizing.nearest) {
    body += loops + store + element + ";\n" + ends;
  } else {
    body +=
        "    float sum = 0.0f;\n" + loops + "    sum += " + weight + " * " + element + ";\n" + ends + store + "sum;\n";
  }
  CudaRoutine routine{{ElementKernel(site, space, tables.text() + body)}};
  routine.tables = tables.Take();
  return routine;
}

constexpr std::array kRows = {CudaRow{"Resize", Resize}, CudaRow{"Upsample", Resize}};

}  // namespace

std::span<const CudaRow> ResizeOperators() { return kRows; }

}  // namespace pt::cuda
