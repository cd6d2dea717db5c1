// cuBLASLt on the fake GPU: it reads the descriptions that it is given and computes what they say, column-major unless
// they say otherwise, and holds its caller to what the real one demands of sizes and alignments.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "partitiontuner/graph/half.h"
#include "test/cuda/fake_gpu_state.h"

namespace pt::testing {
namespace {

using State = std::shared_ptr<FakeGpuState>;
using Lock = std::lock_guard<std::mutex>;

struct FakeOperation {
  bool transpose_a = false, transpose_b = false;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;
  cudaDataType_t bias_type = CUDA_R_32F;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;

  bool adds_bias() const {
    return epilogue == CUBLASLT_EPILOGUE_BIAS || epilogue == CUBLASLT_EPILOGUE_RELU_BIAS ||
           epilogue == CUBLASLT_EPILOGUE_GELU_BIAS;
  }
};

bool IsKnown(cudaDataType_t type) { return type == CUDA_R_32F || type == CUDA_R_16F || type == CUDA_R_16BF; }

double LoadFrom(const void* data, cudaDataType_t type, int64_t at) {
  if (type == CUDA_R_16F) return static_cast<double>(ToFloat(static_cast<const Half*>(data)[at]));
  if (type == CUDA_R_16BF) return static_cast<double>(ToFloat(static_cast<const Bfloat16*>(data)[at]));
  return static_cast<double>(static_cast<const float*>(data)[at]);
}
void StoreTo(void* data, cudaDataType_t type, int64_t at, double number) {
  const auto narrow = static_cast<float>(number);
  if (type == CUDA_R_16F) {
    static_cast<Half*>(data)[at] = ToHalf(narrow);
  } else if (type == CUDA_R_16BF) {
    static_cast<Bfloat16*>(data)[at] = ToBfloat16(narrow);
  } else {
    static_cast<float*>(data)[at] = narrow;
  }
}

double RoundedTo(cudaDataType_t type, double number) {
  float stored = 0;
  StoreTo(&stored, type, 0, number);
  return LoadFrom(&stored, type, 0);
}

// A factor of float32 as the mode of computing takes it.
double Rounded(double number, cublasComputeType_t compute) {
  const auto narrow = static_cast<float>(number);
  if (compute == CUBLAS_COMPUTE_32F_FAST_16BF) return static_cast<double>(ToFloat(ToBfloat16(narrow)));
  if (compute == CUBLAS_COMPUTE_32F_FAST_16F || compute == CUBLAS_COMPUTE_32F_FAST_TF32) {
    return static_cast<double>(ToFloat(ToHalf(narrow)));  // ten bits of fraction each
  }
  return number;
}

struct FakeLayout {
  cudaDataType_t type = CUDA_R_32F;
  int64_t rows = 0, columns = 0, leading = 0, batch_stride = 0;
  int32_t batch = 1;
  bool row_major = false;

  int64_t At(int64_t in_batch, int64_t row, int64_t column) const {
    return in_batch * batch_stride + (row_major ? row * leading + column : row + column * leading);
  }
};

struct FakePreference {
  uint64_t workspace_bytes = 0;
  uint32_t alignments[4] = {256, 256, 256, 256};  // of A, B, C, D
  uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_MASK;
};

template <typename Fake, typename Handle>
Fake& As(Handle handle) {
  return *reinterpret_cast<Fake*>(handle);
}

template <typename T>
T Read(const void* value) {
  T read;
  std::memcpy(&read, value, sizeof(T));
  return read;
}

// What the algorithm that the fake chose goes by; it travels in the real one's bytes.
struct FakeAlgorithm {
  uint64_t workspace_bytes = 0;
  uint32_t alignments[4] = {};
  uint32_t rank = 0;
  uint32_t rounds_sums = 0;  // whether it adds parts of a sum up in the type of the result
};

// All that one call names.
struct FakeProduct {
  FakeOperation operation;
  FakeLayout a_layout, b_layout, c_layout, d_layout;
  const void *a = nullptr, *b = nullptr, *c = nullptr;
  void* d = nullptr;
  float alpha = 0, beta = 0;
  bool rounds_sums = false;

  int64_t inner() const { return operation.transpose_a ? a_layout.rows : a_layout.columns; }

