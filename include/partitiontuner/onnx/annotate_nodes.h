// Notes at the nodes of a model's file, where viewers such as Netron show them: metadata_props of its nodes. All else
// stays as it is, byte for byte: weights, references to external data and fields that the loader skips.
#pragma once

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
  uint64_t nodes = 0;                       // of the main graph
  std::vector<std::string> external_files;  // that initialisers lie in, as the file names them
};

// Of a node of the main graph, by its index in the file: keys and values.
using NodeNotes = std::vector<std::pair<std::string, std::string>>;
using NotesOfNode = std::function<NodeNotes(uint64_t node)>;

// model: the bytes of a file. Notes that begin with `prefix` are of an earlier call, and go; those of others stay.
// Errors: kInvalidInput where it is not the file of a model; "annotate.size" where it becomes larger than files may be.
Result<AnnotatedModel> AnnotateNodes(std::string_view model, std::string_view prefix, const NotesOfNode& notes,
                                     const Limits& limits = {});

}  // namespace pt
