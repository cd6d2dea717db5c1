// What one plan for two models gains over the models apart, by runs.
//
//   bench_several_models --db FILE [--seconds S] A.onnx B.onnx [A_DATA B_DATA]
//
// A_DATA and B_DATA are test_data_set folders, which say dims that the files leave open. The database must know each
// model and both together (pt-profile A.onnx, B.onnx and A.onnx B.onnx). Each way runs in processes of its own, which
// sleep while others run:
//
//   together      one process, one plan for both
//   in turns      one process, a plan for each with all cores, one after the other
//   side by side  two processes, each with half of the cores (its affinity) and a plan for these
//   unmanaged     two processes at once, each with all cores and a plan for these
//
// A round lets every way, in turns, compute both models as often as fits into about 20 ms, from the first wake to the
// last answer; two processes do not wait for each other within it. Printed: medians of the time for both models in
// microseconds, medians of (way / together) of the same round with their quartiles, and what the plans predict.
#include "partitiontuner/engine/several_models.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "partitiontuner/engine/engine.h"
#include "partitiontuner/engine/run_buffers.h"
#include "partitiontuner/onnx/tensor_proto.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kRoundUs = 20'000;

struct Arguments {
  std::string db;
  double seconds = 10;
  std::vector<std::string> models, data;
};

// A loaded model with its plan, session and buffers.
struct Runner {
  std::shared_ptr<const pt::Model> model;
  pt::Plan plan;
  std::unique_ptr<pt::Session> session;
  pt::RunBuffers inputs, outputs;

  pt::Status Run() {
    const auto report = session->Run(inputs.tensors(), outputs.tensors(), {});
    return report.ok() ? pt::Status() : pt::Status(report.error());
  }
};

// What a child says before it runs.
struct Ready {
  int64_t predicted_ns = 0;
  bool ok = false;
};

// The data of a test_data_set folder, by the names of the inputs of the model (index among those joined).
pt::Status AddData(const std::string& folder, const pt::ModelFile& file, size_t m,
                   std::map<std::string, pt::Tensor>& data) {
  std::vector<pt::Tensor> tensors;
  for (std::string path;
       path = folder + "/input_" + std::to_string(tensors.size()) + ".pb", ::access(path.c_str(), R_OK) == 0;) {
    PT_ASSIGN(pt::Tensor tensor, pt::LoadTensorProto(path));
    tensors.push_back(std::move(tensor));
  }
  const std::string model = file.models.empty() ? "" : file.models[m].name;
  const auto inputs = pt::InputsByPosition(*file.graph, file.load_report, tensors.size(), 1, model);
  for (size_t i = 0; i < std::min(tensors.size(), inputs.size()); ++i) {
    data.emplace(file.graph->value(file.graph->inputs()[inputs[i]]).name, std::move(tensors[i]));
  }
  return {};
}

// Zeros where no data is given.
pt::Result<std::vector<pt::Tensor>> InputsOf(const pt::Model& model, const std::map<std::string, pt::Tensor>& data) {
  std::vector<pt::Tensor> inputs;
  for (const pt::ValueId id : model.graph->inputs()) {
    const pt::Value& input = model.graph->value(id);
    if (const auto given = data.find(input.name); given != data.end()) {
      inputs.push_back(given->second);
      continue;
    }
    const auto dims = input.type.static_dims();
    if (!dims) return pt::MakeError(pt::ErrorCode::kUnsupported, "bench.dims", "an input has no dims before the run");
    PT_ASSIGN(const int64_t bytes, pt::TensorByteCount(input.type.type, *dims));
    PT_ASSIGN(pt::Tensor zeros,
              pt::Tensor::FromBytes(input.type.type, *dims, std::string(static_cast<size_t>(bytes), '\0')));
    inputs.push_back(std::move(zeros));
  }
  return inputs;
}

