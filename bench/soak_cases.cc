#include "bench/soak_cases.h"

#include <malloc.h>
#include <stdlib.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "bench/soak_networks.h"
#include "partitiontuner/engine/run_buffers.h"
#include "partitiontuner/engine/verify.h"
#include "partitiontuner/support/file.h"
#include "partitiontuner/support/random.h"

namespace pt::bench {
namespace {

// What may be more at the end than at the first mark, beside open files and threads, of which none may.
constexpr double kAllocatedShare = 0.01, kAllocatedMib = 0.5;  // the larger one
constexpr double kResidentShare = 0.25, kResidentMib = 16;

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

Result<int64_t> Number(const std::string& text) {
  int64_t value = 0;
  const char* const end = text.data() + text.size();
  if (text.empty() || std::from_chars(text.data(), end, value).ptr != end || value < 0) {
    return MakeError(ErrorCode::kUsage, "usage", "'" + text + "' is not a number");
  }
  return value;
}

// Numbers between -1 and 1, integers from 0 to 3, which are indices of most things.
Result<Datum> Drawn(const ValueType& type, const std::vector<int64_t>& dims, Random& random) {
  PT_ASSIGN(const int64_t bytes, TensorByteCount(type.type, dims));
  std::string data(static_cast<size_t>(bytes), '\0');
  const auto width = static_cast<size_t>(BytesOf(type.type));
  for (size_t at = 0; width > 0 && at + width <= data.size(); at += width) {
    if (type.type == DataType::kFloat32) {
      const auto value = static_cast<float>(random.Uniform(-1, 1));
      std::memcpy(data.data() + at, &value, width);
    } else if (IsInteger(type.type) || type.type == DataType::kBool) {
      data[at] = static_cast<char>(random.Below(type.type == DataType::kBool ? 2 : 4));
    }  // zeros for all others
  }
  PT_ASSIGN(Tensor tensor, Tensor::FromBytes(type.type, dims, std::move(data)));
  return Datum(std::move(tensor));
}

Status AddCase(const SoakSettings& settings, const std::string& path, const std::string& dims, Random& random,
               Cases& to) {
  Case made;
  made.network = to.networks.size() - 1;
  made.name = std::filesystem::path(path).parent_path().filename().string() + "/" +
              std::filesystem::path(path).filename().string() + (dims.empty() ? "" : "@" + dims);
  for (const std::string& pair : dims.empty() ? std::vector<std::string>{} : Split(dims, ',')) {
    const size_t equals = std::min(pair.find('='), pair.size() - 1);
    std::vector<int64_t> numbers;
    for (const std::string& text : Split(pair.substr(equals + 1), 'x')) {
      PT_ASSIGN(numbers.emplace_back(), Number(text));
    }
    if (numbers.size() == 1) {
      made.options.dims[pair.substr(0, equals)] = numbers[0];
    } else {
      made.options.shapes[pair.substr(0, equals)] = std::move(numbers);
    }
  }
  const ModelFile& file = to.networks.back().sizes->file();
  PT_ASSIGN(const auto input_dims, InputDimsOf(file, made.options));
  for (size_t i = 0; i < input_dims.size(); ++i) {
    PT_ASSIGN(Datum value, Drawn(file.graph->value(file.graph->inputs()[i]).type, input_dims[i], random));
    made.inputs.push_back(std::move(value));
  }
  PT_ASSIGN(made.model, to.engine->Load(path, made.options));
  MeasureOptions fast;
  fast.max_time_per_key = std::chrono::milliseconds(1);
  fast.max_noise = 0.5;
  fast.budget = std::min<std::chrono::steady_clock::duration>(settings.time / 10, std::chrono::seconds(10));
  PT_ASSIGN(const MeasureReport measured, to.engine->MeasureModel(*made.model, fast, {}));
  for (const char* planner : {"search", "per-op", "random:1", "random:2"}) {
    PT_ASSIGN(Plan plan, to.engine->MakePlan(*made.model, {.planner = planner, .default_plan = true}));
    PT_ASSIGN(const auto session, to.engine->MakeSession(*made.model, plan));
    PT_ASSIGN(Values outputs, RunData(*session, made.inputs));
    plan.planner = std::to_string(made.plans.size());  // tells which one a run took
    made.plans.push_back(std::move(plan));
    made.expected.push_back(std::move(outputs));
  }
  PT_ASSIGN(made.session, to.engine->MakeSession(*made.model, made.plans[0]));
  std::printf("# %s: %zu steps by search, %zu of %zu times measured\n", made.name.c_str(), made.plans[0].steps.size(),
              measured.needed - measured.missing, measured.needed);
  to.cases.push_back(std::move(made));
  return {};
}

}  // namespace

Result<SoakSettings> SoakSettingsFrom(const std::vector<std::string>& words) {
  SoakSettings settings;
  settings.machine.plugins = {"none"};
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!word.starts_with("--")) {
      settings.models.push_back(word);
      continue;
    }
    if (++i == words.size()) return MakeError(ErrorCode::kUsage, "usage", word + " needs a value");
    if (word == "--plugin-path") {
      settings.machine.plugin_paths = SplitFolders(words[i]);
      if (settings.machine.plugins == std::vector<std::string>{"none"}) settings.machine.plugins.clear();
      continue;
    }
    if (word == "--plugins") {
      settings.machine.plugins = Split(words[i], ',');
      continue;
    }
    PT_ASSIGN(const int64_t number, Number(words[i]));
    if (word == "--minutes") {
      settings.time = std::chrono::minutes(number);
    } else if (word == "--seconds") {
      settings.time = std::chrono::seconds(number);
    } else if (word == "--callers") {
      settings.callers = static_cast<size_t>(number);
    } else if (word == "--rate") {
      settings.rate = static_cast<uint64_t>(number);
    } else if (word == "--seed") {
      settings.seed = static_cast<uint64_t>(number);
    } else {
      return MakeError(ErrorCode::kUsage, "usage", "there is no flag " + word);
    }
  }
  if (settings.callers == 0 || settings.time < std::chrono::seconds(1)) {
    return MakeError(ErrorCode::kUsage, "usage", "at least one caller and one second");
  }
  return settings;
}

