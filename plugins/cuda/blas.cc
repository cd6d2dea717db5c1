#include "plugins/cuda/blas.h"

#include <algorithm>

namespace pt::cuda {
namespace {

// What cuBLASLt assumes of addresses unless it is told otherwise; more is of no use to it.
constexpr uint32_t kMostAlignment = 256;

uint32_t AlignmentOf(CUdeviceptr address) {
  const auto lowest_bit = static_cast<uint64_t>(address & (~address + 1));
  return static_cast<uint32_t>(std::min<uint64_t>(lowest_bit == 0 ? kMostAlignment : lowest_bit, kMostAlignment));
}

cudaDataType_t CudaTypeOf(DataType type) {
  return type == DataType::kFloat16 ? CUDA_R_16F : type == DataType::kBfloat16 ? CUDA_R_16BF : CUDA_R_32F;
}

// Sums are float32 in every mode.
cublasComputeType_t ComputeTypeOf(DataType factors, MathMode math) {
  if (factors != DataType::kFloat32) return CUBLAS_COMPUTE_32F;
  switch (math) {
    case MathMode::kTf32:
      return CUBLAS_COMPUTE_32F_FAST_TF32;
    case MathMode::kBf16:
      return CUBLAS_COMPUTE_32F_FAST_16BF;
    case MathMode::kFp16:
      return CUBLAS_COMPUTE_32F_FAST_16F;
    default:
      return CUBLAS_COMPUTE_32F;
  }
}

uint32_t EpilogueOf(ProductActivation activation, bool bias) {
  switch (activation) {
    case ProductActivation::kRelu:
      return bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    case ProductActivation::kGelu:
      return bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
    case ProductActivation::kNone:
      break;
  }
  return bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

void* Pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

}  // namespace

Result<std::shared_ptr<const Blas>> Blas::Make(std::shared_ptr<Context> context) {
  std::shared_ptr<Blas> blas(new Blas(std::move(context)));
  const Context::Scope scope(blas->context());
  PT_CHECK_OK(blas->context().Judge("cuCtxPushCurrent", scope.code()));
  PT_CHECK_OK(blas->Judge("cublasLtCreate", blas->functions().cublasLtCreate(&blas->handle_)));
  return std::shared_ptr<const Blas>(std::move(blas));
}

Blas::~Blas() {
  if (handle_ == nullptr) return;
  const Context::Scope scope(*context_);
  if (scope.code() == CUDA_SUCCESS) functions().cublasLtDestroy(handle_);
}

Status Blas::Judge(const char* call, cublasStatus_t code) const {
  if (code == CUBLAS_STATUS_SUCCESS) return {};
  const ErrorCode kind = code == CUBLAS_STATUS_ALLOC_FAILED    ? ErrorCode::kOutOfMemory
                         : code == CUBLAS_STATUS_NOT_SUPPORTED ? ErrorCode::kUnsupported
                                                               : ErrorCode::kRunFailed;
  Error error = MakeError(
      kind, "cuda.blas", "device " + context_->name() + ": " + call + ": " + functions().cublasLtGetStatusString(code));
  error.device = context_->name();
  return error;
}

Result<std::unique_ptr<BoundProduct>> BoundProduct::Make(std::shared_ptr<const Blas> blas, const Product& product,
                                                         const ProductWay& way, const ProductAddresses& addresses,
                                                         uint64_t workspace_bytes) {
  std::unique_ptr<BoundProduct> bound(new BoundProduct(std::move(blas), product, addresses, workspace_bytes));
  const Context::Scope scope(bound->blas_->context());
  PT_CHECK_OK(bound->blas_->context().Judge("cuCtxPushCurrent", scope.code()));
  PT_CHECK_OK(bound->Describe(way.math));
  PT_CHECK_OK(bound->Choose(way.rank));
  return bound;
}

BoundProduct::~BoundProduct() {
  const BlasFunctions& lt = blas_->functions();
  for (const cublasLtMatrixLayout_t layout : {a_, b_, added_, result_}) {
    if (layout != nullptr) lt.cublasLtMatrixLayoutDestroy(layout);
  }
  if (operation_ != nullptr) lt.cublasLtMatmulDescDestroy(operation_);
}

// cuBLASLt's matrices are column-major: ours, row-major, are their transposes. So it computes the transposed product,
// with the operands the other way round, and what we add to each row it adds to each column. Matrices can be told to
// lie row-major as well, but to a result that does it adds no bias.
Status BoundProduct::Describe(MathMode math) {
  const BlasFunctions& lt = blas_->functions();
  const Product& product = product_;
  PT_CHECK_OK(
      blas_->Judge("cublasLtMatmulDescCreate",
                   lt.cublasLtMatmulDescCreate(&operation_, ComputeTypeOf(product.factor_type, math), CUDA_R_32F)));
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
    return blas_->Judge("cublasLtMatmulDescSetAttribute",
                        lt.cublasLtMatmulDescSetAttribute(operation_, attribute, &value, sizeof(value)));
  };
  const auto operation_of = [](const Matrix& matrix) -> int32_t {
    return matrix.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  };
  PT_CHECK_OK(set(CUBLASLT_MATMUL_DESC_TRANSA, operation_of(product.b)));
  PT_CHECK_OK(set(CUBLASLT_MATMUL_DESC_TRANSB, operation_of(product.a)));
  const bool bias = addresses_.bias != 0;
  PT_CHECK_OK(set(CUBLASLT_MATMUL_DESC_EPILOGUE, EpilogueOf(product.activation, bias)));
  if (bias) {
    PT_CHECK_OK(set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, Pointer(addresses_.bias)));
    PT_CHECK_OK(set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, static_cast<int32_t>(CudaTypeOf(product.result_type))));
  }
  PT_CHECK_OK(DescribeMatrix(a_, product.b, product.factor_type));
  PT_CHECK_OK(DescribeMatrix(b_, product.a, product.factor_type));
  PT_CHECK_OK(DescribeMatrix(result_, product.result, product.result_type));
  return DescribeMatrix(added_, product.added_input ? product.added : product.result, product.result_type);
}

