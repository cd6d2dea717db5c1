// TfIdfVectorizer: how often the n-grams of a pool are met in sequences of integers or strings, with or
// without skips.
#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include "lib/backend/reference/datum_operator.h"
#include "lib/backend/reference/operator.h"
#include "lib/backend/reference/types.h"

namespace pt::reference {
namespace {

// The pool as a tree: from the root each edge is an item, and where an n-gram ends its number stands.
struct Tree {
  struct Place {
    std::map<int64_t, size_t> next;  // by item: index of a place
    int64_t gram = -1;               // number of the n-gram that ends here; -1 = none
  };
  std::vector<Place> places = {{}};

  // False when the n-gram is in the tree already.
  bool Add(std::span<const int64_t> items, int64_t gram) {
    size_t at = 0;
    for (const int64_t item : items) {
      const auto [edge, is_new] = places[at].next.emplace(item, places.size());
      at = edge->second;
      if (is_new) places.emplace_back();
    }
    if (places[at].gram >= 0) return false;
    places[at].gram = gram;
    return true;
  }
};

enum class Weighting : uint8_t { kTf, kIdf, kTfIdf };

struct Vectorizer {
  Tree tree;  // of the n-grams that count
  int64_t least = 1, most = 1, skips = 0;
  Weighting weighting = Weighting::kTf;
  std::vector<int64_t> columns;  // of the output, by n-gram
  std::vector<float> weights;    // by n-gram; empty: all 1
  int64_t width = 0;             // columns of the output

  // Every start and step looks at no item beyond the sequence: longer skips meet nothing.
  void LimitSkips(int64_t length) { skips = std::min(skips, std::max<int64_t>(0, length - 1)); }

  void Count(int64_t gram, float* row) const {
    const auto g = static_cast<size_t>(gram);
    const float weight = weighting == Weighting::kTf || weights.empty() ? 1 : weights[g];
    float& count = row[columns[g]];
    count = weighting == Weighting::kIdf ? weight : count + weight;
  }

