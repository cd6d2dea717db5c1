#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

#include "test/fuzz/damage.h"
#include "test/fuzz/wire_tree.h"

namespace pt::testing {
namespace {

constexpr int64_t kIntegers[] = {0,
                                 1,
                                 -1,
                                 2,
                                 3,
                                 7,
                                 64,
                                 127,
                                 128,
                                 255,
                                 65536,
                                 INT32_MAX,
                                 INT32_MIN,
                                 INT64_MAX,
                                 INT64_MIN,
                                 int64_t{1} << 32,
                                 int64_t{1} << 62};
constexpr float kReals[] = {0, 1, -1, 0.5f, 1e30f, -1e30f, 1e-40f, __builtin_inff(), __builtin_nanf("")};
constexpr const char* kOperators[] = {"Abs",
                                      "Add",
                                      "And",
                                      "ArgMax",
                                      "Attention",
                                      "AveragePool",
                                      "BatchNormalization",
                                      "BitShift",
                                      "BlackmanWindow",
                                      "Cast",
                                      "CastLike",
                                      "Ceil",
                                      "CenterCropPad",
                                      "Clip",
                                      "Col2Im",
                                      "Compress",
                                      "Concat",
                                      "ConcatFromSequence",
                                      "Constant",
                                      "ConstantOfShape",
                                      "Conv",
                                      "ConvInteger",
                                      "ConvTranspose",
                                      "CumSum",
                                      "DFT",
                                      "DeformConv",
                                      "DepthToSpace",
                                      "DequantizeLinear",
                                      "Div",
                                      "Dropout",
                                      "DynamicQuantizeLinear",
                                      "Einsum",
                                      "Equal",
                                      "Exp",
                                      "Expand",
                                      "EyeLike",
                                      "Flatten",
                                      "GRU",
                                      "Gather",
                                      "GatherElements",
                                      "GatherND",
                                      "Gemm",
                                      "GlobalAveragePool",
                                      "GridSample",
                                      "GroupNormalization",
                                      "Hardmax",
                                      "Identity",
                                      "If",
                                      "InstanceNormalization",
                                      "LRN",
                                      "LSTM",
                                      "LayerNormalization",
                                      "LogSoftmax",
                                      "Loop",
                                      "LpNormalization",
                                      "LpPool",
                                      "MatMul",
                                      "MatMulInteger",
                                      "Max",
                                      "MaxPool",
                                      "MaxRoiPool",
                                      "MaxUnpool",
                                      "MelWeightMatrix",
                                      "Mod",
                                      "Mul",
                                      "NonMaxSuppression",
                                      "NonZero",
                                      "OneHot",
                                      "Optional",
                                      "PRelu",
                                      "Pad",
                                      "Pow",
                                      "QLinearConv",
                                      "QLinearMatMul",
                                      "QuantizeLinear",
                                      "RNN",
                                      "RandomNormal",
                                      "Range",
                                      "ReduceMax",
                                      "ReduceMean",
                                      "ReduceSum",
                                      "Reshape",
                                      "Resize",
                                      "ReverseSequence",
                                      "RoiAlign",
                                      "RotaryEmbedding",
                                      "STFT",
                                      "Scan",
                                      "ScatterElements",
                                      "ScatterND",
                                      "SequenceAt",
                                      "SequenceConstruct",
                                      "SequenceInsert",
                                      "SequenceLength",
                                      "SequenceMap",
                                      "Shape",
                                      "Size",
                                      "Slice",
                                      "Softmax",
                                      "SoftmaxCrossEntropyLoss",
                                      "SpaceToDepth",
                                      "Split",
                                      "SplitToSequence",
                                      "Squeeze",
                                      "StringConcat",
                                      "StringSplit",
                                      "Sum",
                                      "TensorScatter",
                                      "TfIdfVectorizer",
                                      "Tile",
                                      "TopK",
                                      "Transpose",
                                      "Trilu",
                                      "Unique",
                                      "Unsqueeze",
                                      "Upsample",
                                      "Where"};
constexpr const char* kAttributes[] = {"alpha",
                                       "auto_pad",
                                       "axes",
                                       "axis",
                                       "batch_dims",
                                       "beta",
                                       "block_size",
                                       "blocksize",
                                       "body",
                                       "ceil_mode",
                                       "count_include_pad",
                                       "dilations",
                                       "direction",
                                       "dtype",
                                       "epsilon",
                                       "equation",
                                       "exclusive",
                                       "group",
                                       "hidden_size",
                                       "keepdims",
                                       "kernel_shape",
                                       "mode",
                                       "num_groups",
                                       "num_outputs",
                                       "num_scan_inputs",
                                       "output_padding",
                                       "output_shape",
                                       "p",
                                       "pads",
                                       "perm",
                                       "reduction",
                                       "reverse",
                                       "seed",
                                       "select_last_index",
                                       "size",
                                       "storage_order",
                                       "strides",
                                       "to",
                                       "transA",
                                       "transB",
                                       "value",
                                       "value_ints"};

struct Place {
  std::vector<WireField>* in = nullptr;
  size_t index = 0;
  WireKind parent = WireKind::kModel;