  std::string Fault() const {
    const int64_t m = operation.transpose_a ? a_layout.columns : a_layout.rows;
    const int64_t n = operation.transpose_b ? b_layout.rows : b_layout.columns;
    const int64_t k = operation.transpose_b ? b_layout.columns : b_layout.rows;
    if (k != inner() || m != d_layout.rows || n != d_layout.columns) return "sizes do not fit";
    if (c_layout.rows != d_layout.rows || c_layout.columns != d_layout.columns) return "C is not of D's size";
    for (const FakeLayout* layout : {&a_layout, &b_layout, &c_layout, &d_layout}) {
      if (layout->leading < (layout->row_major ? layout->columns : layout->rows) || layout->rows == 0 ||
          layout->columns == 0)
        return "a bad leading dimension";
      if (layout->batch != d_layout.batch) return "batches differ";
    }
    if (inner() == 0) return "an inner dim of 0";
    // From the table of what cuBLASLt supports.
    if (a_layout.type != b_layout.type || c_layout.type != d_layout.type) return "types do not go together";
    if (d_layout.type != CUDA_R_32F && d_layout.type != a_layout.type) return "types do not go together";
    if (operation.bias != nullptr && operation.bias_type != d_layout.type) return "the bias is of another type";
    if (operation.adds_bias() && d_layout.row_major) return "a bias of a result that lies row-major";
    // Loaded in vectors of 16 bytes, without a preference that would say that it lies otherwise.
    if (reinterpret_cast<uintptr_t>(operation.bias) % 16 != 0) return "the bias is not aligned to 16 bytes";
    if (a_layout.type != CUDA_R_32F && operation.compute != CUBLAS_COMPUTE_32F) return "a mode for float32 alone";
    return "";
  }

  void Compute() const {
    for (int64_t batch = 0; batch < d_layout.batch; ++batch) {
      for (int64_t column = 0; column < d_layout.columns; ++column) {
        for (int64_t row = 0; row < d_layout.rows; ++row) ComputeOne(batch, row, column);
      }
    }
  }

  void ComputeOne(int64_t batch, int64_t row, int64_t column) const {
    double sum = 0;
    for (int64_t k = 0; k < inner(); ++k) {
      const int64_t a_at = operation.transpose_a ? a_layout.At(batch, k, row) : a_layout.At(batch, row, k);
      const int64_t b_at = operation.transpose_b ? b_layout.At(batch, column, k) : b_layout.At(batch, k, column);
      sum += Rounded(LoadFrom(a, a_layout.type, a_at), operation.compute) *
             Rounded(LoadFrom(b, b_layout.type, b_at), operation.compute);
      // The first half of a sum is left in the result while the second is made.
      if (rounds_sums && k == inner() / 2 - 1) sum = RoundedTo(d_layout.type, sum);
    }
    sum *= static_cast<double>(alpha);
    if (beta != 0) {
      sum += static_cast<double>(beta) * LoadFrom(c, c_layout.type, c_layout.At(batch, row, column));
    }
    if (operation.bias != nullptr) sum += LoadFrom(operation.bias, operation.bias_type, row);
    StoreTo(d, d_layout.type, d_layout.At(batch, row, column), Activated(sum));
  }

