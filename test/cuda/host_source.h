// From the texts of CUDA kernels to a source that the host's compiler takes, with what NVRTC brings: the names of
// blocks and threads, barriers, what the lanes of a warp do together, atomics.
#pragma once

#include <string>
#include <vector>

namespace pt::testing {

// The barriers of a kernel by their number: as they follow each other in its text.
size_t BarriersIn(const std::string& kernel);

// kernels: what follows the prelude of kernels, which stands before all of them once. Of kernel 2 the source has the
// functions pt_entry_2(const void* arguments) and pt_shared_2(char** begin, char** end), which tells where its shared
// memory is; of all the variable pt_state. Debug information names the file "pt_kernel_2", with the kernel's own lines.
std::string HostSource(const std::string& prelude, const std::vector<std::string>& kernels);

// A source to be linked with kernels that were compiled with -fsanitize=thread,bounds,alignment: it hands what those
// would tell ThreadSanitizer and UndefinedBehaviorSanitizer to pt_state.
std::string WatchSource();

}  // namespace pt::testing
