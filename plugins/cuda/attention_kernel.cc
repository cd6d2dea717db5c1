#include "plugins/cuda/attention_kernel.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "partitiontuner/support/checked.h"
#include "plugins/cuda/attention.h"
#include "plugins/cuda/element_kernel.h"
#include "plugins/cuda/index_space.h"

namespace pt::cuda {
namespace {

// Sixteen by sixteen threads; each has `queries / 16` rows, and every sixteenth column.
constexpr int64_t kAcross = 16;
constexpr int64_t kMostColumns = 128;  // of the result that one block makes
constexpr int64_t kKeys = 64;

// How many queries a block takes, and into how many parts the keys are cut, of a block each.
struct Way {
  int64_t queries = 0, parts = 1;
};
// Those in parts first, where there are few blocks otherwise.
constexpr std::array kWays = {Way{16, 16}, Way{16, 4}, Way{64}, Way{32}, Way{16}};
constexpr int64_t kFewBlocks = 64;          // as many keep a device busy
constexpr int64_t kTilesOfAPart = 2;        // at least: less is not worth a second kernel
constexpr int64_t kMostShared = INT32_MAX;  // numbers between the two kernels

std::string N(int64_t n) { return std::to_string(n); }
std::string NameOf(const Way& way) {
  return N(way.queries) + " queries" + (way.parts == 1 ? "" : " in " + N(way.parts) + " parts");
}
int64_t Pieces(int64_t n, int64_t of) { return (n + of - 1) / of; }
int64_t RoundedUp(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// Infinities have no literal.
std::string Number(float number) {
  const std::string literal = FloatLiteral(number);
  if (!literal.empty()) return literal;
  return number > 0 ? "kInfinity" : "-kInfinity";
}

// "kRow = 4, kColumn = 1;", which follows a type.
std::string Definitions(std::initializer_list<std::pair<const char*, int64_t>> numbers) {
  std::string text;
  for (const auto& [name, number] : numbers) text += (text.empty() ? "" : ", ") + std::string(name) + " = " + N(number);
  return text + ";\n";
}

// Names that the text is written with: sizes and strides come before it, as constants.
constexpr std::string_view kShared = R"(
  __shared__ float left[kSlice][kQueries + 1], right[kSlice][kKeys + 1], values[kSlice][kColumns];
  __shared__ float weights[kQueries][kKeys + 1], parts[kQueries][kAcross + 1];
  const int row = threadIdx.x / kAcross * kEachRow, column = threadIdx.x % kAcross;
)";

constexpr std::string_view kBegin = R"(
    float best[kEachRow], total[kEachRow], made[kEachRow][kEachColumn];
    bool sees[kEachRow];
    #pragma unroll
    for (int i = 0; i < kEachRow; ++i) {
      best[i] = -kInfinity;
      total[i] = 0.0f;
      sees[i] = false;
      #pragma unroll
      for (int j = 0; j < kEachColumn; ++j) made[i][j] = 0.0f;
    }
)";

// The products of the tile's queries and keys, slice by slice of their depth.
constexpr std::string_view kScores = R"(
      float scores[kEachRow][kEachKey];
      #pragma unroll
      for (int i = 0; i < kEachRow; ++i) {
        #pragma unroll
        for (int j = 0; j < kEachKey; ++j) scores[i][j] = 0.0f;
      }
      for (Index depth = 0; depth < kDepth; depth += kSlice) {
        __syncthreads();
        for (int i = threadIdx.x; i < kSlice * kQueries; i += kThreads) {
          const int k = kQueryColumn == 1 ? i % kSlice : i / kQueries, m = kQueryColumn == 1 ? i / kSlice : i % kQueries;
          left[k][m] = first + m < kAllQueries && depth + k < kDepth
                           ? (float)queries[(first + m) * kQueryRow + (depth + k) * kQueryColumn] : 0.0f;
        }
        for (int i = threadIdx.x; i < kSlice * kKeys; i += kThreads) {
          const int k = kDepthBesideDepth ? i % kSlice : i / kKeys, n = kDepthBesideDepth ? i / kSlice : i % kKeys;
          right[k][n] = start + n < kAllKeys && depth + k < kDepth
                            ? key_at(start + n, depth + k) : 0.0f;
        }
        __syncthreads();
        for (int k = 0; k < kSlice; ++k) {
          float a[kEachRow], b[kEachKey];
          #pragma unroll
          for (int i = 0; i < kEachRow; ++i) a[i] = left[k][row + i];
          #pragma unroll
          for (int j = 0; j < kEachKey; ++j) b[j] = right[k][column + j * kAcross];
          #pragma unroll
          for (int i = 0; i < kEachRow; ++i) {
            #pragma unroll
            for (int j = 0; j < kEachKey; ++j) scores[i][j] = fmaf(a[i], b[j], scores[i][j]);
          }
        }
      }
)";