// A session for these models (by index), joined where they are two.
pt::Result<Runner> MakeRunner(pt::Engine& engine, const Arguments& arguments, const std::vector<size_t>& which) {
  std::vector<pt::ModelToOpen> models;
  for (const size_t m : which) models.push_back({arguments.models[m]});
  PT_ASSIGN(const auto file, pt::OpenModels(models));
  std::map<std::string, pt::Tensor> data;
  for (size_t m = 0; m < which.size() && !arguments.data.empty(); ++m) {
    PT_CHECK_OK(AddData(arguments.data[which[m]], *file, m, data));
  }
  pt::ModelOptions options;
  for (const pt::ValueId id : file->graph->inputs()) {
    const pt::Value& input = file->graph->value(id);
    if (!input.type.is_static() && data.contains(input.name)) options.shapes[input.name] = data[input.name].dims();
  }
  Runner runner;
  PT_ASSIGN(runner.model, engine.Load(*file, options));
  PT_ASSIGN(runner.plan, engine.MakePlan(*runner.model, {}));
  PT_ASSIGN(runner.session, engine.MakeSession(*runner.model, runner.plan));
  PT_ASSIGN(const std::vector<pt::Tensor> inputs, InputsOf(*runner.model, data));
  PT_ASSIGN(runner.inputs, pt::RunBuffers::ForInputs(*runner.session, inputs));
  PT_ASSIGN(runner.outputs, pt::RunBuffers::ForOutputs(*runner.session));
  for (int i = 0; i < 5; ++i) PT_CHECK_OK(runner.Run());
  return runner;
}

pt::Result<std::vector<Runner>> MakeRunners(pt::Engine& engine, const Arguments& arguments,
                                            const std::vector<std::vector<size_t>>& runs) {
  std::vector<Runner> runners;
  for (const std::vector<size_t>& which : runs) {
    PT_ASSIGN(Runner runner, MakeRunner(engine, arguments, which));
    runners.push_back(std::move(runner));
  }
  return runners;
}

// A child process: does its runs whenever it is told to.
class Child {
 public:
  // runs: which models each of its runs computes; half: -1 for all cores, else which half of them.
  Child(const Arguments& arguments, const std::vector<std::vector<size_t>>& runs, int half) {
    int to_child[2], to_parent[2];
    if (::pipe(to_child) != 0 || ::pipe(to_parent) != 0) std::abort();
    id_ = ::fork();
    if (id_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::close(to_child[1]);
      ::close(to_parent[0]);
      Serve(arguments, runs, half, to_child[0], to_parent[1]);
      std::exit(0);
    }
    ::close(to_child[0]);
    ::close(to_parent[1]);
    tell_ = to_child[1];
    hear_ = to_parent[0];
    if (::read(hear_, &ready_, sizeof ready_) != sizeof ready_) ready_.ok = false;
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    // Told, since children that came later hold the other end too.
    Begin(0);
    ::close(tell_);
    ::close(hear_);
    ::waitpid(id_, nullptr, 0);
  }

  const Ready& ready() const { return ready_; }
  void Begin(uint32_t times) const {
    if (::write(tell_, &times, sizeof times) != sizeof times) std::abort();
  }
  void Await() const {
    char answer = 0;
    if (::read(hear_, &answer, 1) != 1 || answer != 'd') {
      std::fprintf(stderr, "a child process failed\n");
      std::exit(1);
    }
  }

 private:
  static void UseHalf(int half) {
    cpu_set_t allowed, mine;
    CPU_ZERO(&mine);
    if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) std::abort();
    const int count = CPU_COUNT(&allowed) / 2;
    for (int core = 0, seen = 0; core < CPU_SETSIZE; ++core) {
      if (!CPU_ISSET(core, &allowed)) continue;
      if (seen / std::max(count, 1) == half) CPU_SET(core, &mine);
      ++seen;
    }
    if (::sched_setaffinity(0, sizeof mine, &mine) != 0) std::abort();
  }

  static void Serve(const Arguments& arguments, const std::vector<std::vector<size_t>>& runs, int half, int hear,
                    int tell) {
    if (half >= 0) UseHalf(half);
    pt::EngineOptions options;
    options.db_path = arguments.db;
    const auto engine = pt::Engine::Make(options);
    Ready ready;
    auto runners = engine.ok() ? MakeRunners(**engine, arguments, runs) : engine.error();
    ready.ok = runners.ok();
    if (!runners.ok()) std::fprintf(stderr, "%s\n", ToString(runners.error()).c_str());
    if (runners.ok()) {
      for (const Runner& runner : *runners) ready.predicted_ns += runner.plan.makespan.ns;
    }
    if (::write(tell, &ready, sizeof ready) != sizeof ready || !ready.ok) std::exit(1);
    for (uint32_t times = 0; ::read(hear, &times, sizeof times) == sizeof times && times > 0;) {
      for (size_t run = 0; run < times * runners->size(); ++run) {
        Runner& runner = (*runners)[run % runners->size()];
        if (const pt::Status status = runner.Run(); !status.ok()) {
          std::fprintf(stderr, "%s\n", ToString(status.error()).c_str());
          std::exit(1);
        }
      }
      if (::write(tell, "d", 1) != 1) std::exit(1);
    }
  }

  pid_t id_ = -1;
  int tell_ = -1, hear_ = -1;
  Ready ready_;
};

