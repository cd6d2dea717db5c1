#include "partitiontuner/support/output_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <random>

#include "lib/support/file_descriptor.h"

namespace pt {
namespace {

// Makes the rename itself durable. A folder that cannot be opened or synced (some network file
// systems) still holds either the old or the new file, so failure is not reported.
void SyncFolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  FileDescriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() >= 0) (void)::fsync(fd.get());
}

Error WriteError(const std::string& path, const std::string& what, int code) {
  return SystemError(path, "file.write", what, code);
}

}  // namespace

Result<OutputFile> OutputFile::Create(const std::string& path) {
  if (path.empty() || path.find('\0') != std::string::npos) {
    return FileError(path.c_str(), "file.name", "is not a usable file name");
  }
  struct stat status {};
  mode_t mode = 0666;
  const bool replaces = ::lstat(path.c_str(), &status) == 0;
  if (replaces) {
    if (!S_ISREG(status.st_mode)) return FileError(path, "file.kind", "exists and is not a regular file");
    mode = status.st_mode & 0777;
  }
  std::random_device random;
  std::string temporary;
  int fd = -1;
  for (int attempt = 0; attempt < 16 && fd < 0; ++attempt) {
    temporary = path + ".tmp" + std::to_string(::getpid()) + "." + std::to_string(random());
    fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    if (fd < 0 && errno != EEXIST) break;
  }
  if (fd < 0) return WriteError(path, "cannot create a file beside it", errno);
  OutputFile file(path, std::move(temporary), fd, replaces);
  if (replaces && ::fchmod(fd, mode) != 0) return WriteError(path, "cannot set the permissions", errno);
  return file;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      fd_(std::exchange(other.fd_, -1)),
      replaces_(other.replaces_) {}

OutputFile::~OutputFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) (void)::unlink(temporary_.c_str());
}

Status OutputFile::Write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return WriteError(path_, "cannot write", errno);
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return {};
}

Status OutputFile::Finish() {
  if (fd_ < 0) return {};
  if (::fsync(fd_) != 0) return WriteError(path_, "cannot write to disk", errno);
  if (::close(std::exchange(fd_, -1)) != 0) return WriteError(path_, "cannot write", errno);
  return {};
}

Status OutputFile::Commit() {
  PT_CHECK_OK(Finish());
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return WriteError(path_, "cannot rename the new file to it", errno);
  }
  temporary_.clear();
  SyncFolderOf(path_);
  return {};
}

Status OutputFile::RemoveReplaced() {
  if (!replaces_) return {};
  if (::unlink(path_.c_str()) != 0 && errno != ENOENT) return WriteError(path_, "cannot remove the old file", errno);
  SyncFolderOf(path_);
  return {};
}

}  // namespace pt
