#include "test/cuda/host_kernel.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <mutex>

#include "test/cuda/block_runner.h"
#include "test/cuda/host_places.h"
#include "test/cuda/host_source.h"
#include "test/testing/command.h"
#include "test/testing/test_data.h"

namespace pt::testing {
namespace {

using Entry = void (*)(const void* arguments);
using SharedMemory = void (*)(char** begin, char** end);

Error Fault(std::string message) { return MakeError(ErrorCode::kInternal, "test.host_kernel", std::move(message)); }

Status Call(std::vector<std::string> command, const std::vector<std::string>& more, const std::string& text) {
  CommandOptions options;
  options.limit = std::chrono::hours(1);  // machines are stopped now and then
  command.insert(command.begin(), PT_CXX);
  command.insert(command.end(), more.begin(), more.end());
  const CommandResult made = RunCommand(command, options);
  if (made.exit_code == 0) return {};
  return Fault("a kernel does not compile on the host:\n" + made.err + "\n" + text);
}

Status CompileObject(const std::string& text, const std::string& source, const std::string& object,
                     const std::vector<std::string>& flags) {
  std::ofstream(source) << text;
  return Call({"-std=c++17", "-O1", "-w", "-ffp-contract=off", "-fno-strict-aliasing", "-fno-exceptions", "-fPIC", "-c",
               source, "-o", object},
              flags, text);
}

// What stands for the sanitizers' libraries, compiled once in a process.
Result<std::string> TheWatch() {
  static const TemporaryFolder folder;
  static const std::string object = folder.file("watch.o");
  static const Status compiled = CompileObject(WatchSource(), folder.file("watch.cc"), object, {});
  PT_CHECK_OK(compiled);
  return object;
}

Result<void*> Find(void* handle, const std::string& name) {
  void* const found = dlsym(handle, name.c_str());
  if (found == nullptr) return Fault("a kernel compiled for the host has no " + name);
  return found;
}

// Kept for the whole process: the same kernels come up in many cases, and the compiler is what takes time.
struct Known {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<const HostKernel>> kernels;
};
Known& TheKnown(HostKernel::Build build) {
  static std::array<Known, 2> known;
  return known[static_cast<size_t>(build)];
}

}  // namespace

struct HostKernel::Loaded {
  TemporaryFolder folder;  // of the object, in which places are looked up
  PtState* state = nullptr;
  std::vector<Entry> entries;
  std::vector<SharedMemory> shared;
  std::unique_ptr<const HostPlaces> places;

  Status Load(Build build, const std::string& source, size_t count);
};

Status HostKernel::Loaded::Load(Build build, const std::string& source, size_t count) {
  const std::string object = folder.file("kernels.o"), library = folder.file("kernels.so");
  const bool watched = build == Build::kWatched;
  PT_CHECK_OK(CompileObject(source, folder.file("kernels.cc"), object,
                            watched ? std::vector<std::string>{"-fsanitize=thread,bounds,alignment", "-g1", "-gdwarf-4"}
                                    : std::vector<std::string>{}));
  std::vector<std::string> linked = {object};
  if (watched) {
    PT_ASSIGN(const std::string watch, TheWatch());
    linked.push_back(watch);
  }
  PT_CHECK_OK(Call({"-shared", "-o", library}, linked, ""));
  // Never closed: whoever runs on a device may outlive the case that made it.
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return Fault(std::string("a kernel compiled for the host cannot be loaded: ") + dlerror());
  PT_ASSIGN(void* const found, Find(handle, "pt_state"));
  state = static_cast<PtState*>(found);
  for (size_t i = 0; i < count; ++i) {
    PT_ASSIGN(void* const entry, Find(handle, "pt_entry_" + std::to_string(i)));
    PT_ASSIGN(void* const memory, Find(handle, "pt_shared_" + std::to_string(i)));
    entries.push_back(reinterpret_cast<Entry>(entry));
    shared.push_back(reinterpret_cast<SharedMemory>(memory));
  }
  places = std::make_unique<HostPlaces>(library, found);
  return {};
}

Status HostKernel::CompileTogether(const std::vector<std::string>& texts, Build build) {
  Known& known = TheKnown(build);
  const std::lock_guard lock(known.mutex);
  const std::string prelude = cuda::KernelPrelude();
  std::vector<std::string> wanted;
  for (const std::string& text : texts) {
    if (!text.starts_with(prelude)) return Fault("a kernel begins with something else than the prelude\n" + text);
    if (known.kernels.contains(text)) continue;
    std::string kernel = text.substr(prelude.size());
    if (std::ranges::find(wanted, kernel) == wanted.end()) wanted.push_back(std::move(kernel));
  }
  if (wanted.empty()) return {};
  auto loaded = std::make_shared<Loaded>();
  PT_CHECK_OK(loaded->Load(build, HostSource(prelude, wanted), wanted.size()));
  for (size_t i = 0; i < wanted.size(); ++i) {
    known.kernels[prelude + wanted[i]] = std::shared_ptr<const HostKernel>(new HostKernel(loaded, i, wanted[i]));
  }
  return {};
}

Result<std::shared_ptr<const HostKernel>> HostKernel::Compile(const std::string& text, Build build) {
  PT_CHECK_OK(CompileTogether({text}, build));
  Known& known = TheKnown(build);
  const std::lock_guard lock(known.mutex);
  return known.kernels.at(text);
}

void HostKernel::Run(uint32_t blocks, uint32_t threads, const cuda::Arguments& arguments, KernelJudge& judge,
                     std::optional<uint32_t> left_out) const {
  char *begin = nullptr, *end = nullptr;
  loaded_->shared[number_](&begin, &end);
  const HostKernelPlaces places(*loaded_->places, text_);
  judge.BeginLaunch({.kernel = "pt_kernel",
                     .places = &places,
                     .arguments = &arguments,
                     .code = loaded_->places->lowest(),
                     .shared = reinterpret_cast<uintptr_t>(begin),
                     .shared_bytes = static_cast<size_t>(end - begin)});
  const bool waits = text_.find("__sync") != std::string::npos || text_.find("_sync(") != std::string::npos;
  RunBlocks({loaded_->entries[number_], loaded_->state, &arguments, blocks, threads, waits, left_out}, judge);
  judge.EndLaunch();
}

}  // namespace pt::testing
