// Operators that move strings, or ask where they are, by the rows for numbers: each string is given a number, these are
// moved, and the strings follow them.
#include <algorithm>
#include <array>
#include <unordered_map>

#include "lib/backend/reference/datum_operator.h"
#include "lib/backend/reference/kernel.h"
#include "partitiontuner/graph/operators/movements.h"

namespace pt::reference {
namespace {

constexpr uint32_t kAll = ~0U;

// The inputs that are moved, bit by bit; all others are numbers.
struct Move {
  std::string_view op;
  uint32_t moved;
  std::string_view domain = "";
};
constexpr std::array kMoves = {
    Move{"ArrayFeatureExtractor", 1, "ai.onnx.ml"},
    Move{"CenterCropPad", 1},
    Move{"Compress", 1},
    Move{"Concat", kAll},
    Move{"DepthToSpace", 1},
    Move{"Expand", 1},
    Move{"Flatten", 1},
    Move{"Gather", 1},
    Move{"GatherElements", 1},
    Move{"GatherND", 1},
    Move{"OneHot", 0b100},
    Move{"Pad", 0b101},
    Move{"Reshape", 1},
    Move{"ReverseSequence", 1},
    Move{"Scatter", 0b101},
    Move{"Slice", 1},
    Move{"ScatterElements", 0b101},
    Move{"ScatterND", 0b101},
    Move{"SpaceToDepth", 1},
    Move{"Split", 1},
    Move{"Squeeze", 1},
    Move{"TensorScatter", 0b11},
    Move{"Tile", 1},
    Move{"Transpose", 1},
    Move{"Trilu", 1},
    Move{"Unsqueeze", 1},
    Move{"Where", 0b110},
};

Status CheckKind(const DatumCall& call, size_t i, bool strings) {
  if (strings) return call.StringsAt(i).ok() ? Status() : Status(call.StringsAt(i).error());
  PT_ASSIGN(const Tensor* const tensor, call.TensorAt(i));
  if (tensor->type() != DataType::kString) return {};
  return call.Invalid("input " + std::to_string(i) + " is a tensor of strings");
}

// The node's results on numbers in the place of strings, and memory that counts for them until they are done with.
struct Numbered {
  std::vector<Tensor> results;
  Receipt receipt;
};

// number(i, e): that of element e of input i, which is one of the moved ones.
template <typename F>
Result<Numbered> RunOnNumbers(DatumCall& call, uint32_t moved, const F& number) {
  Given given;
  given.inputs.resize(call.node.inputs.size());
  uint64_t numbers = 0;
  for (size_t i = 0; i < call.in.size(); ++i) {
    if (!call.has(i)) continue;
    const bool strings = (moved >> std::min<size_t>(i, 31) & 1) != 0;
    PT_CHECK_OK(CheckKind(call, i, strings));
    if (!strings) {
      given.inputs[i].content = call.in[i]->tensor();
      continue;
    }
    const Tensor& tensor = call.in[i]->tensor();
    std::vector<int64_t> list(tensor.strings().size());
    for (size_t e = 0; e < list.size(); ++e) list[e] = number(i, e);
    given.inputs[i].content = Tensor::Int64(tensor.dims(), list);
    numbers += list.size();
  }
  PT_ASSIGN(const PreparedNode prepared, Prepare(call.graph, call.id, nullptr, &given));
  for (const TensorFacts& out : prepared.out) {
    if (out.present()) numbers += static_cast<uint64_t>(out.count());
  }
  Numbered numbered;
  PT_ASSIGN(numbered.receipt, CountBytes(call.memory, numbers * sizeof(int64_t)));
  PT_ASSIGN(numbered.results, Evaluate(prepared, nullptr));
  return numbered;
}

Status CheckCombines(const DatumCall& call) {
  const Result<ScatterReduction> reduction = ReadScatterReduction(call.node);
  if (reduction.ok() && *reduction == ScatterReduction::kNone) return {};
  return call.Unsupported("is not supported for strings with a reduction");
}

// Output o, of the strings that its numbers stand for.
Status SetByNumbers(DatumCall& call, size_t o, const Tensor& numbers, std::span<const std::string* const> strings) {
  uint64_t bytes = 0;
  for (const int64_t n : numbers.values<int64_t>()) bytes += strings[static_cast<size_t>(n)]->size();
  PT_ASSIGN(Receipt receipt, CountStrings(call.memory, numbers.element_count(), bytes));
  std::vector<std::string> texts;
  texts.reserve(static_cast<size_t>(numbers.element_count()));
  for (const int64_t n : numbers.values<int64_t>()) texts.push_back(*strings[static_cast<size_t>(n)]);
  return call.SetStrings(o, numbers.dims(), std::move(texts), std::move(receipt));
}

// Numbers count from 1 over all inputs; what an operator fills with is 0, the empty string.
Status MoveStrings(DatumCall& call) {
  const auto* move = std::find_if(kMoves.begin(), kMoves.end(), [&](const Move& m) { return m.op == call.node.op; });
  PT_CHECK_OK(CheckCombines(call));
  static const std::string kEmpty;
  std::vector<const std::string*> strings = {&kEmpty};
  std::vector<int64_t> first(call.in.size());
  for (size_t i = 0; i < call.in.size(); ++i) {
    first[i] = static_cast<int64_t>(strings.size());
    if (!call.has(i) || !call.in[i]->is_tensor()) continue;
    for (const std::string& text : call.in[i]->tensor().strings()) strings.push_back(&text);
  }
  PT_ASSIGN(const Numbered moved,
            RunOnNumbers(call, move->moved, [&](size_t i, size_t e) { return first[i] + static_cast<int64_t>(e); }));
  for (size_t o = 0; o < moved.results.size(); ++o) {
    const Tensor& numbers = moved.results[o];
    if (numbers.type() == DataType::kUndefined) continue;
    PT_CHECK_OK(SetByNumbers(call, o, numbers, strings));
  }
  return {};
}

// Equal strings have one number.
Status CompareStrings(DatumCall& call) {
  std::unordered_map<std::string_view, int64_t> numbers;
  PT_ASSIGN(Numbered compared, RunOnNumbers(call, 0b11, [&](size_t i, size_t e) {
              return numbers.emplace(call.in[i]->tensor().strings()[e], numbers.size()).first->second;
            }));
  call.out[0] = Datum(std::move(compared.results[0]));
  return {};
}

// Shape and Size look at no element.
Status AskForDims(DatumCall& call) {
  PT_ASSIGN(Numbered answer, RunOnNumbers(call, 1, [](size_t, size_t) { return 0; }));
  call.out[0] = Datum(std::move(answer.results[0]));
  return {};
}

// A string is not 0 when there is something in it, as in numpy.
Status FindNonEmpty(DatumCall& call) {
  PT_ASSIGN(Numbered found, RunOnNumbers(call, 1, [&](size_t i, size_t e) {
              return call.in[i]->tensor().strings()[e].empty() ? 0 : 1;
            }));
  call.out[0] = Datum(std::move(found.results[0]));
  return {};
}

// By the order of their bytes, which is that of their characters in UTF-8: equal strings have one number.
Status FindDistinctStrings(DatumCall& call) {
  PT_ASSIGN(const std::span<const std::string> texts, call.StringsAt(0));
  std::vector<const std::string*> sorted;
  for (const std::string& text : texts) sorted.push_back(&text);
  const auto less = [](const std::string* a, const std::string* b) { return *a < *b; };
  std::sort(sorted.begin(), sorted.end(), less);
  sorted.erase(
      std::unique(sorted.begin(), sorted.end(), [](const std::string* a, const std::string* b) { return *a == *b; }),
      sorted.end());
  PT_ASSIGN(Numbered found, RunOnNumbers(call, 1, [&](size_t, size_t e) {
              return std::lower_bound(sorted.begin(), sorted.end(), &texts[e], less) - sorted.begin();
            }));
  for (size_t o = 0; o < found.results.size(); ++o) {
    Tensor& result = found.results[o];
    if (result.type() == DataType::kUndefined) continue;
    if (o == 0) {
      PT_CHECK_OK(SetByNumbers(call, o, result, sorted));
    } else {
      call.out[o] = Datum(std::move(result));
    }
  }
  return {};
}

constexpr size_t kOthers = 5;
constexpr std::array<DatumOperator, kMoves.size() + kOthers> MakeRows() {
  std::array<DatumOperator, kMoves.size() + kOthers> rows = {
      DatumOperator{"Equal", CompareStrings}, DatumOperator{"NonZero", FindNonEmpty},
      DatumOperator{"Shape", AskForDims}, DatumOperator{"Size", AskForDims},
      DatumOperator{"Unique", FindDistinctStrings}};
  for (size_t i = 0; i < kMoves.size(); ++i) rows[kOthers + i] = {kMoves[i].op, MoveStrings, kMoves[i].domain};
  return rows;
}
constexpr auto kStringMoveOperators = MakeRows();

}  // namespace

std::span<const DatumOperator> StringMoveOperators() { return kStringMoveOperators; }

}  // namespace pt::reference
