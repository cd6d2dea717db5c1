#include "plugins/cuda/rows.h"

#include <algorithm>
#include <bit>

namespace pt::cuda {
namespace {

constexpr uint32_t kFewestThreads = 32, kMostThreads = 256;

// How many threads a row of that length is worth: a power of two, so that halves can be added to halves.
uint32_t ThreadsFor(int64_t length) {
  const auto wanted = static_cast<uint64_t>(std::clamp<int64_t>(length, kFewestThreads, kMostThreads));
  return static_cast<uint32_t>(std::bit_ceil(wanted));
}

}  // namespace

std::string Replaced(std::string_view pattern, std::initializer_list<std::pair<char, std::string>> names) {
  std::string text;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '$') {
      text += pattern[i];
      continue;
    }
    ++i;
    for (const auto& [letter, name] : names) {
      if (letter == pattern[i]) text += name;
    }
  }
  return text;
}

Rows::Rows(const CudaSite& site, IndexSpace rows, IndexSpace elements)
    : site_(site), rows_(std::move(rows)), elements_(std::move(elements)), threads_(ThreadsFor(elements_.count())) {
  Share("float", "shared");
}

std::string Rows::At(size_t tensor) const { return RowAt(tensor) + " + " + elements_.OffsetText(tensor); }

void Rows::ForEach(const std::string& statements) {
  const std::string type(elements_.index_type()), element(ComputeTypeOf(site_.in[0].type()));
  body_ += "    for (" + type + " k = (" + type + ")threadIdx.x; k < " + std::to_string(length()) + "; k += (" + type +
           ")blockDim.x) {\n" + elements_.CoordinatesText("k") + "    const " + element + " x = in0[" + At(0) + "];\n" +
           statements + "    }\n";
}

void Rows::Share(const std::string& type, const std::string& name) {
  shared_ += "  __shared__ " + type + " " + name + "[" + std::to_string(threads_) + "];\n";
}

void Rows::Merge(const std::string& merge) {
  body_ +=
      "    __syncthreads();\n    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {\n"
      "      if (threadIdx.x < half) {\n        const unsigned mine = threadIdx.x, other = mine + half;\n" +
      merge + "      }\n      __syncthreads();\n    }\n";
}

void Rows::AddFold(const std::string& name, const RowFold& fold, const std::string& number) {
  body_ += "    float " + name + " = " + std::string(fold.first) + ";\n";
  ForEach("    const float number = " + number + ";\n    " + name + " = " +
          Replaced(fold.take, {{'s', name}, {'x', "number"}}) + ";\n");
  body_ += "    shared[threadIdx.x] = " + name + ";\n";
  Merge("        const float a = shared[mine], b = shared[other];\n        shared[mine] = " +
        Replaced(fold.merge, {{'a', "a"}, {'b', "b"}}) + ";\n");
  body_ += "    " + name + " = shared[0];\n    __syncthreads();\n";
}

KernelText Rows::Finish() const {
  const std::string type(rows_.index_type());
  KernelText kernel;
  kernel.elements = rows_.count();
  kernel.threads_an_element = threads_;
  std::string names, offsets;
  for (size_t t = 0; t < rows_.tensors(); ++t) {
    names += (t == 0 ? "" : ", ") + RowAt(t);
    offsets += "    " + RowAt(t) + " = " + rows_.OffsetText(t) + ";\n";
  }
  // One row after the other for each block; what belongs to a row is in braces of its own.
  kernel.text = "extern \"C\" __global__ void pt_kernel(const Arguments arguments) {\n" + OperandTexts(site_) +
                "  const float kInfinity = 1.0f / 0.0f;\n" + shared_ + "  for (" + type + " row = (" + type +
                ")blockIdx.x; row < " + std::to_string(rows_.count()) + "; row += (" + type + ")gridDim.x) {\n    " +
                type + " " + names + ";\n    {\n" + rows_.CoordinatesText("row") + offsets + "    }\n" + body_ +
                "  }\n}\n";
  return kernel;
}

Status NeedFloats(const CudaSite& site, size_t outputs) {
  if (site.in.empty() || site.Input(0) != &site.in[0]) return site.Unsupported("its input is a constant");
  if (!IsReal(site.in[0].type())) return site.Unsupported("its input is not of float32, float16 or bfloat16");
  if (site.out.size() > outputs) return site.Unsupported("it has more than one result");
  return {};
}

}  // namespace pt::cuda
