// Operators of ai.onnx.ml that look values up in a table: LabelEncoder, CategoryMapper.
#include "partitiontuner/graph/operators/labels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "lib/backend/reference/datum_operator.h"
#include "partitiontuner/graph/operators/or_refuse.h"
#include "partitiontuner/graph/visit_type.h"

namespace pt::reference {
namespace {

// Elements as bytes that are equal where the elements are: all NaN are one, and so are both zeros.
std::string KeyOf(const Tensor& tensor, size_t i) {
  if (tensor.type() == DataType::kString) return tensor.strings()[i];
  return VisitType(tensor.type(), [&]<typename T>() -> std::string {
    if constexpr (kIsNumber<T> && !std::is_same_v<T, bool>) {
      T element = tensor.values<T>()[i];
      if constexpr (kIsFloat<T>) {
        const auto number = NumberOf<double>(element);
        if (std::isnan(number)) return "NaN";
        if (number == 0) element = T{};
      }
      return {reinterpret_cast<const char*>(&element), sizeof element};
    }
    return {};
  });
}

// What stands for values without a key, one element of the values' type.
Result<Tensor> DefaultOf(const DatumCall& call, DataType type) {
  PT_ASSIGN(std::optional<Tensor> given, OrInvalid(ReadDefaultLabel(call.node, type), call));
  if (given) return *std::move(given);
  return VisitType(type, [&]<typename T>() -> Result<Tensor> {
    if constexpr (kIsNumber<T> && !std::is_same_v<T, bool>) {
      const T value = ElementOf<T>(kIsFloat<T> ? -0.0 : -1.0);
      return Tensor::Of<T>(type, {}, std::span(&value, 1));
    }
    return call.Unsupported("is not supported for " + std::string(DataTypeName(type)));
  });
}

// What an operator's attributes say, of the kind that its input asks for.
struct Lists {
  Tensor keys, values, otherwise;
};

struct Table {
  DataType from;
  std::unordered_map<std::string, size_t> places;  // by key: of a value
  Tensor values, otherwise;
};

Result<std::shared_ptr<const Table>> TableOf(const DatumCall& call, DataType from, Lists lists) {
  if (from != lists.keys.type()) {
    return call.Invalid("its input is " + std::string(DataTypeName(from)) + ", its keys are " +
                        std::string(DataTypeName(lists.keys.type())));
  }
  if (lists.keys.element_count() != lists.values.element_count()) {
    return call.Invalid("has " + std::to_string(lists.keys.element_count()) + " keys and " +
                        std::to_string(lists.values.element_count()) + " values");
  }
  Table table{from, {}, std::move(lists.values), std::move(lists.otherwise)};
  // Of equal keys the last counts from version 4 of LabelEncoder on, as its text says.
  constexpr int64_t kLastCounts = 4;
  for (size_t i = 0; i < static_cast<size_t>(lists.keys.element_count()); ++i) {
    const auto [at, is_new] = table.places.emplace(KeyOf(lists.keys, i), i);
    if (!is_new && call.opset >= kLastCounts) at->second = i;
  }
  return std::make_shared<const Table>(std::move(table));
}

// Each element of the input becomes the value of its key.
Status LookUp(DatumCall& call, const Tensor& in, const Table& table) {
  const auto count = static_cast<size_t>(in.element_count());
  const auto for_each = [&](const auto& use) {  // use(tensor, index) with the value of each element
    for (size_t i = 0; i < count; ++i) {
      const auto place = table.places.find(KeyOf(in, i));
      place == table.places.end() ? use(table.otherwise, size_t{0}) : use(table.values, place->second);
    }
  };
  if (table.values.type() == DataType::kString) {
    uint64_t bytes = 0;
    for_each([&](const Tensor& from, size_t i) { bytes += from.strings()[i].size(); });
    PT_ASSIGN(Receipt receipt, CountStrings(call.memory, in.element_count(), bytes));
    std::vector<std::string> found;
    for_each([&](const Tensor& from, size_t i) { found.push_back(from.strings()[i]); });
    return call.SetStrings(0, in.dims(), std::move(found), std::move(receipt));
  }
  const auto size = static_cast<size_t>(BytesOf(table.values.type()));
  std::string found;
  for_each([&](const Tensor& from, size_t i) {
    found.append(reinterpret_cast<const char*>(from.bytes().data()) + i * size, size);
  });
  PT_ASSIGN(Tensor numbers, Tensor::FromBytes(table.values.type(), in.dims(), std::move(found)));
  call.out[0] = Datum(std::move(numbers));
  return {};
}

// By a table that is made in the node's first run.
Status ByTable(DatumCall& call, Result<Lists> (*lists_of)(const DatumCall&, bool from_strings)) {
  PT_ASSIGN(const Tensor* const in, call.TensorAt(0));
  auto table = std::static_pointer_cast<const Table>(call.kept);
  if (table == nullptr || table->from != in->type()) {
    PT_ASSIGN(Lists lists, lists_of(call, in->type() == DataType::kString));
    PT_ASSIGN(table, TableOf(call, in->type(), std::move(lists)));
    call.kept = table;
  }
  return LookUp(call, *in, *table);
}

bool IsKeyType(DataType type) {
  return type == DataType::kString ||
         VisitType(type, []<typename T>() { return kIsNumber<T> && !std::is_same_v<T, bool>; });
}

Result<Lists> Between(const DatumCall& call, bool from_strings, const Tensor& strings, const Tensor& ints) {
  const Tensor &keys = from_strings ? strings : ints, &values = from_strings ? ints : strings;
  PT_ASSIGN(Tensor otherwise, DefaultOf(call, values.type()));
  return Lists{keys, values, std::move(otherwise)};
}

// The first definition has one list, of which strings become places and places strings.
Result<Lists> FirstLabels(const DatumCall& call, bool from_strings) {
  PT_ASSIGN(const Tensor classes, OrInvalid(ReadFirstLabels(call.node), call));
  std::vector<int64_t> places(static_cast<size_t>(classes.element_count()));
  std::iota(places.begin(), places.end(), 0);
  return Between(call, from_strings, classes, Tensor::Int64(classes.dims(), places));
}

Result<Lists> Labels(const DatumCall& call, bool from_strings) {
  if (call.opset < 2) return FirstLabels(call, from_strings);
  PT_ASSIGN(LabelLists lists, OrInvalid(ReadLabels(call.node), call));
  Tensor &keys = lists.keys, &values = lists.values;
  if (!IsKeyType(keys.type()) || !IsKeyType(values.type())) {
    return call.Unsupported("is not supported from " + std::string(DataTypeName(keys.type())) + " to " +
                            std::string(DataTypeName(values.type())));
  }
  PT_ASSIGN(Tensor otherwise, DefaultOf(call, values.type()));
  return Lists{std::move(keys), std::move(values), std::move(otherwise)};
}
Status LabelEncoder(DatumCall& call) { return ByTable(call, Labels); }

// Between the two lists, in the direction that the input asks for.
Result<Lists> Categories(const DatumCall& call, bool from_strings) {
  PT_ASSIGN(const LabelLists lists, OrInvalid(ReadCategoryMap(call.node), call));
  return Between(call, from_strings, lists.values, lists.keys);
}
Status CategoryMapper(DatumCall& call) { return ByTable(call, Categories); }

constexpr std::array kLabelOperators = {
    DatumOperator{"CategoryMapper", CategoryMapper, "ai.onnx.ml"},
    DatumOperator{"LabelEncoder", LabelEncoder, "ai.onnx.ml"},
};

}  // namespace

std::span<const DatumOperator> LabelOperators() { return kLabelOperators; }

}  // namespace pt::reference