  double Activated(double sum) const {
    switch (operation.epilogue) {
      case CUBLASLT_EPILOGUE_RELU:
      case CUBLASLT_EPILOGUE_RELU_BIAS:
        return sum < 0 ? 0 : sum;
      case CUBLASLT_EPILOGUE_GELU:
      case CUBLASLT_EPILOGUE_GELU_BIAS:
        return 0.5 * sum * (1 + std::tanh(0.7978845608028654 * (sum + 0.044715 * sum * sum * sum)));
      default:
        return sum;
    }
  }
};

void AddDescriptions(cuda::BlasFunctions& blas) {
  blas.cublasLtMatmulDescCreate = [](cublasLtMatmulDesc_t* made, cublasComputeType_t compute, cudaDataType_t scale) {
    const bool known = compute == CUBLAS_COMPUTE_32F || compute == CUBLAS_COMPUTE_32F_FAST_TF32 ||
                       compute == CUBLAS_COMPUTE_32F_FAST_16BF || compute == CUBLAS_COMPUTE_32F_FAST_16F;
    if (!known || scale != CUDA_R_32F) return CUBLAS_STATUS_NOT_SUPPORTED;
    auto* const operation = new FakeOperation;
    operation->compute = compute;
    *made = reinterpret_cast<cublasLtMatmulDesc_t>(operation);
    return CUBLAS_STATUS_SUCCESS;
  };
  blas.cublasLtMatmulDescDestroy = [](cublasLtMatmulDesc_t made) {
    delete &As<FakeOperation>(made);
    return CUBLAS_STATUS_SUCCESS;
  };
  blas.cublasLtMatmulDescSetAttribute = [](cublasLtMatmulDesc_t made, cublasLtMatmulDescAttributes_t attribute,
                                           const void* value, size_t bytes) {
    auto& operation = As<FakeOperation>(made);
    const size_t wanted = attribute == CUBLASLT_MATMUL_DESC_BIAS_POINTER ? sizeof(void*) : 4;
    if (bytes != wanted) return CUBLAS_STATUS_INVALID_VALUE;
    switch (attribute) {
      case CUBLASLT_MATMUL_DESC_TRANSA:
        operation.transpose_a = Read<int32_t>(value) == CUBLAS_OP_T;
        return CUBLAS_STATUS_SUCCESS;
      case CUBLASLT_MATMUL_DESC_TRANSB:
        operation.transpose_b = Read<int32_t>(value) == CUBLAS_OP_T;
        return CUBLAS_STATUS_SUCCESS;
      case CUBLASLT_MATMUL_DESC_EPILOGUE:
        operation.epilogue = Read<uint32_t>(value);
        return CUBLAS_STATUS_SUCCESS;
      case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
        operation.bias = Read<const void*>(value);
        return CUBLAS_STATUS_SUCCESS;
      case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
        operation.bias_type = static_cast<cudaDataType_t>(Read<int32_t>(value));
        return CUBLAS_STATUS_SUCCESS;
      default:
        return CUBLAS_STATUS_INVALID_VALUE;
    }
  };
  blas.cublasLtMatrixLayoutCreate = [](cublasLtMatrixLayout_t* made, cudaDataType type, uint64_t rows, uint64_t columns,
                                       int64_t leading) {
    if (!IsKnown(type)) return CUBLAS_STATUS_NOT_SUPPORTED;
    *made = reinterpret_cast<cublasLtMatrixLayout_t>(
        new FakeLayout{type, static_cast<int64_t>(rows), static_cast<int64_t>(columns), leading, 0, 1, false});
    return CUBLAS_STATUS_SUCCESS;
  };
  blas.cublasLtMatrixLayoutDestroy = [](cublasLtMatrixLayout_t made) {
    delete &As<FakeLayout>(made);
    return CUBLAS_STATUS_SUCCESS;
  };
  blas.cublasLtMatrixLayoutSetAttribute = [](cublasLtMatrixLayout_t made, cublasLtMatrixLayoutAttribute_t attribute,
                                             const void* value, size_t bytes) {
    auto& layout = As<FakeLayout>(made);
    if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT && bytes == sizeof(int32_t)) {
      layout.batch = Read<int32_t>(value);
    } else if (attribute == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET && bytes == sizeof(int64_t)) {
      layout.batch_stride = Read<int64_t>(value);
    } else if (attribute == CUBLASLT_MATRIX_LAYOUT_ORDER && bytes == sizeof(int32_t)) {
      layout.row_major = Read<int32_t>(value) == CUBLASLT_ORDER_ROW;
    } else {
      return CUBLAS_STATUS_INVALID_VALUE;
    }
    return CUBLAS_STATUS_SUCCESS;
  };
}

void AddChoice(cuda::BlasFunctions& blas) {
  blas.cublasLtMatmulPreferenceCreate = [](cublasLtMatmulPreference_t* made) {
    *made = reinterpret_cast<cublasLtMatmulPreference_t>(new FakePreference);
    return CUBLAS_STATUS_SUCCESS;
  };
  blas.cublasLtMatmulPreferenceDestroy = [](cublasLtMatmulPreference_t made) {
    delete &As<FakePreference>(made);
    return CUBLAS_STATUS_SUCCESS;
  };
  blas.cublasLtMatmulPreferenceSetAttribute = [](cublasLtMatmulPreference_t made,
                                                 cublasLtMatmulPreferenceAttributes_t attribute, const void* value,
                                                 size_t bytes) {
    auto& preference = As<FakePreference>(made);
    if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES && bytes == sizeof(uint64_t)) {
      preference.workspace_bytes = Read<uint64_t>(value);
      return CUBLAS_STATUS_SUCCESS;
    }
    if (attribute == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK && bytes == sizeof(uint32_t)) {
      preference.reductions = Read<uint32_t>(value);
      return CUBLAS_STATUS_SUCCESS;
    }
    static_assert(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES + 3);
    const int which = attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES;
    if (which < 0 || which > 3 || bytes != sizeof(uint32_t)) return CUBLAS_STATUS_INVALID_VALUE;
    preference.alignments[which] = Read<uint32_t>(value);
    return CUBLAS_STATUS_SUCCESS;
  };
  blas.cublasLtMatmulAlgoGetHeuristic = [](cublasLtHandle_t, cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t,
                                           cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t d,
                                           cublasLtMatmulPreference_t wanted, int most,
                                           cublasLtMatmulHeuristicResult_t results[], int* found) {
    if (most < 1) return CUBLAS_STATUS_INVALID_VALUE;
    if (As<FakeOperation>(operation).adds_bias() && As<FakeLayout>(d).row_major) return CUBLAS_STATUS_NOT_SUPPORTED;
    FakeAlgorithm algorithm;
    constexpr uint32_t kInTypeOfResult = CUBLASLT_REDUCTION_SCHEME_INPLACE | CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;
    algorithm.rounds_sums = (As<FakePreference>(wanted).reductions & kInTypeOfResult) != 0 ? 1 : 0;
    algorithm.workspace_bytes = As<FakePreference>(wanted).workspace_bytes;
    std::memcpy(algorithm.alignments, As<FakePreference>(wanted).alignments, sizeof(algorithm.alignments));
    static_assert(sizeof(algorithm) <= sizeof(results[0].algo));
    // Three are known, of which the second cannot be used after all.
    *found = std::min(most, 3);
    for (int i = 0; i < *found; ++i) {
      algorithm.rank = static_cast<uint32_t>(i);
      std::memcpy(&results[i].algo, &algorithm, sizeof(algorithm));
      results[i].workspaceSize = algorithm.workspace_bytes;
      results[i].state = i == 1 ? CUBLAS_STATUS_NOT_SUPPORTED : CUBLAS_STATUS_SUCCESS;
    }
    return CUBLAS_STATUS_SUCCESS;
  };
}

