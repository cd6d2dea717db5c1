// LSTM, GRU and RNN: a kernel for what the inputs give to all gates at all times, then one in which a block of threads
// goes through the times of one sequence and direction, with the state in shared memory.
#include <algorithm>
#include <array>

#include "partitiontuner/backend/recurrent_node.h"
#include "plugins/cuda/element_kernel.h"
#include "plugins/cuda/operators.h"

namespace pt::cuda {
namespace {

// Three states of that many numbers are what shared memory holds.
constexpr int64_t kMostHidden = 4000;
constexpr int64_t kMostThreads = 256;

std::string S(int64_t n) { return std::to_string(n); }

// Writes both kernels of a node.
class Recurrence {
 public:
  Recurrence(const CudaSite& site, const RecurrentNode& node)
      : site_(site), n_(node), scratch_(site.in.size() + site.out.size()) {}

  CudaRoutine Make() const {
    CudaRoutine routine;
    routine.kernels = {Inputs(), Steps()};
    routine.scratch_bytes = static_cast<uint64_t>(n_.directions * n_.time * n_.batch * n_.gates * n_.hidden) * 4;
    return routine;
  }

 private:
  std::string Name(size_t input) const { return site_.NameOf(*site_.Input(input)); }
  std::string NameOf(ValueId value) const { return site_.NameOf(site_.in[*site_.FindInput(value)]); }
  // The gates' inputs of all times: [directions, time, batch, gates * hidden].
  std::string ScratchText() const { return "(float*)arguments.at[" + std::to_string(scratch_) + "]"; }
  // Of the state that the hidden gate's product is added to behind the reset, which stays out of the sum.
  bool IsKeptApart() const { return n_.cell == RecurrentCell::kGru; }
  int64_t rows() const { return n_.gates * n_.hidden; }

  KernelText Inputs() const {
    const std::vector<int64_t> dims = {n_.directions, n_.time, n_.batch, rows()};
    const CudaOperand& x = site_.in[*site_.FindInput(n_.x)];
    const int64_t by_time = x.strides()[n_.batch_first ? 1 : 0], by_batch = x.strides()[n_.batch_first ? 0 : 1];
    std::string body = "    float sum = 0.0f;\n    for (Index k = 0; k < " + S(n_.input) + "; ++k) sum = fmaf((float)" +
                       NameOf(n_.x) + "[c1 * " + S(by_time) + " + c2 * " + S(by_batch) + " + k * " + S(x.strides()[2]) +
                       "], " + Name(1) + "[(c0 * " + S(rows()) + " + c3) * " + S(n_.input) + " + k], sum);\n";
    if (n_.bias) {
      const std::string of_w = Name(3) + "[c0 * " + S(2 * rows()) + " + c3]";
      const std::string of_r = Name(3) + "[c0 * " + S(2 * rows()) + " + " + S(rows()) + " + c3]";
      body += "    sum += " + of_w + ";\n    " +
              (IsKeptApart() ? "if (c3 < " + S(2 * n_.hidden) + ") " : std::string()) + "sum += " + of_r + ";\n";
    }
    body += "    (" + ScratchText() + ")[i] = sum;\n";
    return ElementKernel(site_, IndexSpace::Whole(dims, {}), body);
  }

  // The product of the state and a gate's row of unit j.
  std::string Product(const std::string& name, int64_t gate, const std::string& state) const {
    return "        float " + name + " = 0.0f;\n        for (int k = 0; k < " + S(n_.hidden) + "; ++k) " + name +
           " = fmaf(" + state + "[k], " + Name(2) + "[((long long)direction * " + S(rows()) + " + " +
           S(gate * n_.hidden) + " + j) * " + S(n_.hidden) + " + k], " + name + ");\n";
  }
  std::string Gate(int64_t gate) const { return "gates[" + S(gate * n_.hidden) + " + j]"; }
  std::string Peephole(int64_t which, const std::string& cell) const {
    if (!n_.peephole) return "";
    return " + " + Name(7) + "[direction * " + S(3 * n_.hidden) + " + " + S(which * n_.hidden) + " + j] * " + cell;
  }
  static std::string Sigmoid(const std::string& x) { return "1.0f / (1.0f + expf(-(" + x + ")))"; }
  static std::string ForUnits(const std::string& body) {
    return "      for (int j = threadIdx.x; j < hidden; j += blockDim.x) {\n" + body + "      }\n";
  }

