// A full disk, a faulty one, short writes, and a process that is killed at any of its writes: files that are replaced
// are the old or the new one, and the database has all that it said it had stored.
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "partitiontuner/cost/profile.h"
#include "partitiontuner/onnx/load_onnx.h"
#include "partitiontuner/support/result.h"
#include "test/testing/command.h"

namespace pt::testing::io_faults_test {
namespace {

namespace fs = std::filesystem;

constexpr int kMostCalls = 2000;  // a writer that makes more would never come to its end
constexpr size_t kOldBytes = 10'000, kNewBytes = 20'000;

struct Fault {
  const char* how;
  bool stays;  // all calls that follow fail as well
};
constexpr Fault kFaults[] = {{"ENOSPC", true}, {"EIO", false},  {"EROFS", true},
                             {"short", false}, {"kill", false}, {"torn", false}};

bool EndsTheProcess(const Fault& fault) { return std::string(fault.how) == "kill" || std::string(fault.how) == "torn"; }

// A folder of its own for each try, and a mark beside it.
class Trial {
 public:
  explicit Trial(bool on_network = false)
      : on_network_(on_network), root_(fs::temp_directory_path() / ("pt-io-faults-" + std::to_string(::getpid()))) {
    fs::remove_all(root_);
    fs::create_directories(folder());
  }
  ~Trial() { fs::remove_all(root_); }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  fs::path folder() const { return root_ / "files"; }
  bool reached() const { return fs::exists(mark()); }
  CommandResult Write(const std::vector<std::string>& what, const Fault& fault, int nth) const {
    std::vector<std::string> words = {PT_IO_WRITER};
    words.insert(words.end(), what.begin(), what.end());
    CommandOptions options;
    options.environment = {"LD_PRELOAD=" PT_IO_SHIM, "PT_IO_FOLDER=" + folder().string(),
                           "PT_IO_NTH=" + std::to_string(nth), std::string("PT_IO_HOW=") + fault.how,
                           "PT_IO_MARK=" + mark().string()};
    if (on_network_) options.environment.push_back("PT_IO_NETWORK=1");
    if (fault.stays) options.environment.push_back("PT_IO_ON=1");
    return RunCommand(words, options);
  }