Folder::Folder() : path_((std::filesystem::temp_directory_path() / "soak-XXXXXX").string()) {
  if (mkdtemp(path_.data()) == nullptr) std::perror("mkdtemp"), std::exit(2);
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

bool Same(const Values& a, const Values& b) { return std::ranges::equal(a, b, SameData); }

Result<std::unique_ptr<Cases>> Cases::Make(const SoakSettings& settings) {
  auto made = std::make_unique<Cases>();
  Random random(settings.seed);
  std::vector<std::string> models = settings.models;
  if (models.empty()) {
    const std::string branches = made->folder.file("branches.onnx"), positions = made->folder.file("positions.onnx");
    PT_CHECK_OK(SaveBranches(branches, random));
    PT_CHECK_OK(SavePositions(positions, random));
    models = {branches + "@batch=1@batch=3@batch=8", positions};
  }
  EngineOptions options;
  options.machine.plugins = {"none"};
  options.db_path = made->folder.file("profile.db");
  PT_ASSIGN(made->engine, Engine::Make(options));
  for (const std::string& model : models) {
    const std::vector<std::string> parts = Split(model, '@');
    made->networks.push_back({.path = parts[0], .sizes = nullptr});
    ShapedSessionsOptions one;
    one.most_sessions = 1;
    one.plan.planner = "heft";
    PT_ASSIGN(made->networks.back().sizes, ShapedSessions::Make(*made->engine, parts[0], one));
    for (size_t i = parts.size() == 1 ? 0 : 1; i < parts.size(); ++i) {
      PT_CHECK_OK(AddCase(settings, parts[0], i == 0 ? "" : parts[i], random, *made));
    }
  }
  return made;
}

bool Cases::IsResultOf(const Case& of, const Values& found, const Plan& before, const Plan& after) {
  for (size_t p = 0; p < of.plans.size(); ++p) {
    if (&before == &after && before.planner != of.plans[p].planner) continue;
    if (Same(of.expected[p], found)) return true;
  }
  return false;
}

Resources CountResources() {
  Resources counted;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    const auto number = [&] { return std::strtod(line.c_str() + line.find(':') + 1, nullptr); };
    if (line.starts_with("RssAnon:")) counted.resident_mib = number() / 1024;
    if (line.starts_with("Threads:")) counted.threads = static_cast<int>(number());
  }
  const auto allocated = mallinfo2();
  counted.allocated_mib = static_cast<double>(allocated.uordblks + allocated.hblkhd) / (1 << 20);
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    counted.handles += !entry.path().empty();
  return counted;
}

std::string ToString(const Resources& counted) {
  char text[128];
  std::snprintf(text, sizeof(text), "%7.2f MiB allocated  %6.1f resident  %3d handles  %3d threads",
                counted.allocated_mib, counted.resident_mib, counted.handles, counted.threads);
  return text;
}

bool HasGrown(const Resources& first, const Resources& last) {
  const double allocated = last.allocated_mib - first.allocated_mib, resident = last.resident_mib - first.resident_mib;
  const double most_allocated = std::max(first.allocated_mib * kAllocatedShare, kAllocatedMib);
  const double most_resident = std::max(first.resident_mib * kResidentShare, kResidentMib);
  const int handles = last.handles - first.handles, threads = last.threads - first.threads;
  std::printf("drift: %+.2f MiB allocated (at most %.2f), %+.1f resident (at most %.1f), %+d handles, %+d threads\n",
              allocated, most_allocated, resident, most_resident, handles, threads);
  return allocated > most_allocated || resident > most_resident || handles > 0 || threads > 0;
}

}  // namespace pt::bench
