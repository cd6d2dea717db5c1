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
                                                         const ProductAddresses& addresses, uint64_t workspace_bytes) {
  std::unique_ptr<BoundProduct> bound(new BoundProduct(std::move(blas), product, addresses, workspace_bytes));
  const Context::Scope scope(bound->blas_->context());
  PT_CHECK_OK(bound->blas_->context().Judge("cuCtxPushCurrent", scope.code()));
  PT_CHECK_OK(bound->Describe(product));
  PT_CHECK_OK(bound->Choose());
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
// with the operands the other way round, and what we add to each row it adds to each column.
Status BoundProduct::Describe(const Product& product) {
  const BlasFunctions& lt = blas_->functions();
  PT_CHECK_OK(blas_->Judge("cublasLtMatmulDescCreate",
                           lt.cublasLtMatmulDescCreate(&operation_, CUBLAS_COMPUTE_32F, CUDA_R_32F)));
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
  const uint32_t behind = bias && product.relu ? CUBLASLT_EPILOGUE_RELU_BIAS
                          : bias               ? CUBLASLT_EPILOGUE_BIAS
                          : product.relu       ? CUBLASLT_EPILOGUE_RELU
                                               : CUBLASLT_EPILOGUE_DEFAULT;
  PT_CHECK_OK(set(CUBLASLT_MATMUL_DESC_EPILOGUE, behind));
  if (bias) PT_CHECK_OK(set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, Pointer(addresses_.bias)));
  PT_CHECK_OK(DescribeMatrix(a_, product.b, product.batch));
  PT_CHECK_OK(DescribeMatrix(b_, product.a, product.batch));
  PT_CHECK_OK(DescribeMatrix(result_, product.result, product.batch));
  return DescribeMatrix(added_, product.added_input ? product.added : product.result, product.batch);
}

Status BoundProduct::DescribeMatrix(cublasLtMatrixLayout_t& layout, const Matrix& matrix, int64_t batch) {
  const BlasFunctions& lt = blas_->functions();
  PT_CHECK_OK(blas_->Judge("cublasLtMatrixLayoutCreate",
                           lt.cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, static_cast<uint64_t>(matrix.columns),
                                                         static_cast<uint64_t>(matrix.rows), matrix.row_stride)));
  if (batch == 1) return {};
  const auto set = [&](cublasLtMatrixLayoutAttribute_t attribute, const auto& value) {
    return blas_->Judge("cublasLtMatrixLayoutSetAttribute",
                        lt.cublasLtMatrixLayoutSetAttribute(layout, attribute, &value, sizeof(value)));
  };
  PT_CHECK_OK(set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<int32_t>(batch)));
  return set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, matrix.batch_stride);
}

Status BoundProduct::Choose() {
  const BlasFunctions& lt = blas_->functions();
  cublasLtMatmulPreference_t made = nullptr;
  PT_CHECK_OK(blas_->Judge("cublasLtMatmulPreferenceCreate", lt.cublasLtMatmulPreferenceCreate(&made)));
  const auto destroy = [&](cublasLtMatmulPreference_t wanted) { lt.cublasLtMatmulPreferenceDestroy(wanted); };
  const std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, decltype(destroy)> preference(made, destroy);
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    return blas_->Judge("cublasLtMatmulPreferenceSetAttribute",
                        lt.cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value, sizeof(value)));
  };
  const CUdeviceptr added = addresses_.added != 0 ? addresses_.added : addresses_.result;
  PT_CHECK_OK(set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_bytes_));
  PT_CHECK_OK(set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, AlignmentOf(addresses_.b)));
  PT_CHECK_OK(set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, AlignmentOf(addresses_.a)));
  PT_CHECK_OK(set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, AlignmentOf(added)));
  PT_CHECK_OK(set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, AlignmentOf(addresses_.result)));
  cublasLtMatmulHeuristicResult_t best{};
  int found = 0;
  PT_CHECK_OK(blas_->Judge("cublasLtMatmulAlgoGetHeuristic",
                           lt.cublasLtMatmulAlgoGetHeuristic(blas_->handle(), operation_, a_, b_, added_, result_,
                                                             preference.get(), 1, &best, &found)));
  if (found == 0) {
    return blas_->Judge("cublasLtMatmulAlgoGetHeuristic found no algorithm", CUBLAS_STATUS_NOT_SUPPORTED);
  }
  algorithm_ = best.algo;
  return {};
}

Status BoundProduct::Enqueue(CudaStream& stream) const {
  if (blas_->context().is_lost()) return blas_->context().Judge("cublasLtMatmul", CUDA_ERROR_CONTEXT_IS_DESTROYED);
  const Context::Scope scope(blas_->context());
  PT_CHECK_OK(blas_->context().Judge("cuCtxPushCurrent", scope.code()));
  const CUdeviceptr added = addresses_.added != 0 ? addresses_.added : addresses_.result;
  return blas_->Judge("cublasLtMatmul",
                      blas_->functions().cublasLtMatmul(
                          blas_->handle(), operation_, &alpha_, Pointer(addresses_.b), a_, Pointer(addresses_.a), b_,
                          &beta_, Pointer(added), added_, Pointer(addresses_.result), result_, &algorithm_,
                          Pointer(addresses_.workspace), workspace_bytes_, stream.handle()));
}

}  // namespace pt::cuda
