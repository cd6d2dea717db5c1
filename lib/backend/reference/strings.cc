// Operators on the text of strings: RegexFullMatch, StringConcat, StringNormalizer, StringSplit.
#include <algorithm>
#include <array>
#include <limits>
#include <unordered_set>

#include "lib/backend/reference/datum_operator.h"
#include "lib/backend/reference/regex.h"
#include "lib/backend/reference/unicode.h"
#include "partitiontuner/graph/operators/or_refuse.h"
#include "partitiontuner/graph/operators/texts.h"
#include "partitiontuner/support/checked.h"
#include "partitiontuner/support/dims_text.h"

namespace pt::reference {
namespace {

using Dims = std::vector<int64_t>;

// By numpy's rule.
Result<Dims> BroadcastTogether(const DatumCall& call, const Dims& a, const Dims& b) {
  Dims dims(std::max(a.size(), b.size()), 1);
  for (size_t back = 1; back <= dims.size(); ++back) {
    const int64_t x = back <= a.size() ? a[a.size() - back] : 1, y = back <= b.size() ? b[b.size() - back] : 1;
    if (x != y && x != 1 && y != 1) {
      return call.Invalid("dims " + DimsText(a) + " and " + DimsText(b) + " do not fit together");
    }
    dims[dims.size() - back] = x == 1 ? y : x;
  }
  if (!CheckedProduct(dims)) return call.Invalid("the size of its output does not fit 63 bits");
  return dims;
}

// Where in a tensor of `from` an element of the broadcast one lies.
class BroadcastFrom {
 public:
  BroadcastFrom(const Dims& from, const Dims& dims) : dims_(dims), strides_(dims.size(), 0) {
    int64_t stride = 1;
    for (size_t back = 1; back <= from.size(); ++back) {
      const int64_t extent = from[from.size() - back];
      if (extent != 1) strides_[dims.size() - back] = stride;
      stride *= extent;
    }
  }
  size_t At(int64_t element) const {
    int64_t at = 0;
    for (size_t d = dims_.size(); d-- > 0; element /= dims_[d]) at += element % dims_[d] * strides_[d];
    return static_cast<size_t>(at);
  }