  // Statements for one time: from `state` and `cell` to `next`.
  std::string Update() const {
    switch (n_.cell) {
      case RecurrentCell::kLstm:
        return ForUnits(Product("a", 0, "state") + Product("b", 1, "state") + Product("c", 2, "state") +
                        Product("d", 3, "state") +
                        "        const float in = " + Sigmoid(Gate(0) + " + a" + Peephole(0, "cell[j]")) +
                        ", keep = " + Sigmoid(Gate(2) + " + c" + Peephole(2, "cell[j]")) +
                        ";\n        const float now = keep * " + "cell[j] + in * tanhf(" + Gate(3) +
                        " + d);\n        const float out = " + Sigmoid(Gate(1) + " + b" + Peephole(1, "now")) +
                        ";\n        cell[j] = now;\n        next[j] = out * tanhf(now);\n");
      case RecurrentCell::kGru:
        return Gru();
      case RecurrentCell::kRnn:
        break;
    }
    return ForUnits(
        Product("a", 0, "state") + "        const float sum = " + Gate(0) + " + a;\n        next[j] = " +
        (n_.activations[0].function == RecurrentFunction::kRelu ? "sum < 0.0f ? 0.0f : sum" : "tanhf(sum)") + ";\n");
  }

  std::string Gru() const {
    const std::string bias =
        n_.bias ? " + " + Name(3) + "[direction * " + S(2 * rows()) + " + " + S(rows() + 2 * n_.hidden) + " + j]" : "";
    const std::string update =
        Product("a", 0, "state") + "        const float keep = " + Sigmoid(Gate(0) + " + a") + ";\n";
    const std::string mixed = "        next[j] = (1.0f - keep) * tanhf(sum) + keep * state[j];\n";
    const std::string reset =
        Product("b", 1, "state") + "        const float reset = " + Sigmoid(Gate(1) + " + b") + ";\n";
    if (n_.linear_before_reset) {
      return ForUnits(update + reset + Product("c", 2, "state") + "        const float sum = " + Gate(2) +
                      " + reset * (c" + bias + ");\n" + mixed);
    }
    // The product needs what all units have reset: kept in `cell`, which only LSTMs have a use for.
    return ForUnits(reset + "        cell[j] = reset * state[j];\n") + "      __syncthreads();\n" +
           ForUnits(update + Product("c", 2, "cell") + "        const float sum = " + Gate(2) + " + c" + bias + ";\n" +
                    mixed);
  }

  std::string InitialText(const std::string& array, ValueId value) const {
    std::string from = "0.0f";
    if (value.valid()) from = NameOf(value) + "[" + StateText(site_.in[*site_.FindInput(value)]) + "]";
    return ForUnits("        " + array + "[j] = " + from + ";\n");
  }
  // Where a state's number of unit j lies.
  std::string StateText(const CudaOperand& operand) const {
    const size_t direction = n_.batch_first ? 1 : 0;
    return "direction * " + S(operand.strides()[direction]) + " + entry * " + S(operand.strides()[1 - direction]) +
           " + j * " + S(operand.strides()[2]);
  }
  std::string Final(const std::string& array, ValueId value) const {
    const auto made = std::ranges::find(site_.out, value, &CudaOperand::value);
    if (!value.valid() || made == site_.out.end()) return "";
    return ForUnits("        " + site_.NameOf(*made) + "[" + StateText(*made) + "] = " + array + "[j];\n");
  }
  std::string StoreTime() const {
    const auto made = std::ranges::find(site_.out, n_.y, &CudaOperand::value);
    if (!n_.y.valid() || made == site_.out.end()) return "";
    const std::array<size_t, 3> at = n_.batch_first ? std::array<size_t, 3>{1, 2, 0} : std::array<size_t, 3>{0, 1, 2};
    const std::vector<int64_t>& s = made->strides();
    return "        " + site_.NameOf(*made) + "[(long long)t * " + S(s[at[0]]) + " + direction * " + S(s[at[1]]) +
           " + entry * " + S(s[at[2]]) + " + j * " + S(s[3]) + "] = next[j];\n";
  }

