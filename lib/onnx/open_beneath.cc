#include "lib/onnx/open_beneath.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdint>
#include <filesystem>
#include <optional>

namespace pt {
namespace {

namespace fs = std::filesystem;

// O_NONBLOCK: a FIFO or device must not stall the load before it is refused.
constexpr int kReadFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

// Opens one component after the other, refusing links: for kernels without openat2.
int OpenComponentwise(int folder, const std::string& path, int flags) {
  int at = ::fcntl(folder, F_DUPFD_CLOEXEC, 0);
  size_t begin = 0;
  while (at >= 0) {
    const size_t slash = path.find('/', begin);
    const bool last = slash == std::string::npos;
    const std::string name = path.substr(begin, last ? std::string::npos : slash - begin);
    const int next = ::openat(at, name.c_str(), (last ? flags : kFolderFlags) | O_NOFOLLOW);
    const int code = errno;
    ::close(at);
    errno = code;
    if (last) return next;
    at = next;
    begin = slash + 1;
  }
  return at;
}

// Where an open folder lies, without links.
std::optional<fs::path> PathOf(int folder) {
  std::error_code problem;
  const fs::path path = fs::read_symlink("/proc/self/fd/" + std::to_string(folder), problem);
  if (problem || !path.is_absolute()) return std::nullopt;
  return path;
}

// ROOT of the innermost ROOT/snapshots/REVISION that the folder is, or lies in.
std::optional<fs::path> HubRootOf(const fs::path& folder) {
  for (fs::path at = folder; at.has_relative_path(); at = at.parent_path()) {
    const fs::path snapshots = at.parent_path();
    if (snapshots.filename() == "snapshots") return snapshots.parent_path();
  }
  return std::nullopt;
}

std::optional<std::string> ReadLink(int folder, const std::string& name) {
  std::string target(PATH_MAX, '\0');
  const ssize_t length = ::readlinkat(folder, name.c_str(), target.data(), target.size());
  if (length <= 0 || static_cast<size_t>(length) >= target.size()) return std::nullopt;
  target.resize(static_cast<size_t>(length));
  return target;
}

// Closes when it goes.
struct Descriptor {
  explicit Descriptor(int open) : number(open) {}
  Descriptor(const Descriptor&) = delete;
  ~Descriptor() {
    const int code = errno;
    if (number >= 0) ::close(number);
    errno = code;
  }
  int number;
};

}  // namespace

int OpenBeneath(int folder, const std::string& path, bool allow_symlinks) {
#ifdef SYS_openat2
  struct open_how how {};
  how.flags = static_cast<uint64_t>(kReadFlags);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | (allow_symlinks ? 0 : RESOLVE_NO_SYMLINKS);
  const long result = ::syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how);
  if (result >= 0 || (errno != ENOSYS && errno != EPERM && errno != E2BIG)) return static_cast<int>(result);
#endif
  return OpenComponentwise(folder, path, kReadFlags);
}

int OpenInHubCache(int folder, const std::string& path) {
  const auto none = [] {
    errno = ELOOP;
    return -1;
  };
  // The folder that holds the link lies beneath the model's without any other link.
  const size_t slash = path.rfind('/');
  const std::string name = path.substr(slash == std::string::npos ? 0 : slash + 1);
  const Descriptor holder(slash == std::string::npos ? ::fcntl(folder, F_DUPFD_CLOEXEC, 0)
                                                     : OpenComponentwise(folder, path.substr(0, slash), kFolderFlags));
  if (holder.number < 0) return none();
  const std::optional<fs::path> place = PathOf(holder.number);
  const std::optional<fs::path> root = place ? HubRootOf(*place) : std::nullopt;
  const std::optional<std::string> target = root ? ReadLink(holder.number, name) : std::nullopt;
  if (!target) return none();
  const fs::path meant = (*place / *target).lexically_normal();
  if (meant.parent_path() != *root / "blobs" || !meant.has_filename()) return none();
  const Descriptor blobs(::open((*root / "blobs").c_str(), kFolderFlags | O_NOFOLLOW));
  if (blobs.number < 0) return none();
  return ::openat(blobs.number, meant.filename().c_str(), kReadFlags | O_NOFOLLOW);
}

}  // namespace pt