// Whether the addresses keep what was said of them when the algorithm was chosen.
bool AreAligned(const FakeAlgorithm& algorithm, std::initializer_list<const void*> addresses) {
  size_t i = 0;
  for (const void* const address : addresses) {
    if (reinterpret_cast<uintptr_t>(address) % algorithm.alignments[i++] != 0) return false;
  }
  return true;
}

void AddProducts(const State& state, cuda::BlasFunctions& blas) {
  blas.cublasLtMatmul = [state](cublasLtHandle_t, cublasLtMatmulDesc_t operation, const void* alpha, const void* a,
                                cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout,
                                const void* beta, const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                                cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algo, void* workspace,
                                size_t workspace_bytes, cudaStream_t stream) {
    const Lock lock(state->mutex);
    FakeStreamHandle* const on = state->streams.Find(stream);
    if (on == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    if (state->EnterOn(on->device, "cublasLtMatmul", "stream " + std::to_string(on->number)) != CUDA_SUCCESS) {
      return CUBLAS_STATUS_EXECUTION_FAILED;
    }
    FakeProduct product;
    product.operation = As<FakeOperation>(operation);
    product.a_layout = As<FakeLayout>(a_layout);
    product.b_layout = As<FakeLayout>(b_layout);
    product.c_layout = As<FakeLayout>(c_layout);
    product.d_layout = As<FakeLayout>(d_layout);
    product.a = a;
    product.b = b;
    product.c = c;
    product.d = d;
    product.alpha = Read<float>(alpha);
    product.beta = Read<float>(beta);
    if (const std::string fault = product.Fault(); !fault.empty()) {
      state->Violate("cublasLtMatmul: " + fault);
      return CUBLAS_STATUS_INVALID_VALUE;
    }
    const auto algorithm = Read<FakeAlgorithm>(algo);
    product.rounds_sums = algorithm.rounds_sums != 0;
    state->algorithms.push_back(algorithm.rank);
    const auto work_at = reinterpret_cast<uintptr_t>(workspace);
    if (!AreAligned(algorithm, {a, b, c, d}) || work_at % 256 != 0 || workspace_bytes < algorithm.workspace_bytes ||
        !state->Reaches(on->device, work_at, workspace_bytes)) {
      state->Violate("cublasLtMatmul: an address is not as it was announced");
      return CUBLAS_STATUS_INVALID_VALUE;
    }
    state->Submit(*on, [product, workspace, workspace_bytes] {
      std::memset(workspace, 0xee, workspace_bytes);  // an algorithm may write all of it
      product.Compute();
      return true;
    });
    return CUBLAS_STATUS_SUCCESS;
  };
}

}  // namespace

cuda::BlasFunctions FakeBlasFunctions(const State& state) {
  cuda::BlasFunctions blas;
  blas.cublasLtGetVersion = [] { return size_t{CUBLAS_VERSION}; };
  blas.cublasLtGetStatusString = [](cublasStatus_t) { return "as the fake was told"; };
  blas.cublasLtCreate = [state](cublasLtHandle_t* handle) {
    const Lock lock(state->mutex);
    if (state->Enter("cublasLtCreate") != CUDA_SUCCESS) return CUBLAS_STATUS_NOT_INITIALIZED;
    *handle = reinterpret_cast<cublasLtHandle_t>(state.get());
    return CUBLAS_STATUS_SUCCESS;
  };
  blas.cublasLtDestroy = [state](cublasLtHandle_t) {
    const Lock lock(state->mutex);
    state->Enter("cublasLtDestroy");
    return CUBLAS_STATUS_SUCCESS;
  };
  AddDescriptions(blas);
  AddChoice(blas);
  AddProducts(state, blas);
  return blas;
}

}  // namespace pt::testing
