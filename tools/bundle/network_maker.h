// What networks are put together from: layers with weights of a size that keeps activations in range.
#pragma once

#include <string>
#include <vector>

#include "partitiontuner/graph/graph_builder.h"

namespace pt {

class NetworkMaker {
 public:
  explicit NetworkMaker(std::string name);

  // Every value is followed by its dims, since layers need them.
  struct Value {
    ValueId id;
    std::vector<int64_t> dims;
    int64_t channels() const { return dims[1]; }
  };

  Value Input(const std::string& name, std::vector<int64_t> dims);

  struct Window {
    int64_t height = 1, width = 1, stride = 1, group = 1;
    bool padded = true;  // such that a stride of 1 keeps the size
  };
  Value Conv(const Value& x, int64_t channels, const Window& window);
  Value ConvRelu(const Value& x, int64_t channels, const Window& window) { return Relu(Conv(x, channels, window)); }
  // Depthwise, then pointwise, behind a Relu.
  Value Separable(const Value& x, int64_t channels, int64_t size, int64_t stride = 1);
  Value Relu(const Value& x) { return Unary("Relu", x); }
  Value Unary(const char* op, const Value& x);
  Value Add(const Value& x, const Value& z);
  Value MaxPool(const Value& x, int64_t size, int64_t stride, bool padded = true);
  Value AveragePool(const Value& x, int64_t size, int64_t stride);
  Value GlobalPool(const Value& x);  // to [batch, channels]
  Value Concat(const std::vector<Value>& values, int64_t axis = 1);
  Value Dense(const Value& x, int64_t columns);  // x * w + b by its last dim
  Value MatMul(const Value& x, const Value& z);
  Value LayerNorm(const Value& x);
  Value Softmax(const Value& x);  // along the last dim
  Value Reshape(const Value& x, std::vector<int64_t> dims);
  Value Transpose(const Value& x, std::vector<int64_t> order);

  Result<Graph> Finish(const std::vector<Value>& outputs);

 private:
  using Attributes = std::map<std::string, Attribute, std::less<>>;
  Value Op(const char* op, std::vector<ValueId> inputs, std::vector<int64_t> dims, Attributes attributes = {});
  // Numbers of a spread that keeps the size of what `fan_in` of them sum up.
  ValueId Weights(std::vector<int64_t> dims, int64_t fan_in);
  ValueId Constant(std::vector<int64_t> dims, float value);
  ValueId Ints(const std::vector<int64_t>& values);
  Value Pool(const char* op, const Value& x, int64_t size, int64_t stride, bool padded);

  GraphBuilder builder_;
  uint64_t state_ = 1;  // of the random numbers
  int64_t constants_ = 0;
};

}  // namespace pt
