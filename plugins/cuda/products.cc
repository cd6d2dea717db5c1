// The library "cublaslt": products of float32 matrices, with what follows them, by NVIDIA's cuBLASLt.
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

class ProductKernel : public Kernel {
 public:
  ProductKernel(std::shared_ptr<const Blas> blas, Product product, std::vector<std::shared_ptr<DeviceBuffer>> constants)
      : blas_(std::move(blas)), product_(std::move(product)), constants_(std::move(constants)) {}

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
      PT_ASSIGN(bound, BoundProduct::Make(blas_, product_, addresses, kWorkspace));
    }
    return std::unique_ptr<BoundKernel>(std::make_unique<BoundProductKernel>(std::move(bound), constants_));
  }

 private:
  const std::shared_ptr<const Blas> blas_;
  const Product product_;
  const std::vector<std::shared_ptr<DeviceBuffer>> constants_;  // Site::in behind the inputs
};

class ProductsLibrary final : public Library {
 public:
  std::string_view name() const override { return kName; }
  // The version of cuBLASLt belongs to the device's fingerprint.
  std::string version() const override { return "1"; }
  bool Serves(const Platform& platform, DeviceId device) const override { return IsCuda(platform, device); }

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
                                       const Precision&) const override {
    const std::vector<UnitClassId> classes = ComputingClasses(platform);
    if (classes.empty() || !IsConvex(graph, nodes)) return {};
    const Result<Site> site = Site::MakeDense(graph, nodes);
    if (!site.ok() || !MakeProduct(*site).ok()) return {};
    return RowMajorCandidates(*site, kName, classes, kScratch);
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
    PT_ASSIGN(std::vector<std::shared_ptr<DeviceBuffer>> constants, ConstantsOnDevice(site, context));
    return std::unique_ptr<Kernel>(
        std::make_unique<ProductKernel>(std::move(blas), std::move(product), std::move(constants)));
  }
};

}  // namespace

std::unique_ptr<Library> MakeProductsLibrary() { return std::make_unique<ProductsLibrary>(); }

}  // namespace pt::cuda
