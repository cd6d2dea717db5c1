// cuBLASLt on one device: its handle, and products that it has chosen an algorithm for.
#pragma once

#include <memory>

#include "plugins/cuda/product.h"
#include "plugins/cuda/stream.h"

namespace pt::cuda {

class Blas {
 public:
  static Result<std::shared_ptr<const Blas>> Make(std::shared_ptr<Context> context);
  ~Blas();
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;

  Context& context() const { return *context_; }
  const BlasFunctions& functions() const { return context_->functions().blas; }
  cublasLtHandle_t handle() const { return handle_; }

  // kRunFailed, or kOutOfMemory or kUnsupported where the code says so.
  Status Judge(const char* call, cublasStatus_t code) const;

 private:
  explicit Blas(std::shared_ptr<Context> context) : context_(std::move(context)) {}

  const std::shared_ptr<Context> context_;
  cublasLtHandle_t handle_ = nullptr;
};

// Where a product's operands lie. added and bias: 0 where there is none.
struct ProductAddresses {
  CUdeviceptr a = 0, b = 0, result = 0, added = 0, bias = 0, workspace = 0;
};

// How a product is computed: cuBLASLt's n-th best algorithm, from 0 on (the last it knows, where it knows fewer), and
// how exact. math: of factors that are stored as float32.
struct ProductWay {
  uint32_t rank = 0;
  MathMode math = MathMode::kFp32;
};

// A product at fixed addresses, with an algorithm chosen for them.
class BoundProduct {
 public:
  // workspace_bytes: at addresses.workspace, which is 256-byte aligned. Errors: kUnsupported where cuBLASLt has no
  // algorithm.
  static Result<std::unique_ptr<BoundProduct>> Make(std::shared_ptr<const Blas> blas, const Product& product,
                                                    const ProductWay& way, const ProductAddresses& addresses,
                                                    uint64_t workspace_bytes);
  ~BoundProduct();
  BoundProduct(const BoundProduct&) = delete;
  BoundProduct& operator=(const BoundProduct&) = delete;

  Status Enqueue(CudaStream& stream) const;

 private:
  BoundProduct(std::shared_ptr<const Blas> blas, const Product& product, const ProductAddresses& addresses,
               uint64_t workspace_bytes)
      : blas_(std::move(blas)), product_(product), addresses_(addresses), workspace_bytes_(workspace_bytes) {}
  Status Describe(MathMode math);
  Status DescribeMatrix(cublasLtMatrixLayout_t& layout, const Matrix& matrix, DataType type);
  Status Choose(uint32_t rank);
  // Of the call's matrices.
  ProductAddresses At(const ProductOffsets& call) const;

  const std::shared_ptr<const Blas> blas_;
  const Product product_;
  const ProductAddresses addresses_;
  const uint64_t workspace_bytes_;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, added_ = nullptr, result_ = nullptr;
  cublasLtMatmulAlgo_t algorithm_ = {};
};

}  // namespace pt::cuda