Status BoundProduct::DescribeMatrix(cublasLtMatrixLayout_t& layout, const Matrix& matrix, DataType type) {
  const BlasFunctions& lt = blas_->functions();
  const auto rows = static_cast<uint64_t>(matrix.rows), columns = static_cast<uint64_t>(matrix.columns);
  PT_CHECK_OK(blas_->Judge("cublasLtMatrixLayoutCreate",
                           lt.cublasLtMatrixLayoutCreate(&layout, CudaTypeOf(type), columns, rows, matrix.row_stride)));
  const auto set = [&](cublasLtMatrixLayoutAttribute_t attribute, const auto& value) {
    return blas_->Judge("cublasLtMatrixLayoutSetAttribute",
                        lt.cublasLtMatrixLayoutSetAttribute(layout, attribute, &value, sizeof(value)));
  };
  if (product_.batch == 1) return {};
  PT_CHECK_OK(set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<int32_t>(product_.batch)));
  return set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, matrix.batch_stride);
}

Status BoundProduct::Choose(uint32_t rank) {
  const BlasFunctions& lt = blas_->functions();
  cublasLtMatmulPreference_t made = nullptr;
  PT_CHECK_OK(blas_->Judge("cublasLtMatmulPreferenceCreate", lt.cublasLtMatmulPreferenceCreate(&made)));
  const auto destroy = [&](cublasLtMatmulPreference_t wanted) { lt.cublasLtMatmulPreferenceDestroy(wanted); };
  const std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, decltype(destroy)> preference(made, destroy);
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    return blas_->Judge("cublasLtMatmulPreferenceSetAttribute",
                        lt.cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value, sizeof(value)));
  };
  // All bits of all calls' addresses: what none of them has is the alignment of all.
  ProductAddresses all;
  for (const ProductOffsets& call : product_.calls) {
    const ProductAddresses at = At(call);
    all.a |= at.a;
    all.b |= at.b;
    all.result |= at.result;
    all.added |= at.added;
  }
  PT_CHECK_OK(set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_bytes_));
  PT_CHECK_OK(set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, AlignmentOf(all.b)));
  PT_CHECK_OK(set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, AlignmentOf(all.a)));
  PT_CHECK_OK(set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, AlignmentOf(all.added)));
  PT_CHECK_OK(set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, AlignmentOf(all.result)));
  // In place, or by the type of the result, parts of a sum would be rounded to 16 bits.
  if (product_.result_type != DataType::kFloat32) {
    constexpr uint32_t kInFloat32 = CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    PT_CHECK_OK(set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, kInFloat32));
  }
  std::vector<cublasLtMatmulHeuristicResult_t> best(rank + 1);
  int found = 0;
  PT_CHECK_OK(blas_->Judge(
      "cublasLtMatmulAlgoGetHeuristic",
      lt.cublasLtMatmulAlgoGetHeuristic(blas_->handle(), operation_, a_, b_, added_, result_, preference.get(),
                                        static_cast<int>(best.size()), best.data(), &found)));
  best.resize(static_cast<size_t>(std::clamp(found, 0, static_cast<int>(best.size()))));
  // An algorithm may be listed that cannot be run after all; each says so of itself.
  std::erase_if(best, [](const auto& result) { return result.state != CUBLAS_STATUS_SUCCESS; });
  if (best.empty()) {
    return blas_->Judge("cublasLtMatmulAlgoGetHeuristic found no algorithm", CUBLAS_STATUS_NOT_SUPPORTED);
  }
  algorithm_ = best.back().algo;
  return {};
}

ProductAddresses BoundProduct::At(const ProductOffsets& call) const {
  const auto bytes = [](int64_t elements, DataType type) { return static_cast<CUdeviceptr>(elements * BytesOf(type)); };
  ProductAddresses at = addresses_;
  at.a += bytes(call.a, product_.factor_type);
  at.b += bytes(call.b, product_.factor_type);
  at.result += bytes(call.result, product_.result_type);
  if (at.added == 0) at.added = at.result;
  return at;
}

Status BoundProduct::Enqueue(CudaStream& stream) const {
  if (blas_->context().is_lost()) return blas_->context().Judge("cublasLtMatmul", CUDA_ERROR_CONTEXT_IS_DESTROYED);
  const Context::Scope scope(blas_->context());
  PT_CHECK_OK(blas_->context().Judge("cuCtxPushCurrent", scope.code()));
  for (const ProductOffsets& call : product_.calls) {
    const ProductAddresses at = At(call);
    PT_CHECK_OK(blas_->Judge(
        "cublasLtMatmul", blas_->functions().cublasLtMatmul(blas_->handle(), operation_, &product_.alpha, Pointer(at.b),
                                                            a_, Pointer(at.a), b_, &product_.beta, Pointer(at.added),
                                                            added_, Pointer(at.result), result_, &algorithm_,
                                                            Pointer(at.workspace), workspace_bytes_, stream.handle())));
  }
  return {};
}

}  // namespace pt::cuda
