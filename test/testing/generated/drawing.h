// Drawing: a graph on its way, node by node. The reference library runs every node as it is drawn, so that the next
// ones know types, dims and numbers of what they may read; a node whose results are no good to compare (not finite,
// too large) is taken back.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "partitiontuner/graph/graph.h"
#include "partitiontuner/support/random.h"
#include "test/testing/classical_domain.h"

namespace pt::testing {

using Dims = std::vector<int64_t>;
inline constexpr DataType kFloat = DataType::kFloat32;

struct DrawnValue {
  std::string name;
  DataType type = DataType::kUndefined;
  Dims dims;
  Tensor data;
  std::string line;  // that makes it, where that is no node
  bool is_constant = false;
  // Of its numbers; 0 where there are none.
  double least = 0, most = 0, nearest_to_zero = 0;

  bool is_float() const { return type == DataType::kFloat32; }
  int64_t rank() const { return static_cast<int64_t>(dims.size()); }
  bool within(double low, double high) const { return least >= low && most <= high; }
};

// A value to read. Null: it could not be made, and what reads it is not drawn either. It stays where it is.
using DrawnOperand = const DrawnValue*;

inline bool IsEmpty(DrawnOperand x) { return std::ranges::find(x->dims, 0) != x->dims.end(); }

// Of an axis that may be counted from the end.
inline size_t Place(int64_t axis, int64_t rank) { return static_cast<size_t>(axis < 0 ? axis + rank : axis); }

class Attributes {
 public:
  Attributes& Int(std::string_view name, int64_t value);
  Attributes& Ints(std::string_view name, const Dims& values);
  Attributes& Float(std::string_view name, double value);
  Attributes& Floats(std::string_view name, const std::vector<double>& values);
  Attributes& Texts(std::string_view name, const std::vector<std::string>& values);
  Attributes& Text(std::string_view name, std::string_view value);
  const std::string& text() const { return text_; }

 private:
  std::string text_;  // " name=value name=value"
};

class Drawing {
 public:
  explicit Drawing(uint64_t seed);

  // ---- chance ----
  bool Chance(double share) { return random_.Uniform(0, 1) < share; }
  int64_t Between(int64_t low, int64_t high);  // both included
  double Real(double low, double high);        // to three decimals, which keeps the text short
  double Scale(double low, double high) { return random_.Uniform(low, high); }  // whose quotients are seldom halves
  template <typename T>
  T OneOf(const std::vector<T>& choices) {
    return choices[random_.Below(choices.size())];
  }
  std::string OneOf(std::initializer_list<const char*> choices) {
    return OneOf(std::vector<std::string>(choices.begin(), choices.end()));
  }
  int64_t AnyDim();
  int64_t Channels();  // sizes that fill vectors and blocks, and such that do not
  Dims AnyDims(int64_t least_rank, int64_t most_rank);
  // An axis of that rank, counted from either end.
  int64_t Axis(int64_t rank);
  // Dims that `dims` broadcast with: fewer of them, and some of one.
  Dims Narrowed(Dims dims);

  // ---- values ----
  static DrawnOperand LeftOut();
  // A value there is, recent ones rather; null when none is wanted.
  DrawnOperand Find(const std::function<bool(const DrawnValue&)>& wanted);
  DrawnOperand Input(DataType type, const Dims& dims);
  DrawnOperand Constant(DataType type, const Dims& dims, std::string_view fill);  // by graph_text.h
  DrawnOperand Constant(DataType type, const Dims& dims);                         // at random
  DrawnOperand Number(double value);                                              // float32[]
  DrawnOperand List(const Dims& values, DataType type = DataType::kInt64);        // of rank 1
  // With that type and dims: there already, given or constant.
  DrawnOperand Like(DataType type, const Dims& dims);
  // Of float32.
  DrawnOperand Float(int64_t least_rank, int64_t most_rank);
  DrawnOperand Image(int64_t spatial_dims);  // [batch, channels, ...]
  // Numbers of float32 in that range; what there is is brought into it if need be.
  DrawnOperand FloatWithin(double low, double high);

  // ---- nodes ----
  // `op` begins with the domain where that is not ONNX's own. Null when an operand is null or the node was taken back.
  // Some outputs may be left out by a name of "_".
  DrawnOperand Node(std::string_view op, const std::vector<DrawnOperand>& operands, const Attributes& attributes = {});
  // One a name asked for; none when an operand is null or the node was taken back.
  std::vector<DrawnOperand> Node(std::string_view op, const std::vector<DrawnOperand>& operands,
                                 const Attributes& attributes, const std::vector<bool>& wanted);

  // ---- the whole ----
  size_t nodes() const { return nodes_.size(); }
  // What nothing reads is an output, and some of the rest.
  std::string Text();
  // Nodes that the reference library refuses although they are drawn as their definitions say: faults of one of both.
  const std::string& refused() const { return refused_; }

 private:
  struct DrawnNode {
    std::string line;
    std::vector<std::string> reads, makes;
    bool is_classical = false;
  };
  DrawnOperand Add(DrawnValue value);
  std::string NextName(char kind) { return kind + std::to_string(++names_); }

  Random random_;
  uint64_t names_ = 0;
  bool has_empties_ = false;
  std::deque<DrawnValue> values_;
  std::vector<DrawnNode> nodes_;
  std::string refused_;
};

}  // namespace pt::testing
