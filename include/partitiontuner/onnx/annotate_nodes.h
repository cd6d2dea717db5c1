// Notes at the nodes of a model's file, where viewers such as Netron show them: metadata_props of its nodes. All else
// stays as it is, byte for byte: weights, references to external data and fields that the loader skips.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "partitiontuner/support/limits.h"
#include "partitiontuner/support/result.h"

namespace pt {

struct AnnotatedModel {
  std::string bytes;
  uint64_t nodes = 0;                       // of all graphs
  std::vector<std::string> external_files;  // that initialisers lie in, as the file names them
};

// A node of the main graph or of a nested one: the two together tell it apart, as in Source.
struct NodePlace {
  std::string subgraph;  // "" at the top, else "12.then_branch/3.body"
  uint64_t index = 0;    // within its graph in the file
  friend auto operator<=>(const NodePlace&, const NodePlace&) = default;
};

// Keys and values.
using NodeNotes = std::vector<std::pair<std::string, std::string>>;
using NotesOfNode = std::function<NodeNotes(const NodePlace& node)>;

// model: the bytes of a file. Nodes of functions have no notes: they run wherever the function is called. Notes that
// begin with `prefix` are of an earlier call, and go; those of others stay. Errors: kInvalidInput where it is not the
// file of a model; "annotate.size" where it becomes larger than files may be.
Result<AnnotatedModel> AnnotateNodes(std::string_view model, std::string_view prefix, const NotesOfNode& notes,
                                     const Limits& limits = {});

}  // namespace pt
