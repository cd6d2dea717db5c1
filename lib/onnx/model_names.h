// Who defines which name: every node of every graph is put after what it reads, and names that are missing or defined
// twice in one graph are refused, with both definitions named. A graph reads what it defines itself, before what graphs
// around it define (hiding_names.h).
#pragma once

#include "lib/onnx/fence.h"

namespace pt {

// Notes in each node where it stands in the file; read back by SourceOf after sorting and
// expansion.
void MarkSources(proto::ModelProto& model);

// Sorts and checks the main graph, all subgraphs and all function bodies. Linear in the model's
// size times the nesting depth. Nodes already in order stay as they are.
Status SortAndCheckNames(proto::ModelProto& model);

}  // namespace pt