 private:
  const Dims& dims_;
  Dims strides_;
};

Status StringConcat(DatumCall& call) {
  PT_ASSIGN(const std::span<const std::string> a, call.StringsAt(0));
  PT_ASSIGN(const std::span<const std::string> b, call.StringsAt(1));
  const Dims &a_dims = call.in[0]->tensor().dims(), &b_dims = call.in[1]->tensor().dims();
  PT_ASSIGN(const Dims dims, BroadcastTogether(call, a_dims, b_dims));
  const int64_t count = *CheckedProduct(dims);
  const BroadcastFrom from_a(a_dims, dims), from_b(b_dims, dims);
  PT_ASSIGN(const Receipt heads, CountStrings(call.memory, count, 0));  // before a loop that long
  uint64_t bytes = 0;
  for (int64_t i = 0; i < count; ++i) bytes += a[from_a.At(i)].size() + b[from_b.At(i)].size();
  PT_ASSIGN(Receipt receipt, CountBytes(call.memory, bytes));
  std::vector<std::string> joined;
  joined.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) joined.push_back(a[from_a.At(i)] + b[from_b.At(i)]);
  return call.SetStrings(0, dims, std::move(joined),
                         std::make_shared<std::array<Receipt, 2>>(std::array{heads, receipt}));
}

using Parts = std::vector<std::string_view>;

Parts SplitAt(std::string_view text, std::string_view delimiter, size_t most) {
  Parts parts;
  size_t begin = 0;
  while (parts.size() < most) {
    const size_t end = text.find(delimiter, begin);
    if (end == std::string_view::npos) break;
    parts.push_back(text.substr(begin, end - begin));
    begin = end + delimiter.size();
  }
  parts.push_back(text.substr(begin));
  return parts;
}

// At runs of white space, which belong to no part; what is left after the last split keeps the space at its end.
// Bytes that are not UTF-8 are not space.
Parts SplitAtWhiteSpace(std::string_view text, size_t most) {
  Parts parts;
  std::optional<size_t> begin;
  for (size_t at = 0; at < text.size();) {
    const size_t here = at;
    const std::optional<char32_t> c = NextCharacter(text, at);
    if (!c) ++at;
    const bool space = c && IsWhiteSpace(*c);
    if (!space && !begin) {
      if (parts.size() == most) {
        parts.push_back(text.substr(here));
        return parts;
      }
      begin = here;
    } else if (space && begin) {
      parts.push_back(text.substr(*begin, here - *begin));
      begin.reset();
    }
  }
  if (begin) parts.push_back(text.substr(*begin));
  return parts;
}

Status StringSplit(DatumCall& call) {
  PT_ASSIGN(const std::span<const std::string> texts, call.StringsAt(0));
  const StringSplitNode node = ReadStringSplit(call.node);
  const size_t most = node.most_splits < 0 ? std::numeric_limits<size_t>::max() : static_cast<size_t>(node.most_splits);
  const auto split = [&](const std::string& text) {
    return node.delimiter.empty() ? SplitAtWhiteSpace(text, most) : SplitAt(text, node.delimiter, most);
  };
  std::vector<int64_t> counts;
  int64_t longest = 0;
  uint64_t bytes = 0;
  for (const std::string& text : texts) {
    counts.push_back(static_cast<int64_t>(split(text).size()));
    longest = std::max(longest, counts.back());
    bytes += text.size();
  }
  Dims dims = call.in[0]->tensor().dims();
  dims.push_back(longest);
  const std::optional<int64_t> count = CheckedProduct(dims);
  if (!count) return call.Invalid("the size of its output does not fit 63 bits");
  PT_ASSIGN(Receipt receipt, CountStrings(call.memory, *count, bytes));
  std::vector<std::string> all(static_cast<size_t>(*count));
  for (size_t i = 0; i < texts.size(); ++i) {
    const Parts parts = split(texts[i]);
    std::copy(parts.begin(), parts.end(), all.begin() + static_cast<int64_t>(i) * longest);
  }
  PT_CHECK_OK(call.SetStrings(0, std::move(dims), std::move(all), std::move(receipt)));
  if (call.out.size() > 1) call.out[1] = Datum(Tensor::Int64(call.in[0]->tensor().dims(), counts));
  return {};
}

// Of other languages a letter may have another partner than in English, as i has in Turkish.
Status CheckLanguage(const DatumCall& call, const std::string& locale) {
  const std::string_view language = std::string_view(locale).substr(0, locale.find_first_of("_-.@"));
  if (language.empty() || language == "en" || language == "C" || language == "POSIX") return {};
  return call.Unsupported("is not supported with locale \"" + locale + "\": only that of English, C and POSIX");
}

Result<std::string> Changed(const DatumCall& call, const std::string& text, LetterCase wanted) {
  std::optional<std::string> changed = InCase(text, wanted);
  if (changed) return *std::move(changed);
  return call.Invalid("\"" + text.substr(0, 100) + "\" is not UTF-8, or holds letters that this system does not know");
}

// The texts that are not stop words.
Result<std::vector<const std::string*>> WithoutStopWords(const DatumCall& call, const StringNormalizerNode& node,
                                                         std::span<const std::string> texts) {
  const bool exactly = node.is_case_sensitive;
  std::unordered_set<std::string> stops;
  for (const std::string& word : node.stop_words) {
    if (exactly) {
      stops.insert(word);
      continue;
    }
    PT_ASSIGN(std::string lower, Changed(call, word, LetterCase::kLower));
    stops.insert(std::move(lower));
  }
  std::vector<const std::string*> kept;
  for (const std::string& text : texts) {
    bool stop = false;
    if (exactly || stops.empty()) {
      stop = stops.contains(text);
    } else {
      PT_ASSIGN(const std::string lower, Changed(call, text, LetterCase::kLower));
      stop = stops.contains(lower);
    }
    if (!stop) kept.push_back(&text);
  }
  return kept;
}

Status StringNormalizer(DatumCall& call) {
  PT_ASSIGN(const std::span<const std::string> texts, call.StringsAt(0));
  Dims dims = call.in[0]->tensor().dims();
  if (dims.empty() || dims.size() > 2 || (dims.size() == 2 && dims[0] != 1)) {
    return call.Invalid("dims " + DimsText(dims) + " are neither [n] nor [1,n]");
  }
  PT_ASSIGN(const StringNormalizerNode node, OrInvalid(ReadStringNormalizer(call.node), call));
  PT_CHECK_OK(CheckLanguage(call, node.locale));
  PT_ASSIGN(const std::vector<const std::string*> kept, WithoutStopWords(call, node, texts));
  constexpr uint64_t kMostGrowth = 2;  // of a letter in the other case: at most from two bytes to four, or none
  uint64_t bytes = 0;
  for (const std::string* text : kept) bytes += kMostGrowth * text->size();
  PT_ASSIGN(Receipt receipt, CountStrings(call.memory, std::max<int64_t>(1, std::ssize(kept)), bytes));
  std::vector<std::string> normal;
  for (const std::string* text : kept) {
    normal.push_back(*text);
    if (node.change == CaseChange::kNone) continue;
    const LetterCase wanted = node.change == CaseChange::kLower ? LetterCase::kLower : LetterCase::kUpper;
    PT_ASSIGN(normal.back(), Changed(call, *text, wanted));
  }
  if (normal.empty()) normal.emplace_back();  // where nothing is left, the definition asks for one empty string
  dims.back() = std::ssize(normal);
  return call.SetStrings(0, std::move(dims), std::move(normal), std::move(receipt));
}

Status RegexFullMatch(DatumCall& call) {
  PT_ASSIGN(const std::span<const std::string> texts, call.StringsAt(0));
  const Result<Regex> regex = Regex::Compile(ReadPattern(call.node));
  if (!regex.ok()) {
    const bool unsupported = regex.error().code == ErrorCode::kUnsupported;
    return unsupported ? call.Unsupported("is not supported with " + regex.error().message)
                       : call.Invalid(regex.error().message);
  }
  std::string matches;
  for (const std::string& text : texts) {
    PT_ASSIGN(const bool match, regex->MatchesAll(text, [&] { return call.stop.ShouldStop(); }));
    matches += match ? '\1' : '\0';
  }
  PT_ASSIGN(Tensor truths, Tensor::FromBytes(DataType::kBool, call.in[0]->tensor().dims(), std::move(matches)));
  call.out[0] = Datum(std::move(truths));
  return {};
}

constexpr std::array kStringOperators = {
    DatumOperator{"RegexFullMatch", RegexFullMatch},
    DatumOperator{"StringConcat", StringConcat},
    DatumOperator{"StringNormalizer", StringNormalizer},
    DatumOperator{"StringSplit", StringSplit},
};

}  // namespace

std::span<const DatumOperator> StringOperators() { return kStringOperators; }

}  // namespace pt::reference
