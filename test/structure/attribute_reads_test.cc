// Attributes that a reader of operators reads (partitiontuner/graph/operators) are read nowhere else: a default that is
// typed twice is corrected once.
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "test/structure/source_tree.h"

namespace pt::testing {
namespace {

// In alphabetical order, a space before and behind each.
constexpr std::string_view kRead =
    " align_corners alpha approximate auto_pad axis batch_dims beta block_size blocksize ceil_mode "
    "center_point_box clip count_include_pad dilations epsilon equation exclusive fmod gamma group hidden_size "
    "input_forget interleaved is_causal keepdims kernel_shape kv_num_heads lambd largest left_window_size "
    "linear_before_reset momentum noop_with_empty_axes num_groups num_scan_inputs output_padding pads perm q_num_heads "
    "rotary_embedding_dim sampling_ratio scan_input_axes scan_input_directions scan_output_axes "
    "scan_output_directions select_last_index softcap softmax_precision sorted spatial_scale "
    "stash_type storage_order strides training_mode transA transB ";

bool HasReader(std::string_view attribute) {
  return kRead.find(" " + std::string(attribute) + " ") != std::string_view::npos;
}

// Attributes of the same name that an operator has which only the reference library knows.
struct OwnAttribute {
  std::string_view path, attribute;
};
constexpr std::array kOwn = {
    OwnAttribute{"lib/backend/reference/linear_attention.cc", "kv_num_heads"},
    OwnAttribute{"lib/backend/reference/linear_attention.cc", "q_num_heads"},
    OwnAttribute{"lib/backend/reference/sampling.cc", "align_corners"},  // AffineGrid
    OwnAttribute{"lib/backend/reference/sequences.cc", "keepdims"},      // SplitToSequence
    OwnAttribute{"lib/backend/reference/signal.cc", "axis"},             // DFT
    OwnAttribute{"lib/backend/reference/slice.cc", "pads"},              // Pad before operator set 11
};

// The names that a file reads as attributes of a node.
std::vector<std::string> ReadAttributes(const std::string& text) {
  static const std::regex read("\\b(?:(?:int|float|string|ints)_or|node(?:\\(\\))?(?:\\.|->)find)\\(\"(\\w+)\"");
  std::vector<std::string> names;
  for (std::sregex_iterator at(text.begin(), text.end(), read), end; at != end; ++at) names.push_back((*at)[1]);
  return names;
}

bool IsOwn(std::string_view path, std::string_view attribute) {
  return std::ranges::any_of(kOwn,
                             [&](const OwnAttribute& own) { return own.path == path && own.attribute == attribute; });
}

TEST_CASE("Attribute, IsReadByItsReaderAlone", "[structure]") {
  size_t files = 0, own = 0;
  for (const SourceFile& file : ReadTree()) {
    const bool is_product = file.path.starts_with("lib/") || file.path.starts_with("plugins/");
    if (!is_product || file.path.starts_with("lib/graph/operators/") || file.path.starts_with("lib/onnx/")) continue;
    ++files;
    for (const std::string& name : ReadAttributes(file.text)) {
      if (!HasReader(name)) continue;
      own += IsOwn(file.path, name) ? 1 : 0;
      if (!IsOwn(file.path, name)) FAIL_CHECK(file.path << " reads \"" << name << "\" by itself");
    }
  }
  CHECK(files > 300);
  CHECK(own == kOwn.size());
}

TEST_CASE("Attribute, OfEveryNameThatIsForbiddenHasAReader", "[structure]") {
  std::string readers;
  for (const SourceFile& file : ReadTree()) {
    if (file.path.starts_with("lib/graph/operators/")) readers += file.text;
  }
  std::istringstream names{std::string(kRead)};
  for (std::string name; names >> name;) {
    INFO(name);
    CHECK(readers.find('"' + name + '"') != std::string::npos);
  }
}

TEST_CASE("Attribute, ReadingsAreFoundHoweverTheNodeIsNamed", "[structure]") {
  CHECK(ReadAttributes("a = site.node().int_or(\"axis\", 0) + n->float_or(\"alpha\", 1);") ==
        std::vector<std::string>{"axis", "alpha"});
  CHECK(ReadAttributes("if (node.find(\"perm\") != nullptr || site.node().find(\"axis\"))") ==
        std::vector<std::string>{"perm", "axis"});
  CHECK(ReadAttributes("node.attributes[\"axis\"] = 1; text.find(\"axis\");").empty());
}

}  // namespace
}  // namespace pt::testing