// Each row's greatest score so far; what was summed for a smaller one shrinks.
constexpr std::string_view kSoften = R"(
      __syncthreads();
      #pragma unroll
      for (int i = 0; i < kEachRow; ++i) {
        float most = best[i];
        for (int c = 0; c < kAcross; ++c) most = parts[row + i][c] > most ? parts[row + i][c] : most;
        const float from = most == -kInfinity ? 0.0f : most, shrink = expf(best[i] - from);
        best[i] = most;
        total[i] *= shrink;
        #pragma unroll
        for (int j = 0; j < kEachColumn; ++j) made[i][j] *= shrink;
        #pragma unroll
        for (int j = 0; j < kEachKey; ++j) {
          const float weight = expf(scores[i][j] - from);
          total[i] += weight;
          weights[row + i][column + j * kAcross] = weight;
        }
      }
)";

constexpr std::string_view kMix = R"(
      for (int slice = 0; slice < kKeys; slice += kSlice) {
        __syncthreads();
        for (int i = threadIdx.x; i < kSlice * kColumns; i += kThreads) {
          const int n = i / kColumns, c = i % kColumns;
          values[n][c] = start + slice + n < kAllKeys && chunk + c < kAllColumns
                             ? value_at(start + slice + n, c) : 0.0f;
        }
        __syncthreads();
        for (int n = 0; n < kSlice; ++n) {
          float b[kEachColumn];
          #pragma unroll
          for (int j = 0; j < kEachColumn; ++j) b[j] = values[n][column + j * kAcross];
          #pragma unroll
          for (int i = 0; i < kEachRow; ++i) {
            const float a = weights[row + i][slice + n];
            #pragma unroll
            for (int j = 0; j < kEachColumn; ++j) made[i][j] = fmaf(a, b[j], made[i][j]);
          }
        }
      }
)";

// What the threads of a row have summed and seen.
constexpr std::string_view kSums = R"(
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < kEachRow; ++i) {
      parts[row + i][column] = total[i];
      weights[row + i][column] = sees[i] ? 1.0f : 0.0f;
    }
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < kEachRow; ++i) {
      float sum = 0.0f, seen = 0.0f;
      for (int c = 0; c < kAcross; ++c) {
        sum += parts[row + i][c];
        seen += weights[row + i][c];
      }
)";

constexpr std::string_view kResult = R"(
      const bool blind = kBlindIsZero && (seen == 0.0f || sum == 0.0f);
      #pragma unroll
      for (int j = 0; j < kEachColumn; ++j) {
        const int c = column + j * kAcross;
        if (first + row + i < kAllQueries && chunk + c < kAllColumns) {
          results[(Index)(row + i) * kResultRow + c * kResultColumn] = blind ? 0.0f : made[i][j] / sum;
        }
      }
)";

// A part's sums, as they are for the greatest score that it has met.
constexpr std::string_view kPartResult = R"(
      if (first + row + i < kAllQueries) {
        float* const one = shared + ((entry * kAllQueries + first + row + i) * kParts + part) * (kAllColumns + 3);
        if (column == 0 && chunk == 0) {
          one[kAllColumns] = best[i];
          one[kAllColumns + 1] = sum;
          one[kAllColumns + 2] = seen;
        }
        #pragma unroll
        for (int j = 0; j < kEachColumn; ++j) {
          const int c = column + j * kAcross;
          if (chunk + c < kAllColumns) one[chunk + c] = made[i][j];
        }
      }
)";

constexpr std::string_view kEnd = R"(
    }
    __syncthreads();
  }
}
)";