// A way to compute both models.
struct Way {
  const char* name;
  std::vector<std::unique_ptr<Child>> children;
  std::vector<double> us;  // by round

  double predicted_us() const {
    int64_t longest = 0;
    for (const auto& child : children) longest = std::max(longest, child->ready().predicted_ns);
    return static_cast<double>(longest) / 1e3;
  }
  // Microseconds for both models, by the mean of `times` of each.
  double Round(uint32_t times) const {
    const auto begin = Clock::now();
    for (const auto& child : children) child->Begin(times);
    for (const auto& child : children) child->Await();
    return std::chrono::duration<double, std::micro>(Clock::now() - begin).count() / times;
  }
};

double Quantile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

std::vector<Way> MakeWays(const Arguments& arguments) {
  std::vector<Way> ways;
  const auto add = [&](const char* name, const std::vector<std::vector<std::vector<size_t>>>& processes, bool halves) {
    Way& way = ways.emplace_back();
    way.name = name;
    for (size_t p = 0; p < processes.size(); ++p) {
      way.children.push_back(std::make_unique<Child>(arguments, processes[p], halves ? static_cast<int>(p) : -1));
      if (!way.children.back()->ready().ok) std::exit(1);
    }
  };
  add("together", {{{0, 1}}}, false);
  add("in turns", {{{0}, {1}}}, false);
  add("side by side", {{{0}}, {{1}}}, true);
  add("unmanaged", {{{0}}, {{1}}}, false);
  return ways;
}

int Measure(const Arguments& arguments) {
  std::vector<Way> ways = MakeWays(arguments);
  const auto times = static_cast<uint32_t>(std::clamp(kRoundUs / ways[0].Round(10), 1.0, 10'000.0));
  const auto end = Clock::now() + std::chrono::duration<double>(arguments.seconds);
  for (int round = 0; round < 10 || Clock::now() < end; ++round) {
    for (size_t w = 0; w < ways.size(); ++w) {
      Way& way = ways[(w + static_cast<size_t>(round)) % ways.size()];
      way.us.push_back(way.Round(times));
    }
  }
  std::printf("| way | median us | / together | quartiles | predicted us |\n|---|---:|---:|---:|---:|\n");
  for (const Way& way : ways) {
    std::vector<double> quotients;
    for (size_t r = 0; r < way.us.size(); ++r) quotients.push_back(way.us[r] / ways[0].us[r]);
    std::printf("| %s | %.0f | %.3f | %.3f %.3f | %.0f |\n", way.name, Quantile(way.us, 0.5), Quantile(quotients, 0.5),
                Quantile(quotients, 0.25), Quantile(quotients, 0.75), way.predicted_us());
  }
  std::printf("%zu rounds of %u times\n", ways[0].us.size(), times);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--db" && i + 1 < argc) {
      arguments.db = argv[++i];
    } else if (word == "--seconds" && i + 1 < argc) {
      arguments.seconds = std::atof(argv[++i]);
    } else {
      (arguments.models.size() < 2 ? arguments.models : arguments.data).push_back(word);
    }
  }
  if (arguments.models.size() != 2 || arguments.db.empty() || (!arguments.data.empty() && arguments.data.size() != 2)) {
    std::fprintf(stderr, "bench_several_models --db FILE [--seconds S] A.onnx B.onnx [A_DATA B_DATA]\n");
    return 2;
  }
  return Measure(arguments);
}
