// What a node says is read by the readers of operators (partitiontuner/graph/operators) alone: a default that is typed
// twice is corrected once.
#include <catch2/catch_test_macros.hpp>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "test/structure/source_tree.h"

namespace pt::testing::attribute_reads_test {
namespace {

// Where attributes are read: by the readers, by the graph that holds them, and out of the file, whose nodes are others.
bool MayRead(std::string_view path) { return path.starts_with("lib/graph/") || path.starts_with("lib/onnx/"); }

// The calls by which a file reads an attribute of a node. Passes write attributes, and hashes and keys go over all.
std::vector<std::string> ReadingCalls(const std::string& text) {
  static const std::regex read("\\b((?:int|float|string|ints)_or\\(|node(?:\\(\\))?(?:\\.|->)find\\()");
  std::vector<std::string> calls;
  for (std::sregex_iterator at(text.begin(), text.end(), read), end; at != end; ++at) calls.push_back((*at)[1]);
  return calls;
}

TEST_CASE("Attribute, IsReadByReadersOfOperatorsAlone", "[structure]") {
  size_t files = 0, readers = 0;
  for (const SourceFile& file : ReadTree()) {
    const bool is_product = file.path.starts_with("lib/") || file.path.starts_with("plugins/") ||
                            file.path.starts_with("tools/") || file.path.starts_with("python/");
    if (!is_product) continue;
    ++files;
    const std::vector<std::string> calls = ReadingCalls(file.text);
    if (MayRead(file.path)) {
      readers += calls.size();
    } else {
      for (const std::string& call : calls) FAIL_CHECK(file.path << " reads an attribute by itself: " << call);
    }
  }
  CHECK(files > 300);
  CHECK(readers > 150);
}

TEST_CASE("Attribute, ReadingsAreFoundHoweverTheNodeIsNamed", "[structure]") {
  CHECK(ReadingCalls("a = site.node().int_or(\"axis\", 0) + n->float_or(name, 1);") ==
        std::vector<std::string>{"int_or(", "float_or("});
  CHECK(ReadingCalls("if (node.find(\"perm\") != nullptr || site.node().find(name))") ==
        std::vector<std::string>{"node.find(", "node().find("});
  CHECK(ReadingCalls("node.attributes[\"axis\"] = 1; text.find(\"axis\");").empty());
}

}  // namespace
}  // namespace pt::testing::attribute_reads_test