// An element of the result from what the parts have made of it.
constexpr std::string_view kJoin = R"(
    float most = -kInfinity;
    for (int part = 0; part < kParts; ++part) {
      const float best = row[part * kOne + kAllColumns];
      most = best > most ? best : most;
    }
    const float from = most == -kInfinity ? 0.0f : most;
    float sum = 0.0f, seen = 0.0f, made = 0.0f;
    for (int part = 0; part < kParts; ++part) {
      const float* const one = row + part * kOne;
      const float shrink = expf(one[kAllColumns] - from);
      sum += one[kAllColumns + 1] * shrink;
      seen += one[kAllColumns + 2];
      made += one[column] * shrink;
    }
)";

// Writes the kernel, and the second one that joins the parts where the keys are cut.
class AttentionText {
 public:
  AttentionText(const CudaSite& site, const Attention& attention, const Way& way)
      : site_(site),
        a_(attention),
        queries_(way.queries),
        part_keys_(Pieces(Pieces(attention.keys, kKeys), way.parts) * kKeys),
        parts_(way.parts == 1 ? 1 : Pieces(attention.keys, part_keys_)),
        columns_(std::min(RoundedUp(attention.columns, kAcross), kMostColumns)),
        blocks_(BlocksOf()) {}

  KernelText Make() const {
    KernelText kernel;
    kernel.elements = blocks_.count();
    kernel.threads_an_element = kAcross * kAcross;
    kernel.text = "extern \"C\" __global__ void pt_kernel(const Arguments arguments) {\n  typedef " +
                  std::string(blocks_.index_type()) + " Index;\n" + OperandTexts(site_) + Constants() +
                  std::string(kShared) + "  for (Index block = blockIdx.x; block < " + N(blocks_.count()) +
                  "; block += gridDim.x) {\n" + blocks_.CoordinatesText("block") + Places() + std::string(kBegin) +
                  Range() + "    for (Index start = from_key; start < to_key; start += kKeys) {" +
                  std::string(kScores) + Masks() + std::string(kSoften) + std::string(kMix) + "    }" +
                  std::string(kSums) + std::string(is_cut() ? kPartResult : kResult) + std::string(kEnd);
    return kernel;
  }

  bool is_cut() const { return parts_ > 1; }
  int64_t blocks() const { return blocks_.count(); }
  // Numbers that lie between the two kernels; nullopt where they are too many.
  std::optional<int64_t> Shared() const {
    std::optional<int64_t> count = CheckedMul(a_.queries * parts_, a_.columns + 3);
    for (size_t d = 0; count && d < a_.batch.size(); ++d) count = CheckedMul(*count, a_.batch[d]);
    return count && *count <= kMostShared ? count : std::nullopt;
  }

  KernelText Join() const {
    std::vector<int64_t> dims = a_.batch, strides = a_.y.batch;
    dims.insert(dims.end(), {a_.queries, a_.columns});
    strides.insert(strides.end(), {a_.y.row, a_.y.column});
    const IndexSpace results = IndexSpace::Whole(dims, {strides});
    const std::string constants =
        "    const float kInfinity = 1.0f / 0.0f;\n    const int " +
        Definitions({{"kParts", parts_}, {"kAllColumns", a_.columns}, {"kOne", a_.columns + 3}});
    const std::string places =
        "    const Index column = i % kAllColumns;\n    const float* const row = (const float*)" + SharedText() +
        " + i / kAllColumns * (kParts * kOne);\n";
    const std::string blind = a_.is_operator ? "seen == 0.0f || sum == 0.0f ? 0.0f : " : "";
    return ElementKernel(site_, results,
                         constants + places + std::string(kJoin) + "    " + site_.NameOf(*a_.y.operand) + "[" +
                             results.OffsetText(0) + "] = " + blind + "made / sum;\n");
  }

 private:
  enum : size_t { kQ, kK, kV, kY, kPastK, kPastV, kMask };