 private:
  fs::path mark() const { return root_ / "mark"; }
  bool on_network_;
  fs::path root_;
};

std::string ContentOf(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// Whether the program ended as the fault says: by its signal, by an error of ours, or not at all.
bool EndsWell(const CommandResult& result, const Fault& fault) {
  if (EndsTheProcess(fault)) return result.exit_code == 128 + 9;
  return result.exit_code == 0 ||
         (result.exit_code == static_cast<int>(ErrorCode::kInvalidInput) && !result.err.empty());
}

// Calls check with each number of a call until the program makes no more; how many there were.
template <typename F>
int ForEachCall(F&& check) {
  for (int nth = 1; nth < kMostCalls; ++nth) {
    if (!check(nth)) return nth - 1;
  }
  FAIL("the writer makes more calls than " << kMostCalls);
  return 0;
}

}  // namespace

TEST_CASE("Files, AreOldOrNewWhateverCallFails", "[faults]") {
  for (const Fault& fault : kFaults) {
    CAPTURE(fault.how);
    const int calls = ForEachCall([&](int nth) {
      CAPTURE(nth);
      const Trial trial;
      const fs::path path = trial.folder() / "plan.json";
      std::ofstream(path) << std::string(kOldBytes, 'o');
      const CommandResult result = trial.Write({"file", path, std::to_string(kNewBytes)}, fault, nth);
      if (!trial.reached()) return false;
      CAPTURE(result.exit_code, result.err);
      CHECK(EndsWell(result, fault));
      const std::string content = ContentOf(path);
      CHECK((content == std::string(kOldBytes, 'o') || content == std::string(kNewBytes, 'n')));
      if (result.exit_code == 0) CHECK(content == std::string(kNewBytes, 'n'));
      const auto files = std::distance(fs::directory_iterator(trial.folder()), fs::directory_iterator());
      if (!EndsTheProcess(fault) && !fault.stays) CHECK(files == 1);  // nothing half-written is left
      return true;
    });
    CHECK(calls >= 4);  // made, written, synced, renamed
  }
}

// The value of all weights of the model, or why there is none.
Result<float> WeightsOf(const std::string& path) {
  PT_ASSIGN(const Graph graph, LoadOnnx(path, {}));
  for (const Value& value : graph.values()) {
    if (!value.is_constant()) continue;
    const std::span<const float> numbers = value.constant->values<float>();
    if (std::ranges::any_of(numbers, [&](float number) { return number != numbers[0]; })) break;
    return numbers[0];
  }
  return MakeError(ErrorCode::kInternal, "test.mixed", "weights of two models, or none");
}

// A model and its weights are two files: those of two models never come together.
TEST_CASE("SavedModels, AreOldOrNewOrGoneWhateverCallFails", "[faults]") {
  constexpr Fault kNone = {"", false};
  for (const Fault& fault : kFaults) {
    CAPTURE(fault.how);
    const int calls = ForEachCall([&](int nth) {
      CAPTURE(nth);
      const Trial trial;
      const std::string path = trial.folder() / "model.onnx";
      REQUIRE(trial.Write({"model", path, "1"}, kNone, kMostCalls * 100).exit_code == 0);
      REQUIRE(WeightsOf(path).value() == 1);
      const CommandResult result = trial.Write({"model", path, "2"}, fault, nth);
      if (!trial.reached()) return false;
      CAPTURE(result.exit_code, result.err);
      CHECK(EndsWell(result, fault));
      const Result<float> weights = WeightsOf(path);
      INFO((weights.ok() ? "" : ToString(weights.error())));
      if (weights.ok()) {
        CHECK((*weights == 1 || *weights == 2));
      } else {
        CHECK(weights.error().id == "file.open");
        CHECK_FALSE(fs::exists(path));
      }
      if (result.exit_code == 0) CHECK((weights.ok() && *weights == 2));
      return true;
    });
    CHECK(calls >= 8);  // two files made, written, synced and renamed
  }
}

TEST_CASE("ProfileDb, KeepsWhatItSaidItHadStoredWhateverCallFails", "[faults][slow]") {
  const bool on_network = GENERATE(false, true);
  for (const bool fresh : {true, false}) {
    for (const Fault& fault : kFaults) {
      CAPTURE(fault.how, fresh, on_network);
      const int calls = ForEachCall([&](int nth) {
        CAPTURE(nth);
        const Trial trial(on_network);
        const std::string path = trial.folder() / "profile.db";
        constexpr Fault kNone = {"", false};
        if (!fresh) REQUIRE(trial.Write({"database", path, "0", "3"}, kNone, kMostCalls * 100).exit_code == 0);
        const CommandResult result = trial.Write({"database", path, "3", "2"}, fault, nth);
        if (!trial.reached()) return false;
        CAPTURE(result.exit_code, result.err, result.out);
        CHECK(EndsWell(result, fault));
        CHECK_FALSE((on_network && (fs::exists(path + "-wal") || fs::exists(path + "-shm"))));
        Result<ProfileDb> db = ProfileDb::Open(path);
        INFO((db.ok() ? "" : ToString(db.error())));
        REQUIRE(db.ok());
        const auto all = db->All();
        REQUIRE(all.ok());
        const size_t said = static_cast<size_t>(std::ranges::count(result.out, '\n')) + (fresh ? 0 : 3);
        CHECK(all->size() >= said);
        CHECK(all->size() <= said + 1);  // one may have been stored before it could be said
        for (const auto& [hash, measurement] : *all) CHECK(measurement.median_ns >= 1000);
        return true;
      });
      CHECK(calls >= 3);
    }
  }
}

}  // namespace pt::testing::io_faults_test
