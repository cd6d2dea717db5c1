// What CONTRIBUTING.md forbids outright, sleeping tests and state that everybody shares, but for the places named here
// with their reasons.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "test/structure/source_tree.h"

namespace pt::testing::conduct_test {
namespace {

struct Exception {
  std::string_view path, reason;
};

std::vector<std::string> LinesWith(const SourceFile& file, const std::regex& pattern) {
  std::vector<std::string> found;
  std::istringstream in(WithoutCommentsAndTexts(file.text));
  for (std::string line; std::getline(in, line);) {
    if (std::regex_search(line, pattern)) found.push_back(line);
  }
  return found;
}

// Fails for lines of files under one of `tops` that match, and for exceptions that nothing needs any more.
void CheckAbsent(const std::vector<std::string_view>& tops, const std::regex& pattern,
                 const std::vector<Exception>& exceptions) {
  std::vector<std::string_view> used;
  for (const SourceFile& file : ReadTree()) {
    if (std::ranges::none_of(tops, [&](std::string_view top) { return file.path.starts_with(top); })) continue;
    const auto excepted = std::ranges::find(exceptions, file.path, &Exception::path);
    for (const std::string& line : LinesWith(file, pattern)) {
      if (excepted == exceptions.end()) FAIL_CHECK(file.path << ": " << line);
    }
    if (excepted != exceptions.end() && !LinesWith(file, pattern).empty()) used.push_back(excepted->path);
  }
  for (const Exception& exception : exceptions) {
    INFO(exception.path << " needs no exception any more: " << exception.reason);
    CHECK(std::ranges::find(used, exception.path) != used.end());
  }
}

const std::regex& Sleep() {
  static const std::regex pattern("\\b(sleep_for|sleep_until|usleep|nanosleep|sleep)\\s*\\(");
  return pattern;
}

// A variable that is not constant and outlives the call or object that it belongs to.
const std::regex& SharedState() {
  static const std::regex pattern(
      "\\bthread_local\\b|^\\s*static (?!const\\b|constexpr\\b|inline\\b|_)[\\w:<>,*& ]+ \\w+(\\{.*\\}| = .*)?;");
  return pattern;
}

TEST_CASE("Tests, NeverSleep", "[structure]") {
  CheckAbsent({"test/"}, Sleep(),
              {{"test/exec/stalled_workers_test.cc", "has threads stand still as others' work would have them do"},
               {"test/onnxruntime/library_test.cc", "shows that nothing happens while time passes, by processor time"},
               {"test/testing/probe_library.cc", "stands for a driver whose launches take time"}});
}

TEST_CASE("Sources, ShareNoStateBetweenCalls", "[structure]") {
  CheckAbsent(
      {"include/", "lib/", "plugins/"}, SharedState(),
      {{"lib/exec/team.cc", "whether this thread computes for a team: a library that is called from there asks"},
       {"lib/exec/workers.cc", "whether this thread is a worker: one that waited for its own queue would never end"},
       {"lib/backend/onednn/team_pool.cc", "oneDNN asks its thread pool whether it is in a parallel section"},
       {"lib/backend/host/static_run.cc", "objects without state, which references need"},
       {"plugins/cuda/dnn_frontend.cc", "cuDNN's front end has one place for the library in a process"},
       {"plugins/onnxruntime/runtime.cc", "ONNX Runtime has one environment in a process"},
       {"plugins/openvino/runtime.cc", "two of OpenVINO's cores in a process share their plugins"}});
}

TEST_CASE("Conduct, ForbiddenLinesAreFound", "[structure]") {
  const auto found = [](const std::regex& pattern, const std::string& text) {
    return LinesWith({"a.cc", text}, pattern).size();
  };
  CHECK(found(Sleep(), "std::this_thread::sleep_for(1ms);\nusleep (3);\n// sleep(1)\nSleepers(4);\n") == 2);
  CHECK(found(SharedState(), "  static std::mutex mutex;\nthread_local int depth = 0;\n  static Counts counts{};\n") ==
        3);
  CHECK(found(SharedState(),
              "  static const Table table;\n  static Result<int> Make(int x);\nstatic constexpr int k = 1;\n"
              "static void Say(const char* text);\n") == 0);
}

}  // namespace
}  // namespace pt::testing::conduct_test