  // One for each batch entry, tile of queries and chunk of columns; where its part of each tensor begins.
  IndexSpace BlocksOf() const {
    std::vector<int64_t> dims = a_.batch;
    dims.push_back((a_.queries + queries_ - 1) / queries_);
    dims.push_back((a_.columns + columns_ - 1) / columns_);
    if (is_cut()) dims.push_back(parts_);
    std::vector<std::vector<int64_t>> strides;
    const auto add = [&](const AttentionMatrix& matrix, int64_t tile, int64_t chunk) {
      strides.push_back(matrix.batch);
      strides.back().insert(strides.back().end(), {tile, chunk});
      if (is_cut()) strides.back().push_back(0);
    };
    add(a_.q, 0, 0);
    add(a_.k, 0, 0);
    add(a_.v, 0, columns_ * a_.v.column);
    add(a_.y, queries_ * a_.y.row, columns_ * a_.y.column);
    const AttentionMatrix nothing{nullptr, std::vector<int64_t>(a_.batch.size(), 0)};
    add(a_.past > 0 ? a_.past_k : nothing, 0, 0);
    add(a_.past > 0 ? a_.past_v : nothing, 0, a_.past > 0 ? columns_ * a_.past_v.column : 0);
    for (const MaskTensor& mask : a_.masks) add(mask.at, 0, 0);
    IndexSpace blocks = IndexSpace::Whole(dims, std::move(strides));
    const auto is_wide = [](const CudaOperand& operand) { return IsWide(operand.layout); };
    if (std::ranges::any_of(site_.in, is_wide) || std::ranges::any_of(site_.out, is_wide)) blocks.Widen();
    return blocks;
  }

  std::string SharedText() const {
    return "arguments.at[" + N(static_cast<int64_t>(site_.in.size() + site_.out.size())) + "]";
  }

  // The keys that the block walks over: those of its part that some of its queries see.
  std::string Range() const {
    std::string text = "    Index from_key = " + FirstKey() + ", to_key = " + LastKey() + ";\n";
    if (!is_cut()) return text;
    const std::string part = "c" + N(static_cast<int64_t>(a_.batch.size()) + 2);
    std::string entry = "0";
    for (size_t d = 0; d < a_.batch.size(); ++d) {
      entry = "(" + entry + " * " + N(a_.batch[d]) + " + c" + N(static_cast<int64_t>(d)) + ")";
    }
    return text + "    const Index part = " + part + ", entry = " + entry + ";\n    float* const shared = (float*)" +
           SharedText() + ";\n    const Index part_from = part * " + N(part_keys_) + ", part_to = part_from + " +
           N(part_keys_) +
           ";\n    if (from_key < part_from) from_key = part_from;\n    if (to_key > part_to) to_key = part_to;\n";
  }

  std::string Constants() const {
    std::string text = "  const float kInfinity = 1.0f / 0.0f, kScale = " + Number(static_cast<float>(a_.scale)) +
                       ";\n  const bool kBlindIsZero = " + (a_.is_operator ? "true" : "false") +
                       ", kDepthBesideDepth = " + (a_.k.column == 1 ? "true" : "false") + ";\n  const int ";
    text += Definitions({{"kAcross", kAcross},
                         {"kThreads", kAcross * kAcross},
                         {"kSlice", kAcross},
                         {"kQueries", queries_},
                         {"kKeys", kKeys},
                         {"kColumns", columns_},
                         {"kEachKey", kKeys / kAcross},
                         {"kEachRow", queries_ / kAcross},
                         {"kEachColumn", columns_ / kAcross}});
    return text + "  const Index " +
           Definitions({{"kAllQueries", a_.queries},
                        {"kAllKeys", a_.keys},
                        {"kAllColumns", a_.columns},
                        {"kParts", parts_},
                        {"kDepth", a_.depth},
                        {"kQueryRow", a_.q.row},
                        {"kQueryColumn", a_.q.column},
                        {"kResultRow", a_.y.row},
                        {"kResultColumn", a_.y.column}});
  }

