// TfIdfVectorizer: how often the n-grams of a pool are met in sequences of integers or strings, with or
// without skips.
#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include "lib/backend/reference/datum_operator.h"
#include "lib/backend/reference/operator.h"
#include "lib/backend/reference/types.h"
#include "partitiontuner/graph/operators/or_refuse.h"
#include "partitiontuner/graph/operators/texts.h"

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

struct Vectorizer {
  Tree tree;  // of the n-grams that count
  TfIdfNode node;

  // Every start and step looks at no item beyond the sequence: longer skips meet nothing.
  void LimitSkips(int64_t length) { node.skips = std::min(node.skips, std::max<int64_t>(0, length - 1)); }

  void Count(int64_t gram, float* row) const {
    const auto g = static_cast<size_t>(gram);
    const float weight = node.weighting == NgramWeighting::kTf || node.weights.empty() ? 1 : node.weights[g];
    float& count = row[node.columns[g]];
    count = node.weighting == NgramWeighting::kIdf ? weight : count + weight;
  }

  // Adds to `row` what is met in items[0], items[1], …, of that many.
  template <typename T>
  void Read(const T* items, int64_t length, float* row) const {
    for (int64_t step = 1; step <= node.skips + 1; ++step) {
      // Single items are met once, whatever is skipped behind them.
      const int64_t shortest = step == 1 ? node.least : std::max<int64_t>(2, node.least);
      for (int64_t start = 0; start < length && shortest <= node.most; ++start) {
        size_t at = 0;
        int64_t size = 1;
        for (int64_t i = start; i < length && size <= node.most; i += step, ++size) {
          const auto edge = tree.places[at].next.find(static_cast<int64_t>(items[i]));
          if (edge == tree.places[at].next.end()) break;
          at = edge->second;
          if (size >= shortest && tree.places[at].gram >= 0) Count(tree.places[at].gram, row);
        }
      }
    }
  }
};

// `call` is what stands for the node: a ReferenceSite, or a DatumCall.
template <typename Call>
Status FillTree(const Call& call, std::span<const int64_t> pool, Vectorizer& v) {
  const std::vector<int64_t>& starts = v.node.starts;
  const auto items = static_cast<int64_t>(pool.size());
  int64_t gram = 0;
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t size = static_cast<int64_t>(i) + 1, end = i + 1 < starts.size() ? starts[i + 1] : items;
    if (starts[i] < 0 || end < starts[i] || end > items || (end - starts[i]) % size != 0)
      return call.Invalid("ngram_counts do not cut the pool into n-grams");
    for (int64_t at = starts[i]; at < end; at += size, ++gram) {
      if (size < v.node.least || size > v.node.most) continue;
      if (!v.tree.Add(pool.subspan(static_cast<size_t>(at), static_cast<size_t>(size)), gram))
        return call.Invalid("n-gram " + std::to_string(gram) + " is in the pool twice");
    }
  }
  if (static_cast<size_t>(gram) == v.node.columns.size()) return {};
  return call.Invalid("ngram_indexes has " + std::to_string(v.node.columns.size()) + " entries, the pool " +
                      std::to_string(gram) + " n-grams");
}

Result<ReferenceRoutine> TfIdfVectorizer(ReferenceSite& site) {
  PT_CHECK_OK(site.NeedInputs(1, 1));
  const std::vector<int64_t>& in = site.in[0].dims;
  if (in.empty() || in.size() > 2) return site.Invalid("its input does not have one or two dims");
  PT_ASSIGN(TfIdfNode node, OrInvalid(ReadTfIdf(site.node), site));
  Vectorizer vectorizer{{}, std::move(node)};
  PT_CHECK_OK(FillTree(site, vectorizer.node.ints, vectorizer));
  const int64_t rows = in.size() == 2 ? in[0] : 1, length = in.back();
  vectorizer.LimitSkips(length);
  std::vector<int64_t> out = {vectorizer.node.width};
  if (in.size() == 2) out.insert(out.begin(), rows);
  PT_CHECK_OK(site.Out(0, DataType::kFloat32, out));
  const auto make = [&]<typename T>() -> Result<ReferenceRoutine> {
    return ReferenceRoutine{[=, vectorizer = std::move(vectorizer)](const TensorCall& run) -> Status {
      std::fill_n(run.out<float>(), rows * vectorizer.node.width, 0.0F);
      for (int64_t r = 0; r < rows; ++r) {
        vectorizer.Read(run.in<T>(0) + r * length, length, run.out<float>() + r * vectorizer.node.width);
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
  PT_ASSIGN(TfIdfNode node, OrInvalid(ReadTfIdf(call.node), call));
  if (node.strings.empty()) return call.Invalid("its input is strings, and it has no pool_strings");
  for (const std::string& word : node.strings) {
    pool.push_back(numbers.emplace(word, static_cast<int64_t>(pool.size())).first->second);
  }
  PT_ASSIGN(const Receipt counted, CountBytes(call.memory, texts.size() * sizeof(int64_t)));
  for (const std::string& text : texts) {
    const auto at = numbers.find(text);
    items.push_back(at == numbers.end() ? -1 : at->second);
  }
  Vectorizer vectorizer{{}, std::move(node)};
  PT_CHECK_OK(FillTree(call, pool, vectorizer));
  const int64_t rows = in.size() == 2 ? in[0] : 1, length = in.back();
  vectorizer.LimitSkips(length);
  std::vector<int64_t> out = {vectorizer.node.width};
  if (in.size() == 2) out.insert(out.begin(), rows);
  PT_ASSIGN(const uint64_t bytes, TensorByteCount(DataType::kFloat32, out));
  PT_ASSIGN(const Receipt receipt, CountBytes(call.memory, bytes));
  std::vector<float> counts(bytes / sizeof(float));
  for (int64_t r = 0; r < rows; ++r) {
    vectorizer.Read(items.data() + r * length, length, counts.data() + r * vectorizer.node.width);
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
