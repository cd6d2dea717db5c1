// Every barrier of every own kernel, left out one at a time: the judge tells of a race then, for some size at least, or
// the barrier is one of those that are named here as not needed.
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <iostream>
#include <map>
#include <set>
#include <sstream>

#include "plugins/cuda/operators.h"
#include "test/cuda/cuda_cases.h"
#include "test/cuda/cuda_lab.h"
#include "test/cuda/host_source.h"

namespace pt::testing::barrier_mutants_test {
namespace {

// One block, which works on all elements one after the other: what is behind the last barrier of one meets what is
// before the first of the next.
FakeGpuOptions Watched() { return {.watch_kernels = true, .most_blocks = 1}; }

// The line without numbers and spaces before it; empty where nothing but a brace is on it.
std::string Essence(const std::string& line) {
  std::string essence;
  for (const char letter : line) {
    const bool digit = letter >= '0' && letter <= '9';
    if (letter == ' ' && essence.empty()) continue;
    if (!digit) essence += letter;
    if (digit && !essence.ends_with('#')) essence += '#';
  }
  return essence == "}" ? "" : essence;
}

// A barrier by the statement before it: the same for all sizes of a kernel.
std::string Before(const std::string& kernel, size_t number) {
  std::istringstream lines(kernel);
  std::string before, line;
  for (size_t barriers = 0; std::getline(lines, line);) {
    if (line.find("__syncthreads") != std::string::npos && barriers++ == number) break;
    if (const std::string essence = Essence(line); !essence.empty()) before = essence;
  }
  return before;
}

// Barriers that no kernel needs, by how the statement before them ends. They stay: each is met once a block and
// element, and whoever changes what follows need not think of them.
struct NotNeeded {
  std::string_view before, because;
};
constexpr std::array kNotNeeded = {
    NotNeeded{"= places[i];", "TopK: a thread stores what it is the next to write itself"},
    NotNeeded{"= numbers[i];", "likewise, where places are not asked for"},
    NotNeeded{"|| places[#] < # ? # : places[#];", "ArgMax: only the first thread reads, what only it writes next"},
    NotNeeded{"= state[j];", "recurrent: a thread stores the units that it is the next to write itself"},
    NotNeeded{"= cell[j];", "likewise, where the cell is stored last"},
    NotNeeded{"made[i][j] = fmaf(a, b[j], made[i][j]);",
              "attention: next are weights of the first slice of keys, which all have read before the last slice"},
    NotNeeded{"blind ? #.#f : made[i][j] / sum;", "attention: the next block's loads begin with a barrier"},
    NotNeeded{"one[chunk + c] = made[i][j];", "likewise, of a part"},
    NotNeeded{"ends[# * piece + #] = most[#];", "DynamicQuantizeLinear: as with ArgMax"},
    NotNeeded{"out#[#] = scale;", "likewise"},
};

struct Count {
  size_t told = 0, silent = 0;
};
using Counts = std::map<std::string, Count>;  // by what is before the barrier

class Study {
 public:
  Counts counts;
  size_t kernels = 0;

  // Leaves out each barrier of each kernel that runs the graph, but for kernels that were met before.
  void Add(const std::string& text) {
    INFO(text);
    const Graph graph = ParseInferred(text);
    const std::vector<Tensor> inputs = AsGroupInputs(graph, InputsWithinDims(graph));
    const CudaLab lab(Watched());
    for (const Candidate& candidate : library_->CandidatesFor(graph, lab.platform, AllNodes(graph), {})) {
      for (const std::string& whole : KernelTexts(graph, candidate)) {
        const std::string kernel = whole.substr(cuda::KernelPrelude().size());
        if (BarriersIn(kernel) == 0 || !met_.insert(kernel).second) continue;
        ++kernels;
        for (uint32_t n = 0; n < BarriersIn(kernel); ++n) LeaveOut(kernel, n, graph, candidate, inputs);
      }
    }
  }