  std::string Places() const {
    const std::string tile = "c" + N(static_cast<int64_t>(a_.batch.size())),
                      chunk = "c" + N(static_cast<int64_t>(a_.batch.size()) + 1);
    const auto place = [&](const std::string& name, const AttentionMatrix& matrix, size_t tensor) {
      const bool is_result = matrix.operand == a_.y.operand;
      return "    " + std::string(is_result ? "" : "const ") + std::string(CTypeOf(matrix.operand->type())) +
             "* const " + name + " = " + site_.NameOf(*matrix.operand) + " + " + blocks_.OffsetText(tensor) + ";\n";
    };
    std::string text = "    const Index first = " + tile + " * " + N(queries_) + ", chunk = " + chunk + " * " +
                       N(columns_) + ";\n" + place("queries", a_.q, kQ) + place("keys", a_.k, kK) +
                       place("values_behind", a_.v, kV) + place("results", a_.y, kY);
    if (a_.past > 0) text += place("past_keys", a_.past_k, kPastK) + place("past_values", a_.past_v, kPastV);
    text += ReadText("key_at", "keys", a_.k, "past_keys", a_.past_k) +
            ReadText("value_at", "values_behind", a_.v, "past_values", a_.past_v);
    for (size_t m = 0; m < a_.masks.size(); ++m) {
      text += place("mask" + N(static_cast<int64_t>(m)), a_.masks[m].at, kMask + m);
    }
    return text;
  }

  // A function of the kernel that gives an element of keys or values, of the past or behind it.
  std::string ReadText(const std::string& name, const std::string& own, const AttentionMatrix& from,
                       const std::string& past, const AttentionMatrix& from_past) const {
    const auto element = [](const std::string& array, const std::string& row, const AttentionMatrix& matrix) {
      return "(float)" + array + "[" + row + " * (Index)" + N(matrix.row) + " + column * (Index)" + N(matrix.column) +
             "]";
    };
    std::string read = element(own, a_.past > 0 ? "(row - " + N(a_.past) + ")" : "row", from);
    if (a_.past > 0) read = "row < " + N(a_.past) + " ? " + element(past, "row", from_past) + " : " + read;
    return "    const auto " + name + " = [&](Index row, Index column) -> float { return " + read + "; };\n";
  }

  // Tiles that none of the block's queries sees are left out.
  std::string FirstKey() const {
    if (!HidesBefore()) return "0";
    const std::string number = "(first + " + N(a_.past) + ")";
    return number + " > " + N(a_.before) + " ? (" + number + " - " + N(a_.before) + ") / kKeys * kKeys : 0";
  }
  std::string LastKey() const {
    if (a_.behind >= a_.keys) return "kAllKeys";
    const std::string last = "first + " + N(a_.past) + " + kQueries + " + N(a_.behind);
    return "(" + last + " < kAllKeys ? " + last + " : kAllKeys)";
  }

  // From products to scores, and the greatest of those that this thread has in each row.
  std::string Masks() const {
    std::string text = R"(
      #pragma unroll
      for (int i = 0; i < kEachRow; ++i) {
        const Index query = first + row + i;
        float most = -kInfinity;
        #pragma unroll
        for (int j = 0; j < kEachKey; ++j) {
          const Index key = start + column + j * kAcross;
          float score = scores[i][j] * kScale;
          if (query < kAllQueries && key < kAllKeys) {
)";
    if (a_.softcap != 0) {
      const std::string cap = Number(static_cast<float>(a_.softcap));
      text += "            score = " + cap + " * tanhf(score / " + cap + ");\n";
    }
    text += a_.is_operator ? Bias() : Replacements();
    return text + R"(
          } else {
            score = -kInfinity;
          }
          scores[i][j] = score;
          most = score > most ? score : most;
        }
        parts[row + i][column] = most;
      }
)";
  }

  bool HidesBefore() const { return a_.before < a_.past + a_.queries; }

  std::string MaskText(size_t m) const {
    const AttentionMatrix& at = a_.masks[m].at;
    return "mask" + N(static_cast<int64_t>(m)) + "[query * (Index)" + N(at.row) + " + key * (Index)" + N(at.column) +
           "]";
  }

  // As the operator says it: what hides a key is added to its score.
  std::string Bias() const {
    std::string text = "            float bias = 0.0f;\n";
    for (size_t m = 0; m < a_.masks.size(); ++m) {
      const std::string there = "key < " + N(a_.masks[m].keys);
      if (a_.masks[m].kind == MaskTensor::Kind::kHiding) {
        text += "            if (!(" + there + " && " + MaskText(m) + " != 0)) bias = -kInfinity;\n";
      } else {
        text += "            bias = " + there + " ? (float)" + MaskText(m) + " : -kInfinity;\n";
      }
    }
    const std::string number = "query + " + N(a_.past);
    if (a_.behind < a_.keys) {
      text += "            if (key - (" + number + ") > " + N(a_.behind) + ") bias = -kInfinity;\n";
    }
    if (HidesBefore()) text += "            if (" + number + " - key > " + N(a_.before) + ") bias = -kInfinity;\n";
    return text + "            score += bias;\n            sees[i] = sees[i] || bias > -kInfinity;\n";
  }

  std::string Replacements() const {
    std::string text;
    for (size_t m = 0; m < a_.masks.size(); ++m) {
      const MaskTensor& mask = a_.masks[m];
      if (mask.kind == MaskTensor::Kind::kAdded) {
        text += "            score += (float)" + MaskText(m) + ";\n";
      } else {
        text += "            if ((" + MaskText(m) + " != 0) != " + (mask.keep_where ? "true" : "false") +
                ") score = " + Number(mask.otherwise) + ";\n";
      }
    }
    return text;
  }

  const CudaSite& site_;
  const Attention& a_;
  const int64_t queries_;
  const int64_t part_keys_, parts_;  // keys of a part, whole tiles; none is empty
  const int64_t columns_;
  const IndexSpace blocks_;
};

