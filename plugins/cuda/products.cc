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
// The executor aligns scratch less than that.
constexpr uint64_t kScratch = kWorkspace + kWorkspaceAlignment;

class BoundProductKernel : public BoundKernel {
 public:
  // product: null where there is nothing to be done.
  BoundProductKernel(std::unique_ptr<BoundProduct> product, std::vector<std::shared_ptr<DeviceBuffer>> constants)
      : product_(std::move(product)), constants_(std::move(constants)) {}

  Status Enqueue(const RunContext& run) noexcept override {
    CudaStream* const stream = AsCuda(run.stream);
    if (stream == nullptr) {
      return MakeError(ErrorCode::kInternal, "cuda.stream", "a CUDA kernel needs its device's stream");
    }
    return product_ == nullptr ? Status() : product_->Enqueue(*stream);
  }

 private:
  const std::unique_ptr<BoundProduct> product_;
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

std::string VariantOf(std::string_view way, uint32_t rank) {
  if (rank == 0) return std::string(way);
  return std::string(way) + (way.empty() ? "" : " ") + "choice " + std::to_string(rank + 1);
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

  uint64_t scratch_bytes() const override { return kScratch; }

  Result<std::unique_ptr<BoundKernel>> Bind(TensorSlots in, TensorSlots out,
                                            std::span<std::byte> scratch) const override {
    std::unique_ptr<BoundProduct> bound;
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
      PT_ASSIGN(bound, BoundProduct::Make(blas_, product_, way_, addresses, kWorkspace));
    }
    return std::unique_ptr<BoundKernel>(std::make_unique<BoundProductKernel>(std::move(bound), constants_));
  }

 private:
  const std::shared_ptr<const Blas> blas_;
  const Product product_;
  const ProductWay way_;
  const std::vector<std::shared_ptr<DeviceBuffer>> constants_;  // Site::in behind the inputs
};

class ProductsLibrary final : public Library {
 public:
  std::string_view name() const override { return kName; }
  // The version of cuBLASLt belongs to the device's fingerprint.
  std::string version() const override { return "2"; }
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
      const Result<Site> site = Site::MakeDense(graph, nodes, way.in, way.out);
      if (!site.ok() || !MakeProduct(*site).ok()) continue;
      const std::vector<Form> in = FormsOf(site->in), out = FormsOf(site->out);
      if (!seen.insert({way.math, {in, out}}).second) continue;
      // Without real numbers of float32 there is nothing to compute with less.
      const bool is_lowered = std::ranges::any_of(
          site->in, [](const Operand& operand) { return operand.value_type == DataType::kFloat32; });
      if (way.math != MathMode::kFp32 && !is_lowered) continue;
      for (uint32_t rank = 0; rank < kRanks; ++rank) {
        for (Candidate& candidate : RowMajorCandidates(*site, kName, able, kScratch)) {
          candidate.variant = VariantOf(way.variant, rank);
          candidate.math = way.math;
          candidate.in = in;
          candidate.out = out;
          candidates.push_back(std::move(candidate));
        }
      }
    }
    return candidates;
  }

  std::optional<std::string> WhyUnsupported(const Graph& graph, NodeId node) const override {
    const Result<Site> site = Site::MakeDense(graph, {&node, 1});
    if (!site.ok()) return site.error().message;
    const Result<Product> product = MakeProduct(*site);
    return product.ok() ? std::nullopt : std::optional(product.error().message);
  }

  Result<std::unique_ptr<Kernel>> Compile(const Graph& graph, const Candidate& candidate,
                                          std::span<const TensorLayout> in, std::span<const TensorLayout> out,
                                          CompileContext& context) const override {
    PT_ASSIGN(const Site site, Site::Make(graph, candidate.nodes, in, out));
    PT_ASSIGN(Product product, MakeProduct(site));
    PT_ASSIGN(CudaDriver* const driver, DriverOf(context));
    PT_ASSIGN(std::shared_ptr<const Blas> blas, driver->blas());
    ProductWay way{0, candidate.math};
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      const auto is_it = [&](const Way& known) {
        return known.math == candidate.math && VariantOf(known.variant, rank) == candidate.variant;
      };
      if (std::ranges::any_of(kWays, is_it)) way.rank = rank;
    }
    std::vector<std::shared_ptr<DeviceBuffer>> constants;
    for (const Operand& operand : site.in) {
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
};

}  // namespace

std::unique_ptr<Library> MakeProductsLibrary() { return std::make_unique<ProductsLibrary>(); }

}  // namespace pt::cuda
