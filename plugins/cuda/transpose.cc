#include <algorithm>

#include "plugins/cuda/movement.h"

namespace pt::cuda {
namespace {

constexpr int64_t kTile = 32, kThreads = 256;
// A side of fewer elements than this leaves most of a tile empty.
constexpr int64_t kFewest = 8;

// The dim along which a tensor's elements are neighbours.
std::optional<size_t> Innermost(const IndexSpace& space, size_t tensor) {
  for (size_t d = 0; d < space.dims().size(); ++d) {
    if (space.stride(tensor, d) == 1) return d;
  }
  return std::nullopt;
}

int64_t Tiles(int64_t dim) { return (dim + kTile - 1) / kTile; }

// Statements for each of a tile's elements that this thread moves, at (line, place): threads that follow each other
// have places that follow each other.
std::string ForTile(const std::string& statement) {
  return "    for (int line = threadIdx.x / 32; line < 32; line += 8) {\n      const int place = threadIdx.x % 32;\n" +
         statement + "    }\n";
}

}  // namespace

bool AreAlike(const CudaOperand& from, const CudaOperand& to) {
  if (from.type() == to.type()) return !CTypeOf(from.type()).empty();
  return from.value_type == to.value_type && IsReal(from.type()) && IsReal(to.type());
}

Result<const CudaOperand*> MovedInput(const CudaSite& site) {
  const CudaOperand* const x = site.Input(0);
  if (x == nullptr) return site.Unsupported("it has no input");
  if (site.out.size() != 1) return site.Unsupported("it has more than one result");
  if (CTypeOf(x->type()).empty()) {
    return site.Unsupported("kernels do not know " + std::string(DataTypeName(x->type())));
  }
  if (!AreAlike(*x, site.out[0])) return site.Unsupported("its result is of another type");
  return x;
}

std::optional<KernelText> TransposeKernel(const CudaSite& site, const std::string& in, const IndexSpace& space) {
  const auto read = Innermost(space, 0), written = Innermost(space, 1);
  if (!read || !written || *read == *written) return std::nullopt;
  const int64_t reads = space.dims()[*read], writes = space.dims()[*written];
  if (reads < kFewest || writes < kFewest) return std::nullopt;
  // One element of this space is a tile: its place along both innermost dims, and the other dims as they are.
  std::vector<int64_t> dims = {Tiles(reads), Tiles(writes)};
  std::vector<std::vector<int64_t>> strides = {{kTile, kTile * space.stride(0, *written)},
                                               {kTile * space.stride(1, *read), kTile}};
  for (size_t d = 0; d < space.dims().size(); ++d) {
    if (d == *read || d == *written) continue;
    dims.push_back(space.dims()[d]);
    for (size_t t = 0; t < 2; ++t) strides[t].push_back(space.stride(t, d));
  }
  IndexSpace tiles = IndexSpace::Whole(dims, std::move(strides));
  const std::string type(site.out[0].type() == site.in[0].type() ? CTypeOf(site.out[0].type()) : "float");
  if (space.index_type() != "int") tiles.Widen();
  const std::string index(tiles.index_type());
  const std::string inside = "c0 * 32 + %0 < " + std::to_string(reads) + " && c1 * 32 + %1 < " + std::to_string(writes);
  const auto where = [&](const char* along_read, const char* along_written) {
    std::string text = inside;
    text.replace(text.find("%0"), 2, along_read);
    text.replace(text.find("%1"), 2, along_written);
    return text;
  };
  KernelText kernel;
  kernel.elements = tiles.count();
  kernel.threads_an_element = kThreads;
  kernel.text =
      "extern \"C\" __global__ void pt_kernel(const Arguments arguments) {\n  typedef " + index + " Index;\n" +
      OperandTexts(site) + "  __shared__ " + type + " tile[32][33];\n  for (Index i = blockIdx.x; i < " +
      std::to_string(tiles.count()) + "; i += gridDim.x) {\n" + tiles.CoordinatesText("i") +
      ForTile("      if (" + where("place", "line") + ") tile[line][place] = " + in + "[" + tiles.OffsetText(0) +
              " + place + line * (Index)" + std::to_string(space.stride(0, *written)) + "];\n") +
      "    __syncthreads();\n" +
      ForTile("      if (" + where("line", "place") + ") out0[" + tiles.OffsetText(1) + " + place + line * (Index)" +
              std::to_string(space.stride(1, *read)) + "] = tile[place][line];\n") +
      "    __syncthreads();\n  }\n}\n";
  return kernel;
}

}  // namespace pt::cuda
