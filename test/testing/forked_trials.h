// Trials that may crash, one after another in child processes: a crash or a hang is what one trial came to, and the
// others go on.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace pt::testing {

// What trial(0) to trial(count - 1) returned, cut to 240 bytes; "crashed: signal 11" for one that ended its process so,
// "exited: 1" for one that ended it otherwise. A trial that takes longer than `limit_s` ends by signal 14 (SIGALRM).
// Several trials share a process until one ends it. Call it while the process has no thread but the calling one. Throws
// std::runtime_error where no process can be had.
std::vector<std::string> RunForked(size_t count, const std::function<std::string(size_t)>& trial,
                                   unsigned limit_s = 60);

}  // namespace pt::testing
