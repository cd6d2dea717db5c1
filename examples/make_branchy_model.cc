// Writes a small branchy image network with an input and the answer to expect, so that the tools have something to try
// where no model is at hand: three blocks of four parallel branches, 19 convolutions, about 170 kB. The weights are
// random but always the same, so are the bytes of the files. It computes the answer by plain loops in double precision
// and writes the protobuf wire format itself: it needs no library and shares no code with what it helps to check.
//   pt-make-example FOLDER     FOLDER/model.onnx, FOLDER/test_data_set_0/{input_0.pb,output_0.pb}
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

using Dims = std::vector<int64_t>;

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
std::string Numbers(uint64_t field, const Dims& values) {
  std::string bytes;
  for (const int64_t value : values) bytes += Number(field, value);
  return bytes;
}

// ---- The messages of onnx.proto, by their field numbers ----
struct Tensor {
  std::string name;
  Dims dims;
  std::vector<double> data;
};
std::string TensorMessage(const Tensor& tensor) {
  std::string raw;
  for (const double number : tensor.data) {
    const float value = static_cast<float>(number);
    uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    for (int shift = 0; shift < 32; shift += 8) raw += static_cast<char>(bits >> shift & 255);
  }
  return Numbers(1, tensor.dims) + Number(2, 1) + Bytes(8, tensor.name) + Bytes(9, raw);
}
std::string ValueMessage(const Tensor& tensor) {
  std::string shape;
  for (const int64_t dim : tensor.dims) shape += Bytes(1, Number(1, dim));
  return Bytes(1, tensor.name) + Bytes(2, Bytes(1, Number(1, 1) + Bytes(2, shape)));
}
std::string IntegerAttribute(const std::string& name, int64_t value) {
  return Bytes(5, Bytes(1, name) + Number(3, value) + Number(20, 2));
}
std::string ListAttribute(const std::string& name, const Dims& values) {
  return Bytes(5, Bytes(1, name) + Numbers(8, values) + Number(20, 7));
}

int64_t Count(const Dims& dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  return count;
}

// A network under construction: each method adds one node and computes its output.
class Network {
 public:
  Tensor Random(const std::string& name, const Dims& dims, double scale) {
    Tensor tensor{name, dims, {}};
    for (int64_t i = 0; i < Count(dims); ++i) {
      random_ = random_ * 6364136223846793005u + 1442695040888963407u;
      const float value = static_cast<float>((static_cast<double>(random_ >> 40) / 8388608.0 - 1.0) * scale);
      tensor.data.push_back(static_cast<double>(value));
    }
    return tensor;
  }

