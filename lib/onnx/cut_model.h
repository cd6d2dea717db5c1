// A model file without the large data of its initialisers, which is left in the file until its tensor has memory: read
// whole, a model's weights would be in memory three times before they are a Graph.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "partitiontuner/support/file.h"

namespace pt {

struct FileRange {
  uint64_t offset = 0, bytes = 0;
};

struct CutModel {
  std::string bytes;  // a ModelProto without that data, otherwise as in the file
  // By initialiser of the main graph: where its raw_data is, if it was cut out.
  std::vector<std::optional<FileRange>> raw_data;
};

// Nothing when the file is not plainly a model, or has nothing worth cutting, or cannot be read: whoever reads it
// whole then says what is wrong with it. What is handed back has not been checked beyond its outermost three levels.
std::optional<CutModel> CutModelFile(const InputFile& file);

}  // namespace pt