 private:
  void LeaveOut(const std::string& kernel, uint32_t number, const Graph& graph, const Candidate& candidate,
                const std::vector<Tensor>& inputs) {
    CudaLab lab(Watched());
    lab.gpu.LeaveOutBarrier(kernel, number);
    static_cast<void>(RunOnCuda(lab, *library_, graph, candidate, inputs));  // wrong or not is another question
    Count& count = counts[Before(kernel, number)];
    ++(lab.gpu.Violations().empty() ? count.silent : count.told);
  }

  const std::unique_ptr<Library> library_ = cuda::MakeOwnKernelsLibrary();
  std::set<std::string> met_;
};

struct Total {
  size_t kernels = 0, told = 0, silent = 0;
  bool operator==(const Total&) const = default;
};
Total Sum(const Study& study) {
  Total total{study.kernels};
  for (const auto& [before, count] : study.counts) {
    total.told += count.told;
    total.silent += count.silent;
  }
  return total;
}
std::string ToString(const Total& total) {
  return std::to_string(total.kernels) + " kernels, " + std::to_string(total.told) + " barriers told, " +
         std::to_string(total.silent) + " silent";
}

}  // namespace

// A kernel of each kind that has barriers.
TEST_CASE("BarrierMutants, TheJudgeTellsOfEachBarrierThatIsNeeded", "[cuda]") {
  struct Case {
    std::string text;
    Total expected;
  };
  const std::vector<Case> cases = {
      {"input x float32[3,40]\ny = Softmax(x)\noutput y\n", {1, 6, 0}},
      {"input x float32[3,40]\nconst a int64[1] ints 1\ny = ReduceMean(x, a)\noutput y\n", {1, 3, 0}},
      {"input x float32[3,40]\ny = ArgMax(x) axis=1\noutput y\n", {1, 2, 1}},
      {"input x float32[3,100]\nconst k int64[1] ints 5\nv, i = TopK(x, k)\noutput v\noutput i\n", {1, 2, 1}},
      {"input x float32[40,66]\ny = Transpose(x)\noutput y\n", {1, 2, 0}},
      {"input x float32[3,4,7,9]\nconst w float32[9,4,3,3] random 3\ny = Conv(x, w)\noutput y\n", {1, 2, 0}},
      {"input x uint8[5,80]\ninput w int8[80,12]\ny = MatMulInteger(x, w)\noutput y\n", {1, 2, 0}},
      {"input x float32[9000]\ny, s, z = DynamicQuantizeLinear(x)\noutput y\noutput s\noutput z\n", {2, 5, 1}},
      {"input q float32[1,2,20,24]\ninput k float32[1,2,70,24]\ninput v float32[1,2,70,24]\n"
       "y = Attention(q, k, v)\noutput y\n",
       {2, 12, 4}},
      {RecurrentCases().front(), {1, 2, 1}}};
  std::vector<std::string> texts;
  for (const auto& [text, expected] : cases) texts.push_back(text);
  CompileCases(CudaLab(Watched()), texts);
  for (const auto& [text, expected] : cases) {
    INFO(text);
    Study study;
    study.Add(text);
    INFO(ToString(Sum(study)));
    CHECK(Sum(study) == expected);
  }
}

TEST_CASE("BarrierMutants, EveryBarrierIsNeededBySomeKernelOrNamedHere", "[cuda][slow]") {
  Study study;
  for (const CaseFamily& family : OwnKernelCases()) {
    CompileCases(CudaLab(Watched()), family.cases);
    for (const std::string& text : family.cases) study.Add(text);
    std::cout << "with " << family.name << ": " << ToString(Sum(study)) << std::endl;
  }
  std::set<std::string_view> used;
  for (const auto& [before, count] : study.counts) {
    const auto ends = [&](const NotNeeded& one) { return before.ends_with(one.before); };
    const auto named = std::ranges::find_if(kNotNeeded, ends);
    INFO("behind `" << before << "`, told " << count.told << ", silent " << count.silent);
    if (named != kNotNeeded.end()) used.insert(named->before);
    CHECK((named != kNotNeeded.end()) == (count.told == 0));
  }
  CHECK(used.size() == kNotNeeded.size());
}

}  // namespace pt::testing::barrier_mutants_test