  // A square convolution that keeps the size (divided by its stride), with bias and relu.
  Tensor Convolution(const Tensor& in, int64_t channels, int64_t kernel, int64_t stride = 1) {
    const int64_t from = in.dims[1], size = in.dims[2], pad = kernel / 2, out_size = size / stride;
    // He's scale: the signal keeps its strength through the layers.
    const double scale = std::sqrt(6.0 / static_cast<double>(from * kernel * kernel));
    const Tensor weight = Constant({channels, from, kernel, kernel}, scale), bias = Constant({channels}, 0.1);
    Tensor sum{"", {1, channels, out_size, out_size}, {}};
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t y = 0; y < out_size; ++y) {
        for (int64_t x = 0; x < out_size; ++x) {
          double value = bias.data[Index(c)];
          for (int64_t f = 0; f < from; ++f) {
            for (int64_t i = std::max<int64_t>(0, pad - y * stride); i < std::min(kernel, size + pad - y * stride);
                 ++i) {
              for (int64_t j = std::max<int64_t>(0, pad - x * stride); j < std::min(kernel, size + pad - x * stride);
                   ++j) {
                value += weight.data[Index(((c * from + f) * kernel + i) * kernel + j)] *
                         in.data[Index((f * size + y * stride + i - pad) * size + x * stride + j - pad)];
              }
            }
          }
          sum.data.push_back(value);
        }
      }
    }
    sum = Add("Conv", {in, weight, bias}, sum, Window(kernel, stride, pad));
    Tensor relu = sum;
    for (double& value : relu.data) value = std::max(value, 0.0);
    return Add("Relu", {sum}, relu);
  }

  // MaxPool or AveragePool; the average has no padding here.
  Tensor Pool(const std::string& op, const Tensor& in, int64_t kernel, int64_t stride, int64_t pad) {
    const int64_t size = in.dims[2], out_size = (size + 2 * pad - kernel) / stride + 1;
    Tensor out{"", {1, in.dims[1], out_size, out_size}, {}};
    for (int64_t c = 0; c < in.dims[1]; ++c) {
      for (int64_t y = 0; y < out_size; ++y) {
        for (int64_t x = 0; x < out_size; ++x) {
          double largest = -INFINITY, sum = 0;
          for (int64_t i = std::max<int64_t>(0, y * stride - pad); i < std::min(size, y * stride - pad + kernel); ++i) {
            for (int64_t j = std::max<int64_t>(0, x * stride - pad); j < std::min(size, x * stride - pad + kernel);
                 ++j) {
              const double value = in.data[Index((c * size + i) * size + j)];
              largest = std::max(largest, value);
              sum += value;
            }
          }
          out.data.push_back(op == "MaxPool" ? largest : sum / static_cast<double>(kernel * kernel));
        }
      }
    }
    return Add(op, {in}, out, Window(kernel, stride, pad));
  }

  Tensor ConcatChannels(const std::vector<Tensor>& parts) {
    Tensor out{"", {1, 0, parts[0].dims[2], parts[0].dims[3]}, {}};
    for (const Tensor& part : parts) {
      out.dims[1] += part.dims[1];
      out.data.insert(out.data.end(), part.data.begin(), part.data.end());
    }
    return Add("Concat", parts, out, IntegerAttribute("axis", 1));
  }

  Tensor FullyConnected(const Tensor& in, int64_t outputs) {
    Tensor flat{"", {1, Count(in.dims)}, in.data};
    flat = Add("Flatten", {in}, flat);
    const Tensor weight = Constant({flat.dims[1], outputs}, 0.1), bias = Constant({outputs}, 0.1);
    Tensor out{"", {1, outputs}, bias.data};
    for (int64_t i = 0; i < flat.dims[1]; ++i) {
      for (int64_t o = 0; o < outputs; ++o)
        out.data[Index(o)] += flat.data[Index(i)] * weight.data[Index(i * outputs + o)];
    }
    return Add("Gemm", {flat, weight, bias}, out);
  }

  // Four branches that meet in a concatenation of 64 channels.
  Tensor Block(const Tensor& in) {
    const Tensor small = Convolution(in, 16, 1);
    const Tensor middle = Convolution(Convolution(in, 16, 1), 24, 3);
    const Tensor wide = Convolution(Convolution(in, 8, 1), 16, 5);
    const Tensor pooled = Convolution(Pool("MaxPool", in, 3, 1, 1), 8, 1);
    return ConcatChannels({small, middle, wide, pooled});
  }

  std::string Model(const Tensor& input, const Tensor& output) const {
    const std::string graph =
        nodes_ + Bytes(2, "branchy") + constants_ + Bytes(11, ValueMessage(input)) + Bytes(12, ValueMessage(output));
    return Number(1, 8) + Bytes(2, "pt-make-example") + Bytes(7, graph) + Bytes(8, Bytes(1, "") + Number(2, 17));
  }

 private:
  static size_t Index(int64_t index) { return static_cast<size_t>(index); }

  static std::string Window(int64_t kernel, int64_t stride, int64_t pad) {
    return ListAttribute("kernel_shape", {kernel, kernel}) + ListAttribute("strides", {stride, stride}) +
           ListAttribute("pads", {pad, pad, pad, pad});
  }

  Tensor Constant(const Dims& dims, double scale) {
    Tensor tensor = Random("weight_" + std::to_string(count_++), dims, scale);
    constants_ += Bytes(5, TensorMessage(tensor));
    return tensor;
  }

  Tensor Add(const std::string& op, const std::vector<Tensor>& inputs, Tensor output,
             const std::string& attributes = {}) {
    output.name = op + "_" + std::to_string(count_++);
    std::string node;
    for (const Tensor& input : inputs) node += Bytes(1, input.name);
    nodes_ += Bytes(1, node + Bytes(2, output.name) + Bytes(3, output.name) + Bytes(4, op) + attributes);
    return output;
  }

  std::string nodes_, constants_;
  int count_ = 0;
  uint64_t random_ = 1;
};

bool Write(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) std::fprintf(stderr, "pt-make-example: cannot write %s\n", path.c_str());
  return !out.fail();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || argv[1][0] == '-') {
    std::fprintf(stderr,
                 "usage: pt-make-example FOLDER\nwrites a small branchy network with an input and its answer\n");
    return 2;
  }
  Network network;
  const Tensor image = network.Random("image", {1, 3, 96, 96}, 1.0);
  Tensor value = network.Convolution(image, 64, 3, 2);
  for (int block = 0; block < 3; ++block) value = network.Block(value);
  const Tensor scores = network.FullyConnected(network.Pool("AveragePool", value, 12, 12, 0), 10);

  const std::filesystem::path folder = argv[1], data = folder / "test_data_set_0";
  std::error_code error;
  std::filesystem::create_directories(data, error);
  const bool written = Write(folder / "model.onnx", network.Model(image, scores)) &&
                       Write(data / "input_0.pb", TensorMessage(image)) &&
                       Write(data / "output_0.pb", TensorMessage(scores));
  return written ? 0 : 3;
}
