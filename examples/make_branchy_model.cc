// Writes a small branchy image network as an ONNX file, so that the tools have something to try where no model is at
// hand: three blocks of four parallel branches each, 19 convolutions, about 170 kB. The weights are random but always
// the same, so are the bytes of the file. It writes the protobuf wire format itself and needs no library.
//   pt-make-example branchy.onnx
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace {

// ---- The protobuf wire format: a message is its fields in a row ----
std::string Varint(uint64_t number) {
  std::string bytes;
  for (; number >= 128; number >>= 7) bytes += static_cast<char>(number % 128 + 128);
  return bytes + static_cast<char>(number);
}
std::string Number(uint64_t field, int64_t value) { return Varint(field << 3) + Varint(static_cast<uint64_t>(value)); }
std::string Bytes(uint64_t field, const std::string& value) {
  return Varint(field << 3 | 2) + Varint(value.size()) + value;
}

// ---- The messages of onnx.proto that are needed, by their field numbers ----
std::string Dims(uint64_t field, const std::vector<int64_t>& dims) {
  std::string bytes;
  for (const int64_t dim : dims) bytes += Number(field, dim);
  return bytes;
}
std::string FloatValue(const std::string& name, const std::vector<int64_t>& dims) {
  std::string shape;
  for (const int64_t dim : dims) shape += Bytes(1, Number(1, dim));
  return Bytes(1, name) + Bytes(2, Bytes(1, Number(1, 1) + Bytes(2, shape)));
}
struct Attribute {
  std::string name;
  std::vector<int64_t> values;
  bool is_list = true;
};

class Network {
 public:
  std::string Add(const std::string& op, const std::vector<std::string>& inputs,
                  const std::vector<Attribute>& attributes = {}) {
    const std::string output = op + "_" + std::to_string(count_++);
    std::string node;
    for (const std::string& input : inputs) node += Bytes(1, input);
    node += Bytes(2, output) + Bytes(3, output) + Bytes(4, op);
    for (const Attribute& a : attributes) {
      node += Bytes(5, Bytes(1, a.name) + (a.is_list ? Dims(8, a.values) : Number(3, a.values[0])) +
                           Number(20, a.is_list ? 7 : 2));
    }
    nodes_ += Bytes(1, node);
    return output;
  }

  // Uniform in +-scale, from a generator that is the same everywhere.
  std::string Constant(const std::vector<int64_t>& dims, float scale) {
    int64_t count = 1;
    for (const int64_t dim : dims) count *= dim;
    std::string raw;
    for (int64_t i = 0; i < count; ++i) {
      random_ = random_ * 6364136223846793005u + 1442695040888963407u;
      const float value = (static_cast<float>(random_ >> 40) / 8388608.0f - 1.0f) * scale;
      uint32_t bits = 0;
      std::memcpy(&bits, &value, sizeof bits);
      for (int shift = 0; shift < 32; shift += 8) raw += static_cast<char>(bits >> shift & 255);
    }
    const std::string name = "weight_" + std::to_string(count_++);
    constants_ += Bytes(5, Dims(1, dims) + Number(2, 1) + Bytes(8, name) + Bytes(9, raw));
    return name;
  }

  // A square convolution that keeps the size (divided by its stride), with bias and relu.
  std::string Convolution(const std::string& input, int64_t in, int64_t out, int64_t kernel, int64_t stride = 1) {
    // He's scale: the signal keeps its strength through the layers.
    const float scale = std::sqrt(6.0f / static_cast<float>(in * kernel * kernel));
    const std::string weight = Constant({out, in, kernel, kernel}, scale);
    const std::string bias = Constant({out}, 0.1f);
    const int64_t pad = kernel / 2;
    return Add("Relu", {Add("Conv", {input, weight, bias},
                            {{"kernel_shape", {kernel, kernel}}, {"strides", {stride, stride}},
                             {"pads", {pad, pad, pad, pad}}})});
  }

  // Four branches over 64 channels that meet in a concatenation of 64 channels.
  std::string Block(const std::string& input) {
    const std::string small = Convolution(input, 64, 16, 1);
    const std::string middle = Convolution(Convolution(input, 64, 16, 1), 16, 24, 3);
    const std::string wide = Convolution(Convolution(input, 64, 8, 1), 8, 16, 5);
    const std::string pooled =
        Add("MaxPool", {input}, {{"kernel_shape", {3, 3}}, {"pads", {1, 1, 1, 1}}, {"strides", {1, 1}}});
    return Add("Concat", {small, middle, wide, Convolution(pooled, 64, 8, 1)}, {{"axis", {1}, false}});
  }

  std::string Model(const std::string& output) const {
    const std::string graph = nodes_ + Bytes(2, "branchy") + constants_ +
                              Bytes(11, FloatValue("image", {1, 3, 96, 96})) + Bytes(12, FloatValue(output, {1, 10}));
    return Number(1, 8) + Bytes(2, "pt-make-example") + Bytes(7, graph) + Bytes(8, Bytes(1, "") + Number(2, 17));
  }

 private:
  std::string nodes_, constants_;
  int count_ = 0;
  uint64_t random_ = 1;
};

std::string BranchyModel() {
  Network network;
  std::string value = network.Convolution("image", 3, 64, 3, 2);
  for (int block = 0; block < 3; ++block) value = network.Block(value);
  value = network.Add("AveragePool", {value}, {{"kernel_shape", {12, 12}}, {"strides", {12, 12}}});
  value = network.Add("Flatten", {value});
  value = network.Add("Gemm", {value, network.Constant({1024, 10}, 0.1f), network.Constant({10}, 0.1f)});
  return network.Model(value);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || argv[1][0] == '-') {
    std::fprintf(stderr, "usage: pt-make-example FILE.onnx\nwrites a small branchy network to try the tools with\n");
    return 2;
  }
  const std::string bytes = BranchyModel();
  std::ofstream out(argv[1], std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) {
    std::fprintf(stderr, "pt-make-example: cannot write %s\n", argv[1]);
    return 3;
  }
  return 0;
}
