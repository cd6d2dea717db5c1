// The library "cublaslt": matrix products and pointwise convolutions with what follows them, by NVIDIA's cuBLASLt: in
// float32, in tf32, and of factors of 16 bits, each by several of its algorithms.
#include <algorithm>
#include <array>
#include <set>

#include "plugins/cuda/kernel.h"
#include "plugins/cuda/libraries.h"

namespace pt::cuda {
namespace {

constexpr std::string_view kName = "cublaslt";

// What an algorithm may use beside its operands, and how it must be aligned.
constexpr uint64_t kWorkspace = uint64_t{8} << 20, kWorkspaceAlignment = 256;

uint64_t BiasBytes(const Product& product) {
  return product.bias_input ? static_cast<uint64_t>(product.result.columns * BytesOf(product.result_type)) : 0;
}
// The executor aligns scratch less than the workspace is. A bias that does not lie evenly is copied behind that.
uint64_t ScratchBytes(const Product& product) { return kWorkspace + kWorkspaceAlignment + BiasBytes(product); }

// A bias is read in pieces of this size, wherever it lies: cuBLASLt has no word for one that is aligned to less.
constexpr uint64_t kBiasAlignment = 16;

// A bias that lies too unevenly for cuBLASLt is copied to where it does not. bytes: 0 where it stays.
struct BiasCopy {
  CUdeviceptr from = 0, to = 0;
  uint64_t bytes = 0;
};

class BoundProductKernel : public BoundKernel {
 public:
  // product: null where there is nothing to be done. bias: what is copied before it.
  BoundProductKernel(std::unique_ptr<BoundProduct> product, const BiasCopy& bias,
                     std::vector<std::shared_ptr<DeviceBuffer>> constants)
      : product_(std::move(product)), bias_(bias), constants_(std::move(constants)) {}

  Status Enqueue(const RunContext& run) noexcept override {
    CudaStream* const stream = AsCuda(run.stream);
    if (stream == nullptr) {
      return MakeError(ErrorCode::kInternal, "cuda.stream", "a CUDA kernel needs its device's stream");
    }
    if (product_ == nullptr) return {};
    if (bias_.bytes > 0) {
      PT_CHECK_OK(stream->context().Do("cuMemcpyDtoDAsync", [&] {
        return stream->context().driver().cuMemcpyDtoDAsync(bias_.to, bias_.from, bias_.bytes, stream->handle());
      }));
    }
    return product_->Enqueue(*stream);
  }

 private:
  const std::unique_ptr<BoundProduct> product_;
  const BiasCopy bias_;
  const std::vector<std::shared_ptr<DeviceBuffer>> constants_;  // kept: see kernel.cc
};

// A way to compute and to store. Only the way in which real numbers are stored that are float32 in the graph differs
// between the ways of one math mode.
struct Way {
  std::string_view variant;
  MathMode math = MathMode::kFp32;
  DataType in = DataType::kFloat32, out = DataType::kFloat32;
};
constexpr std::array kWays = {
    Way{""},
    Way{"", MathMode::kTf32},
    Way{"fp32", MathMode::kBf16},
    Way{"bf16", MathMode::kBf16, DataType::kBfloat16, DataType::kBfloat16},
    Way{"bf16>fp32", MathMode::kBf16, DataType::kBfloat16, DataType::kFloat32},
    Way{"fp32", MathMode::kFp16},
    Way{"fp16", MathMode::kFp16, DataType::kFloat16, DataType::kFloat16},
    Way{"fp16>fp32", MathMode::kFp16, DataType::kFloat16, DataType::kFloat32},
};
// How many of the algorithms that cuBLASLt puts first are offered. Which is the fastest, measuring tells.
constexpr uint32_t kRanks = 3;

std::string VariantOf(std::string_view way, bool channels_last, uint32_t rank) {
  std::string text(way);
  const auto add = [&](const std::string& word) { text += (text.empty() ? "" : " ") + word; };
  if (channels_last) add("channels-last");
  if (rank > 0) add("choice " + std::to_string(rank + 1));
  return text;
}

// Multipliers of tf32 and bfloat16 came with compute capability 8.0.
bool CanCompute(const Platform& platform, UnitClassId unit_class, MathMode math) {
  if (math == MathMode::kFp32 || math == MathMode::kFp16) return true;
  return platform.device(platform.unit_class(unit_class).device).has_instructions("sm_80");
}

class ProductKernel : public Kernel {
 public:
  ProductKernel(std::shared_ptr<const Blas> blas, Product product, ProductWay way,
                std::vector<std::shared_ptr<DeviceBuffer>> constants)
      : blas_(std::move(blas)), product_(std::move(product)), way_(way), constants_(std::move(constants)) {}