  WireField& field() const { return (*in)[index]; }
};

void Collect(std::vector<WireField>& fields, WireKind parent, std::vector<Place>& places) {
  for (size_t i = 0; i < fields.size(); ++i) {
    places.push_back({&fields, i, parent});
    Collect(fields[i].fields, fields[i].kind, places);
  }
}

class ModelDamage {
 public:
  ModelDamage(std::vector<WireField>& model, Random& random) : random_(random) {
    Collect(model, WireKind::kModel, places_);
    for (size_t i = 0; i < places_.size(); ++i) {
      by_kind_[{places_[i].parent, places_[i].field().number}].push_back(i);
    }
  }

  void Run() {
    // First a kind of field, so that many numbers do not keep their chance from the few names.
    auto kind = by_kind_.begin();
    std::advance(kind, random_.Below(by_kind_.size()));
    const Place place = places_[kind->second[random_.Below(kind->second.size())]];
    switch (random_.Below(8)) {
      case 0:
        place.in->erase(place.in->begin() + static_cast<ptrdiff_t>(place.index));
        break;
      case 1: {
        const WireField copy = place.field();
        place.in->insert(place.in->begin() + static_cast<ptrdiff_t>(random_.Below(place.in->size() + 1)), copy);
        break;
      }
      case 2: {  // from elsewhere
        const WireField copy = Another(place);
        place.field() = copy;
        break;
      }
      case 3:
        std::swap(place.field(), (*place.in)[random_.Below(place.in->size())]);
        break;
      case 4:
        if (place.parent == WireKind::kNode || place.field().kind == WireKind::kNode) return AddAttribute(place);
        [[fallthrough]];
      default:
        Change(place);
    }
  }

 private:
  const WireField& Another(const Place& place) {
    const std::vector<size_t>& alike = by_kind_[{place.parent, place.field().number}];
    return places_[alike[random_.Below(alike.size())]].field();
  }

  int64_t Integer() {
    const uint64_t how = random_.Below(3);
    return how == 0 ? kIntegers[random_.Below(std::size(kIntegers))] : static_cast<int64_t>(random_.Below(9)) - 2;
  }

  void Change(const Place& place) {
    WireField& field = place.field();
    if (field.wire == 0) {
      field.varint = random_.Below(2) == 0 ? field.varint + random_.Below(5) - 2 : static_cast<uint64_t>(Integer());
    } else if (field.wire == 5) {
      const float real = kReals[random_.Below(std::size(kReals))];
      std::memcpy(field.bytes.data(), &real, sizeof(real));
    } else if (field.kind != WireKind::kLeaf) {
      field.fields.clear();
    } else {
      ChangeBytes(place.parent, field);
    }
  }

  void ChangeBytes(WireKind parent, WireField& field) {
    const bool is_operator = parent == WireKind::kNode && field.number == 4;
    const bool is_attribute = parent == WireKind::kAttribute && field.number == 1;
    if (is_operator) field.bytes = kOperators[random_.Below(std::size(kOperators))];
    if (is_attribute) field.bytes = kAttributes[random_.Below(std::size(kAttributes))];
    if (is_operator || is_attribute) return;
    const bool is_name = parent == WireKind::kNode || parent == WireKind::kFunction || parent == WireKind::kValueInfo;
    if (is_name || random_.Below(3) == 0) {  // the name of any other value
      const Place& other = places_[random_.Below(places_.size())];
      if (other.field().kind == WireKind::kLeaf && other.field().wire == 2) {
        const std::string bytes = other.field().bytes;
        field.bytes = bytes;
        return;
      }
    }
    if (parent == WireKind::kTensor && field.bytes.size() >= 8 && random_.Below(2) == 0) {  // an element
      const int64_t integer = Integer();
      const float real = kReals[random_.Below(std::size(kReals))];
      const size_t at = random_.Below(field.bytes.size() / 8) * 8;
      if (random_.Below(2) == 0)
        std::memcpy(field.bytes.data() + at, &integer, 8);
      else
        std::memcpy(field.bytes.data() + at, &real, 4);
      return;
    }
    field.bytes = DamageBytes(std::move(field.bytes), random_);
  }

  void AddAttribute(const Place& place) {
    WireField attribute;
    attribute.number = 5;
    attribute.wire = 2;
    attribute.kind = WireKind::kAttribute;
    WireField name;
    name.number = 1;
    name.wire = 2;
    name.bytes = kAttributes[random_.Below(std::size(kAttributes))];
    WireField type, value;
    type.number = 20;
    const bool many = random_.Below(2) == 0;
    type.varint = many ? 7 : 2;
    value.number = many ? 8 : 3;
    attribute.fields = {name, type};
    const uint64_t count = many ? 1 + random_.Below(4) : 1;
    for (uint64_t i = 0; i < count; ++i) {
      value.varint = static_cast<uint64_t>(Integer());
      attribute.fields.push_back(value);
    }
    (place.parent == WireKind::kNode ? *place.in : place.field().fields).push_back(attribute);
  }

  Random& random_;
  std::vector<Place> places_;
  std::map<std::pair<WireKind, uint32_t>, std::vector<size_t>> by_kind_;
};

}  // namespace

std::string DamageModel(const std::string& bytes, Random& random) {
  std::optional<std::vector<WireField>> model = ReadWire(bytes);
  if (!model || model->empty()) return "";
  for (uint64_t left = 1 + random.Below(3); left > 0 && !model->empty(); --left) ModelDamage(*model, random).Run();
  return WriteWire(*model);
}

}  // namespace pt::testing