bool IsEmpty(const Attention& attention) {
  return attention.queries == 0 || attention.columns == 0 ||
         std::ranges::find(attention.batch, 0) != attention.batch.end();
}

bool IsOffered(const CudaSite& site, const Attention& attention, const Way& way) {
  // Where less than half of the rows would be used a smaller block does the same with less.
  const bool fits = way.queries == kWays.back().queries || attention.queries * 2 > way.queries;
  if (!fits || way.parts == 1) return fits;
  if (IsEmpty(attention) || attention.queries > way.queries ||
      Pieces(attention.keys, kKeys) < way.parts * kTilesOfAPart)
    return false;
  const AttentionText whole(site, attention, Way{way.queries}), cut(site, attention, way);
  return whole.blocks() < kFewBlocks && cut.Shared().has_value();
}

// Keys and values that are given out: copies, beside the past's, of what comes behind it.
void AddPresents(const CudaSite& site, const Attention& attention, CudaRoutine& routine) {
  for (const AttentionPresent& present : attention.presents) {
    const std::vector<int64_t>& strides = present.operand->strides();
    const auto copy = [&](const CudaOperand& from, const std::vector<int64_t>& dims, const std::vector<int64_t>& lies,
                          int64_t behind) {
      routine.kernels.push_back(
          CopyKernel(site, {site.NameOf(from), IndexSpace(dims, {lies})},
                     {site.NameOf(*present.operand), IndexSpace(dims, {strides}), behind * strides[2]}));
    };
    if (present.past != nullptr) copy(*present.past, present.past_dims, present.past_strides, 0);
    copy(*present.own, present.own_dims, present.own_strides, attention.past);
  }
}

}  // namespace

Result<std::vector<std::string>> AttentionVariants(const CudaSite& site) {
  PT_ASSIGN(const Attention attention, MakeAttention(site));
  std::vector<std::string> variants;
  for (const Way& way : kWays) {
    if (IsOffered(site, attention, way)) variants.push_back(NameOf(way));
  }
  return variants;
}

Result<CudaRoutine> MakeAttentionKernel(const CudaSite& site, std::string_view variant) {
  PT_ASSIGN(const Attention attention, MakeAttention(site));
  const auto way = std::ranges::find(kWays, variant, NameOf);
  if (way == kWays.end() || !IsOffered(site, attention, *way))
    return site.Unsupported("there is no variant \"" + std::string(variant) + "\" of it");
  CudaRoutine routine;
  if (!IsEmpty(attention)) {
    const AttentionText text(site, attention, *way);
    routine.kernels.push_back(text.Make());
    if (text.is_cut()) {
      routine.kernels.push_back(text.Join());
      routine.scratch_bytes = static_cast<uint64_t>(*text.Shared()) * sizeof(float);
    }
  }
  AddPresents(site, attention, routine);
  return routine;
}

}  // namespace pt::cuda
