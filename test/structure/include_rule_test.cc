// The layering of the source tree, held by reading every #include: a layer may include the public headers of the
// layers it names in the top CMakeLists.txt and of those below them, nobody includes another layer's private headers,
// and each third-party library is seen by the one layer that owns it.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "test/structure/source_tree.h"

namespace pt::testing::include_rule_test {
namespace {

namespace fs = std::filesystem;

// Every layer with itself and all layers below it.
using Layers = std::map<std::string, std::set<std::string>>;

// Where a third-party header may be included: its name begins with `prefix`, the including file's path with one of
// `owners`.
struct ThirdParty {
  std::string prefix;
  std::vector<std::string> owners;
};

const std::vector<ThirdParty>& ThirdParties() {
  static const std::vector<ThirdParty> table = {
      {"nlohmann/", {"lib/support/"}},
      {"xxhash", {"lib/support/"}},
      {"onnx/", {"lib/onnx/", "test/onnx/"}},
      {"google/protobuf/", {"lib/onnx/"}},
      {"dnnl", {"lib/backend/onednn/"}},
      {"oneapi/dnnl/", {"lib/backend/onednn/"}},
      {"tbb/", {"lib/backend/onednn/"}},
      {"cuda.h", {"plugins/cuda/"}},
      {"nvrtc.h", {"plugins/cuda/"}},
      {"cublasLt.h", {"plugins/cuda/"}},
      {"cudnn", {"plugins/cuda/dnn_frontend.cc"}},
      {"hwy/",
       {"lib/backend/host_kernels/", "lib/backend/onednn/", "lib/backend/recurrent/", "test/backend/", "bench/",
        "lib/backend/host/vector_math-inl.h"}},  // for those that have Highway
      {"sqlite3", {"lib/cost/", "test/cost/"}},
      {"hwloc", {"lib/platform/"}},
      {"Eigen/", {"lib/backend/reference/", "lib/cost/"}},
      {"CLI/", {"tools/"}},
      {"openvino/", {"plugins/openvino/"}},
      {"onnxruntime_", {"plugins/onnxruntime/", "test/onnxruntime/", "bench/onnxruntime/"}},
      {"catch2/", {"test/"}},
      {"benchmark/", {"bench/"}},
  };
  return table;
}

// Headers of the C library, of Linux and of the compiler's sanitizers; anything else that ends in .h or has a folder is
// third-party.
bool IsSystemHeader(const std::string& name) {
  static const std::regex linux_header(
      "(sys|linux|bits|asm|arpa|netinet|sanitizer)/.*|"
      "(unistd|fcntl|malloc|pthread|sched|dlfcn|signal|poll|spawn|errno|time|stdlib|string|stdio|stdint|math|fenv|"
      "locale|"
      "dirent|fnmatch|glob|ucontext|(imm|xmm|pmm|emm)intrin|cpuid|x86intrin|arm_neon)\\.h");
  return name.find_first_of("./") == std::string::npos || std::regex_match(name, linux_header);
}

// The folder that follows `top` in `path`: "lib/graph/builder.cc" below "lib/" is "graph".
std::string FolderBelow(const std::string& path, const std::string& top) {
  if (!StartsWith(path, top)) return "";
  const size_t end = path.find('/', top.size());
  return end == std::string::npos ? "" : path.substr(top.size(), end - top.size());
}

Layers ParseLayers(const std::string& cmake) {
  Layers layers;
  static const std::regex line("^pt_layer\\((\\w+)(?: USES ([\\w ]+))?\\)");
  std::istringstream in(cmake);
  for (std::string text; std::getline(in, text);) {
    std::smatch match;
    if (!std::regex_search(text, match, line)) continue;
    std::set<std::string>& below = layers[match[1]];
    below.insert(match[1]);
    std::istringstream uses(match[2]);
    for (std::string used; uses >> used;) {
      const auto found = layers.find(used);
      if (found != layers.end()) below.insert(found->second.begin(), found->second.end());
    }
  }
  return layers;
}

// A backend may be switched off, so others lean on nothing but what every build has: the layer's own files, the host's,
// and for the layer's own files the reference library.
bool IsOtherBackend(const std::string& file, const std::string& include) {
  const std::string own = FolderBelow(file, "lib/backend/"), used = FolderBelow(include, "lib/backend/");
  if (used.empty() || used == own || used == "host") return false;
  return !own.empty() || used != "reference";
}

// What is wrong with one include of one file; empty if nothing is.
std::string Fault(const SourceFile& file, const Include& include, const Layers& layers) {
  const bool is_public = StartsWith(file.path, "include/");
  const std::string layer =
      is_public ? FolderBelow(file.path, "include/partitiontuner/") : FolderBelow(file.path, "lib/");
  const std::string used = FolderBelow(include.name, "partitiontuner/");
  if (!used.empty()) {
    if (layer.empty()) return "";  // tools, tests and benches use every layer, the umbrella header too
    const auto below = layers.find(layer);
    if (below == layers.end()) return "layer '" + layer + "' is not in CMakeLists.txt";
    return below->second.contains(used) ? "" : "layer '" + layer + "' may not use layer '" + used + "'";
  }
  if (include.name == "partitiontuner/version.h") return "";
  if (StartsWith(include.name, "lib/")) {
    if (is_public) return "a public header includes a private one";
    if (StartsWith(file.path, "test/")) return "";
    if (FolderBelow(include.name, "lib/") != layer) return "a private header of another layer";
    return IsOtherBackend(file.path, include.name) ? "a private header of another backend" : "";
  }
  if (StartsWith(include.name, "tools/")) {
    const bool may = StartsWith(file.path, "tools/") || StartsWith(file.path, "test/fuzz/");  // which reads flags
    return may ? "" : "only tools/ may use tools/";
  }
  if (StartsWith(include.name, "test/")) return StartsWith(file.path, "test/") ? "" : "only test/ may use test/";
  if (StartsWith(include.name, "plugins/")) {
    const std::string used_by =
        FolderBelow(file.path, "plugins/") + FolderBelow(file.path, "test/") + FolderBelow(file.path, "bench/");
    if (FolderBelow(include.name, "plugins/") == "shared" && !used_by.empty()) return "";
    return used_by == FolderBelow(include.name, "plugins/")
               ? ""
               : "only a plugin, its test and its benchmark may use its files";
  }
  if (StartsWith(include.name, "bench/")) return StartsWith(file.path, "bench/") ? "" : "only bench/ may use bench/";
  for (const ThirdParty& third : ThirdParties()) {
    if (!StartsWith(include.name, third.prefix)) continue;
    if (is_public) return "a public header names a third-party library";
    const bool owned = std::any_of(third.owners.begin(), third.owners.end(),
                                   [&](const std::string& owner) { return StartsWith(file.path, owner); });
    return owned ? "" : "this library belongs to another layer";
  }
  if (!include.system) return "not a path from the source tree's root";
  if (is_public && include.name.find_first_of("./") != std::string::npos) {
    return "a public header includes a system header";
  }
  return IsSystemHeader(include.name) ? "" : "a library that no layer owns (see ThirdParties)";
}

Layers ReadLayers() {
  std::ifstream in(fs::path(PT_SOURCE_DIR) / "CMakeLists.txt");
  return ParseLayers(std::string(std::istreambuf_iterator<char>(in), {}));
}

}  // namespace

TEST_CASE("IncludeRule, EveryLayerUsesOnlyLayersBelowIt", "[structure]") {
  const Layers layers = ReadLayers();
  REQUIRE(layers.size() > 10);
  int seen = 0;
  for (const SourceFile& file : ReadTree()) {
    if (StartsWith(file.path, "test/consumer/")) continue;  // it stands for an application of its own
    for (const Include& include : ParseIncludes(file.text)) {
      ++seen;
      const std::string fault = Fault(file, include, layers);
      INFO(file.path << ":" << include.line << ": " << include.name);
      CHECK(fault == "");
    }
  }
  CHECK(seen > 100);
}

TEST_CASE("IncludeRule, ForbiddenIncludesAreFound", "[structure]") {
  const Layers layers = ParseLayers(
      "pt_layer(support)\npt_layer(graph USES support)\npt_layer(onnx USES graph)\n"
      "pt_layer(cost USES graph)\n");
  const auto fault = [&](const std::string& path, const std::string& line) {
    const std::vector<Include> includes = ParseIncludes(line);
    REQUIRE(includes.size() == 1);
    return Fault({path, line}, includes[0], layers);
  };
  CHECK(fault("lib/graph/a.cc", "#include \"partitiontuner/support/result.h\"") == "");
  CHECK(fault("lib/onnx/a.cc", "#include \"partitiontuner/support/result.h\"") == "");
  CHECK(fault("lib/support/a.cc", "#include \"partitiontuner/graph/graph.h\"") != "");
  CHECK(fault("include/partitiontuner/graph/a.h", "#include \"partitiontuner/onnx/load.h\"") != "");
  CHECK(fault("lib/onnx/a.cc", "#include \"lib/onnx/a.h\"") == "");
  CHECK(fault("lib/onnx/a.cc", "#include \"lib/graph/a.h\"") != "");
  CHECK(fault("include/partitiontuner/graph/a.h", "#include \"lib/graph/a.h\"") != "");
  CHECK(fault("lib/graph/a.cc", "#include <nlohmann/json.hpp>") != "");
  CHECK(fault("plugins/p/a.cc", "#include \"plugins/p/a.h\"") == "");
  CHECK(fault("test/p/a_test.cc", "#include \"plugins/p/a.h\"") == "");
  CHECK(fault("plugins/p/a.cc", "#include \"plugins/q/a.h\"") != "");
  CHECK(fault("plugins/p/a.cc", "#include \"plugins/shared/a.h\"") == "");
  CHECK(fault("tools/a.cc", "#include \"plugins/shared/a.h\"") != "");
  CHECK(fault("plugins/p/a.cc", "#include \"lib/graph/a.h\"") != "");
  CHECK(fault("lib/graph/a.cc", "#include \"plugins/p/a.h\"") != "");
  CHECK(fault("lib/support/a.cc", "#include <nlohmann/json.hpp>") == "");
  CHECK(fault("include/partitiontuner/support/a.h", "#include <nlohmann/json.hpp>") != "");
  CHECK(fault("include/partitiontuner/support/a.h", "#include <sys/mman.h>") != "");
  CHECK(fault("lib/support/a.cc", "#include <boost/any.hpp>") != "");
  CHECK(fault("lib/graph/a.cc", "#include \"graph.h\"") != "");
  CHECK(fault("lib/unheard/a.cc", "#include \"partitiontuner/support/result.h\"") != "");
  CHECK(fault("lib/backend/onednn/a.cc", "#include \"lib/backend/built_in.h\"") == "");
  CHECK(fault("lib/backend/simulated/a.cc", "#include \"lib/backend/host/a.h\"") == "");
  CHECK(fault("lib/backend/a.cc", "#include \"lib/backend/reference/a.h\"") == "");
  CHECK(fault("lib/backend/simulated/a.cc", "#include \"lib/backend/reference/a.h\"") != "");
  CHECK(fault("lib/backend/a.cc", "#include \"lib/backend/onednn/a.h\"") != "");
  CHECK(fault("examples/plugin/a.cc", "#include <partitiontuner/backend/plugin.h>") == "");
  CHECK(fault("examples/plugin/a.cc", "#include \"lib/backend/built_in.h\"") != "");
}

TEST_CASE("Library, NeitherPrintsNorExits", "[structure]") {
  // snprintf and _exit (of a child process) are something else.
  static const std::regex forbidden("\\bstd::(cout|cerr|clog)\\b|(^|[^\\w])(f?printf|puts|perror|exit|abort)\\s*\\(");
  for (const SourceFile& file : ReadTree()) {
    if (!StartsWith(file.path, "lib/") && !StartsWith(file.path, "include/")) continue;
    if (file.path == "lib/support/result.cc") continue;  // a value that is not there ends the process, with the reason
    std::istringstream in(WithoutCommentsAndTexts(file.text));
    for (std::string line; std::getline(in, line);) {
      INFO(file.path << ": " << line);
      CHECK_FALSE(std::regex_search(line, forbidden));
    }
  }
}

TEST_CASE("PublicHeader, IsGuardedByPragmaOnce", "[structure]") {
  int seen = 0;
  for (const SourceFile& file : ReadTree()) {
    if (!StartsWith(file.path, "include/")) continue;
    ++seen;
    INFO(file.path);
    CHECK(file.text.find("#pragma once") != std::string::npos);
    CHECK(StartsWith(file.text, "// "));  // the first lines say what the file is
  }
  CHECK(seen > 10);
}

}  // namespace pt::testing::include_rule_test