  uint64_t scratch_bytes() const override { return ScratchBytes(product_); }

  Result<std::unique_ptr<BoundKernel>> Bind(TensorSlots in, TensorSlots out,
                                            std::span<std::byte> scratch) const override {
    std::unique_ptr<BoundProduct> bound;
    BiasCopy copy;
    if (!product_.is_empty()) {
      const auto address = [&](uint32_t input) {
        return DeviceAddress(input < in.size() ? in[input]->data : constants_[input - in.size()]->data());
      };
      ProductAddresses addresses;
      addresses.a = address(product_.a_input);
      addresses.b = address(product_.b_input);
      addresses.result = DeviceAddress(out[0]->data);
      if (product_.added_input) addresses.added = address(*product_.added_input);
      if (product_.bias_input) addresses.bias = address(*product_.bias_input);
      addresses.workspace = (DeviceAddress(scratch.data()) + kWorkspaceAlignment - 1) & ~(kWorkspaceAlignment - 1);
      if (addresses.bias % kBiasAlignment != 0) {
        copy = {addresses.bias, addresses.workspace + kWorkspace, BiasBytes(product_)};
        addresses.bias = copy.to;
      }
      PT_ASSIGN(bound, BoundProduct::Make(blas_, product_, way_, addresses, kWorkspace));
    }
    return std::unique_ptr<BoundKernel>(std::make_unique<BoundProductKernel>(std::move(bound), copy, constants_));
  }

 private:
  const std::shared_ptr<const Blas> blas_;
  const Product product_;
  const ProductWay way_;
  const std::vector<std::shared_ptr<DeviceBuffer>> constants_;  // CudaSite::in behind the inputs
};

class ProductsLibrary final : public Library {
 public:
  std::string_view name() const override { return kName; }
  // The version of cuBLASLt belongs to the device's fingerprint.
  std::string version() const override { return "3"; }
  bool Serves(const Platform& platform, DeviceId device) const override { return IsCuda(platform, device); }
  Precision Modes(const Platform& platform) const override {
    Precision modes;
    for (const UnitClassId unit_class : ComputingClasses(platform)) {
      for (const Way& way : kWays) {
        if (CanCompute(platform, unit_class, way.math)) modes = modes.with(way.math);
      }
    }
    return modes;
  }

  std::vector<Candidate> Candidates(const Graph& graph, const Platform& platform,
                                    const Precision& precision) const override {
    std::vector<Candidate> candidates = Library::Candidates(graph, platform, precision);
    for (const std::vector<NodeId>& group : ProductGroups(graph)) {
      const std::vector<Candidate> ways = CandidatesFor(graph, platform, group, precision);
      candidates.insert(candidates.end(), ways.begin(), ways.end());
    }
    return candidates;
  }