  // Adds to `row` what is met in items[0], items[1], …, of that many.
  template <typename T>
  void Read(const T* items, int64_t length, float* row) const {
    for (int64_t step = 1; step <= skips + 1; ++step) {
      // Single items are met once, whatever is skipped behind them.
      const int64_t shortest = step == 1 ? least : std::max<int64_t>(2, least);
      for (int64_t start = 0; start < length && shortest <= most; ++start) {
        size_t at = 0;
        int64_t size = 1;
        for (int64_t i = start; i < length && size <= most; i += step, ++size) {
          const auto edge = tree.places[at].next.find(static_cast<int64_t>(items[i]));
          if (edge == tree.places[at].next.end()) break;
          at = edge->second;
          if (size >= shortest && tree.places[at].gram >= 0) Count(tree.places[at].gram, row);
        }
      }
    }
  }
};

// ReferenceSite is what stands for the node: a ReferenceSite, or a DatumCall.
template <typename ReferenceSite>
Status FillTree(const ReferenceSite& site, std::span<const int64_t> pool, Vectorizer& v) {
  const std::vector<int64_t> starts = site.node.ints_or("ngram_counts", {});
  const auto items = static_cast<int64_t>(pool.size());
  int64_t gram = 0;
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t size = static_cast<int64_t>(i) + 1, end = i + 1 < starts.size() ? starts[i + 1] : items;
    if (starts[i] < 0 || end < starts[i] || end > items || (end - starts[i]) % size != 0)
      return site.Invalid("ngram_counts do not cut the pool into n-grams");
    for (int64_t at = starts[i]; at < end; at += size, ++gram) {
      if (size < v.least || size > v.most) continue;
      if (!v.tree.Add(pool.subspan(static_cast<size_t>(at), static_cast<size_t>(size)), gram))
        return site.Invalid("n-gram " + std::to_string(gram) + " is in the pool twice");
    }
  }
  if (static_cast<size_t>(gram) == v.columns.size()) return {};
  return site.Invalid("ngram_indexes has " + std::to_string(v.columns.size()) + " entries, the pool " +
                      std::to_string(gram) + " n-grams");
}

template <typename ReferenceSite>
Result<Vectorizer> ReadVectorizer(const ReferenceSite& site, std::span<const int64_t> pool) {
  const Node& node = site.node;
  Vectorizer v;
  v.least = node.int_or("min_gram_length", 0);
  v.most = node.int_or("max_gram_length", 0);
  v.skips = node.int_or("max_skip_count", 0);
  if (v.least < 1 || v.most < v.least || v.skips < 0)
    return site.Invalid("min_gram_length, max_gram_length or max_skip_count is out of range");
  const std::string mode = node.string_or("mode", "");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF")
    return site.Invalid("unknown mode \"" + mode + "\"; expected one of TF, IDF, TFIDF");
  v.weighting = mode == "TF" ? Weighting::kTf : mode == "IDF" ? Weighting::kIdf : Weighting::kTfIdf;
  v.columns = node.ints_or("ngram_indexes", {});
  if (v.columns.empty() || *std::min_element(v.columns.begin(), v.columns.end()) < 0)
    return site.Invalid("ngram_indexes is empty or negative");
  const int64_t last = *std::max_element(v.columns.begin(), v.columns.end());
  if (last == INT64_MAX) return site.Invalid("ngram_indexes does not fit 63 bits");
  v.width = last + 1;
  if (const Attribute* weights = node.find("weights")) {
    const auto* list = std::get_if<std::vector<float>>(weights);
    if (list == nullptr || list->size() != v.columns.size()) return site.Invalid("weights is not one number an n-gram");
    v.weights = *list;
  }
  PT_CHECK_OK(FillTree(site, pool, v));
  return v;
}

Result<ReferenceRoutine> TfIdfVectorizer(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  const std::vector<int64_t>& in = site.in[0].dims;
  if (in.empty() || in.size() > 2) return site.Invalid("its input does not have one or two dims");
  PT_ASSIGN(Vectorizer vectorizer, ReadVectorizer(site, site.node.ints_or("pool_int64s", {})));
  const int64_t rows = in.size() == 2 ? in[0] : 1, length = in.back();
  vectorizer.LimitSkips(length);
  std::vector<int64_t> out = {vectorizer.width};
  if (in.size() == 2) out.insert(out.begin(), rows);
  PT_CHECK_OK(site.Out(0, DataType::kFloat32, out));
  const auto make = [&]<typename T>() -> Result<ReferenceRoutine> {
    return ReferenceRoutine{[=, vectorizer = std::move(vectorizer)](const TensorCall& run) -> Status {
      std::fill_n(run.out<float>(), rows * vectorizer.width, 0.0F);
      for (int64_t r = 0; r < rows; ++r) {
        vectorizer.Read(run.in<T>(0) + r * length, length, run.out<float>() + r * vectorizer.width);
      }
      return {};
    }};
  };
  if (site.in[0].type == DataType::kInt32) return make.template operator()<int32_t>();
  if (site.in[0].type == DataType::kInt64) return make.template operator()<int64_t>();
  return UnsupportedType(site, site.in[0].type);
}

// Strings by the number of their first place in the pool; what is in no n-gram has none.
Status VectorizeStrings(DatumCall& call) {
  PT_ASSIGN(const std::span<const std::string> texts, call.StringsAt(0));
  const std::vector<int64_t>& in = call.in[0]->tensor().dims();
  if (in.empty() || in.size() > 2) return call.Invalid("its input does not have one or two dims");
  std::unordered_map<std::string_view, int64_t> numbers;
  std::vector<int64_t> pool, items;
  const Attribute* const found = call.node.find("pool_strings");
  const auto* const words = found == nullptr ? nullptr : std::get_if<std::vector<std::string>>(found);
  if (words == nullptr) return call.Invalid("its input is strings, and it has no pool_strings");
  for (const std::string& word : *words) {
    pool.push_back(numbers.emplace(word, static_cast<int64_t>(pool.size())).first->second);
  }
  PT_ASSIGN(const Receipt counted, CountBytes(call.memory, texts.size() * sizeof(int64_t)));
  for (const std::string& text : texts) {
    const auto at = numbers.find(text);
    items.push_back(at == numbers.end() ? -1 : at->second);
  }
  PT_ASSIGN(Vectorizer vectorizer, ReadVectorizer(call, pool));
  const int64_t rows = in.size() == 2 ? in[0] : 1, length = in.back();
  vectorizer.LimitSkips(length);
  std::vector<int64_t> out = {vectorizer.width};
  if (in.size() == 2) out.insert(out.begin(), rows);
  PT_ASSIGN(const uint64_t bytes, TensorByteCount(DataType::kFloat32, out));
  PT_ASSIGN(const Receipt receipt, CountBytes(call.memory, bytes));
  std::vector<float> counts(bytes / sizeof(float));
  for (int64_t r = 0; r < rows; ++r) {
    vectorizer.Read(items.data() + r * length, length, counts.data() + r * vectorizer.width);
  }
  call.out[0] = Datum(Tensor::Float32(out, counts));
  return {};
}

constexpr std::array kStringRows = {DatumOperator{"TfIdfVectorizer", VectorizeStrings}};
constexpr std::array kTfIdfOperators = {ReferenceRow{.op = "TfIdfVectorizer", .make = TfIdfVectorizer, .since = 9}};

}  // namespace

std::span<const ReferenceRow> TfIdfOperators() { return kTfIdfOperators; }
std::span<const DatumOperator> TfIdfStringOperators() { return kStringRows; }

}  // namespace pt::reference