  KernelText Steps() const {
    const std::string hidden = S(n_.hidden), time = S(n_.time), last = S(n_.time - 1);
    const std::string backwards = n_.directions == 2 ? "direction == 1" : n_.reverse ? "true" : "false";
    KernelText kernel;
    kernel.elements = n_.directions * n_.batch;
    kernel.threads_an_element =
        static_cast<uint32_t>(std::clamp<int64_t>((n_.hidden + 31) / 32 * 32, 32, kMostThreads));
    kernel.text = "extern \"C\" __global__ void pt_kernel(const Arguments arguments) {\n" + OperandTexts(site_) +
                  "  const float* const all = " + ScratchText() + ";\n  const int hidden = " + hidden +
                  ";\n  __shared__ float states[2][" + hidden + "];\n  __shared__ float cell[" + hidden +
                  "];\n  for (int block = blockIdx.x; block < " + S(kernel.elements) +
                  "; block += gridDim.x) {\n    const int direction = block / " + S(n_.batch) + ", entry = block % " +
                  S(n_.batch) + ";\n    float *state = states[0], *next = states[1];\n    {\n" +
                  InitialText("state", n_.initial_h) + InitialText("cell", n_.initial_c) +
                  "    }\n    __syncthreads();\n    for (int step = 0; step < " + time +
                  "; ++step) {\n      const int t = " + backwards + " ? " + last +
                  " - step : step;\n      const float* const gates = all + (((long long)direction * " + time +
                  " + t) * " + S(n_.batch) + " + entry) * " + S(rows()) + ";\n" + Update() +
                  "      __syncthreads();\n" + ForUnits(StoreTime()) +
                  "      float* const before = state;\n      state = next;\n      next = before;\n    }\n" +
                  Final("state", n_.y_h) + Final("cell", n_.y_c) + "    __syncthreads();\n  }\n}\n";
    return kernel;
  }

  const CudaSite& site_;
  const RecurrentNode& n_;
  const size_t scratch_;
};

Result<CudaRoutine> Recurrent(const CudaSite& site) {
  Result<RecurrentNode> node = ReadRecurrentNode(site.graph, site.node());
  if (!node.ok()) return site.Unsupported(node.error().message);
  if (const Status usual = NeedUsual(*node); !usual.ok()) return site.Unsupported(usual.error().message);
  if (node->hidden > kMostHidden) return site.Unsupported("its state is larger than shared memory");
  for (const ValueId value : {node->x, node->initial_h, node->initial_c}) {
    if (value.valid() && !site.FindInput(value)) return site.Unsupported("an input is not a tensor of the run");
  }
  if (node->peephole && site.Input(7) == nullptr) return site.Unsupported("its peepholes are missing");
  if (site.in.size() + site.out.size() + 1 > kMostArguments) return site.Unsupported("it has too many tensors");
  return Recurrence(site, *node).Make();
}

constexpr std::array kRows = {CudaRow{"GRU", Recurrent}, CudaRow{"LSTM", Recurrent}, CudaRow{"RNN", Recurrent}};

}  // namespace

std::span<const CudaRow> RecurrentOperators() { return kRows; }

}  // namespace pt::cuda