  std::vector<Candidate> CandidatesFor(const Graph& graph, const Platform& platform, std::span<const NodeId> nodes,
                                       const Precision& precision) const override {
    std::vector<Candidate> candidates;
    const std::vector<UnitClassId> classes = ComputingClasses(platform);
    if (classes.empty() || !IsConvex(graph, nodes)) return candidates;
    std::set<std::pair<MathMode, std::pair<std::vector<Form>, std::vector<Form>>>> seen;
    for (const Way& way : kWays) {
      std::vector<UnitClassId> able;
      std::ranges::copy_if(classes, std::back_inserter(able),
                           [&](UnitClassId unit_class) { return CanCompute(platform, unit_class, way.math); });
      if (!precision.allows(way.math) || able.empty()) continue;
      for (const bool channels_last : {false, true}) {
        if (channels_last && !IsPointwise(graph, graph.node(nodes[0]))) continue;
        const Result<CudaSite> site = CudaSite::MakeDense(graph, nodes, way.in, way.out, channels_last);
        if (!site.ok()) continue;
        const Result<Product> product = MakeProduct(*site);
        if (!product.ok()) continue;
        if (!seen.insert({way.math, {FormsOf(site->in), FormsOf(site->out)}}).second) continue;
        Offer(*site, ScratchBytes(*product), way, channels_last, able, candidates);
      }
    }
    return candidates;
  }

  std::optional<std::string> WhyUnsupported(const Graph& graph, NodeId node) const override {
    const bool channels_last = IsPointwise(graph, graph.node(node));
    const Result<CudaSite> site =
        CudaSite::MakeDense(graph, {&node, 1}, DataType::kFloat32, DataType::kFloat32, channels_last);
    if (!site.ok()) return site.error().message;
    const Result<Product> product = MakeProduct(*site);
    return product.ok() ? std::nullopt : std::optional(product.error().message);
  }

  Result<std::unique_ptr<Kernel>> Compile(const Graph& graph, const Candidate& candidate,
                                          std::span<const TensorLayout> in, std::span<const TensorLayout> out,
                                          CompileContext& context) const override {
    PT_ASSIGN(const CudaSite site, CudaSite::Make(graph, candidate.nodes, in, out));
    PT_ASSIGN(Product product, MakeProduct(site));
    PT_ASSIGN(CudaDriver* const driver, DriverOf(context));
    PT_ASSIGN(std::shared_ptr<const Blas> blas, driver->blas());
    ProductWay way{0, candidate.math};
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      const auto is_it = [&](const Way& known) {
        return known.math == candidate.math && (VariantOf(known.variant, false, rank) == candidate.variant ||
                                                VariantOf(known.variant, true, rank) == candidate.variant);
      };
      if (std::ranges::any_of(kWays, is_it)) way.rank = rank;
    }
    std::vector<std::shared_ptr<DeviceBuffer>> constants;
    for (const CudaOperand& operand : site.in) {
      if (operand.constant == nullptr) continue;
      const auto at = static_cast<uint32_t>(&operand - site.in.data());
      const bool factor = at == product.a_input || at == product.b_input;
      PT_ASSIGN(std::shared_ptr<DeviceBuffer> buffer,
                OnDevice(*operand.constant, context, factor ? product.factor_type : product.result_type));
      constants.push_back(std::move(buffer));
    }
    return std::unique_ptr<Kernel>(
        std::make_unique<ProductKernel>(std::move(blas), std::move(product), way, std::move(constants)));
  }

 private:
  static void Offer(const CudaSite& site, uint64_t scratch_bytes, const Way& way, bool channels_last,
                    std::span<const UnitClassId> able, std::vector<Candidate>& candidates) {
    // Without real numbers of float32 there is nothing to compute with less.
    const bool is_lowered = std::ranges::any_of(
        site.in, [](const CudaOperand& operand) { return operand.value_type == DataType::kFloat32; });
    if (way.math != MathMode::kFp32 && !is_lowered) return;
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      for (Candidate& candidate : RowMajorCandidates(site, kName, able, scratch_bytes)) {
        candidate.variant = VariantOf(way.variant, channels_last, rank);
        candidate.math = way.math;
        candidate.in = FormsOf(site.in);
        candidate.out = FormsOf(site.out);
        candidates.push_back(std::move(candidate));
      }
    }
  }
};

}  // namespace

std::unique_ptr<Library> MakeProductsLibrary() { return std::make_unique<ProductsLibrary>(); }

}  // namespace pt::cuda
