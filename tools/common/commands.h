// Commands that messages suggest: what is pasted must mean the model, machine and data of the call that suggests it.
#pragma once

#include <string>
#include <string_view>

#include "tools/common/flags.h"

namespace pt::tools {

// Quoted where a shell would read it otherwise.
std::string ShellWord(const std::string& word);

// "pt-profile model.onnx --shape x=1x3 --db my.db": that tool with all flags of this call that say what is worked on,
// quoted for a shell.
std::string CommandFor(std::string_view tool, const CommonFlags& flags);

// Before long work: kInvalidInput where a file could not be written at `path` later; empty and "-" always can.
Status CheckWritable(const std::string& path);

}  // namespace pt::tools
