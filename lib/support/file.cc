#include "partitiontuner/support/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>

namespace pt {
namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.Release()) {}
  FileDescriptor& operator=(FileDescriptor&&) = delete;
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }
  // Closes and says whether the system reported a late write error.
  bool Close() { return ::close(Release()) == 0; }

 private:
  int fd_;
};

Error FileError(const std::string& path, std::string id, std::string what) {
  Error error = MakeError(ErrorCode::kInvalidInput, std::move(id), std::move(what));
  error.file = path;
  return error;
}

Error SystemError(const std::string& path, std::string id, const std::string& what, int code) {
  return FileError(path, std::move(id), what + ": " + std::strerror(code));
}

struct OpenedFile {
  FileDescriptor fd;
  uint64_t size;
};

Result<OpenedFile> OpenRegular(const std::string& path) {
  if (path.find('\0') != std::string::npos) {
    return FileError(path.c_str(), "file.name", "the file name holds a NUL character");
  }
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (fd.get() < 0) return SystemError(path, "file.open", "cannot open", errno);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return SystemError(path, "file.read", "cannot stat", errno);
  if (!S_ISREG(status.st_mode)) return FileError(path, "file.kind", "is not a regular file");
  return OpenedFile{std::move(fd), static_cast<uint64_t>(status.st_size)};
}

bool WriteAll(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t n = ::write(fd, content.data(), content.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    content.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

// Makes the rename itself durable. A folder that cannot be opened or synced (some network file
// systems) still holds either the old or the new file, so failure is not reported.
void SyncFolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  FileDescriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() >= 0) (void)::fsync(fd.get());
}

}  // namespace

Result<std::string> ReadFile(const std::string& path, uint64_t max_bytes) {
  PT_ASSIGN(OpenedFile opened, OpenRegular(path));
  const FileDescriptor& fd = opened.fd;
  const uint64_t size = opened.size;
  const auto too_big = [&](uint64_t bytes) {
    return FileError(path, "file.size",
                     "has " + std::to_string(bytes) + " bytes, over the limit of " + std::to_string(max_bytes));
  };
  if (max_bytes != 0 && size > max_bytes) return too_big(size);

  std::string content(size, '\0');
  size_t filled = 0;
  while (true) {
    // Some files (procfs) say size 0 and have content, others grow while read.
    if (filled == content.size()) {
      char probe = 0;
      const ssize_t n = ::read(fd.get(), &probe, 1);
      if (n == 0) break;
      if (n < 0) {
        if (errno == EINTR) continue;
        return SystemError(path, "file.read", "cannot read", errno);
      }
      if (max_bytes != 0 && filled + 1 > max_bytes) return too_big(filled + 1);
      content.resize(filled < 4096 ? 8192 : filled * 2);
      content[filled++] = probe;
      continue;
    }
    const ssize_t n = ::read(fd.get(), content.data() + filled, content.size() - filled);
    if (n == 0) break;
    if (n < 0) {
      if (errno == EINTR) continue;
      return SystemError(path, "file.read", "cannot read", errno);
    }
    filled += static_cast<size_t>(n);
    if (max_bytes != 0 && filled > max_bytes) return too_big(filled);
  }
  content.resize(filled);
  return content;
}

Result<InputFile> InputFile::Open(const std::string& path) {
  PT_ASSIGN(OpenedFile opened, OpenRegular(path));
  return InputFile(path, opened.fd.Release(), opened.size);
}

InputFile::~InputFile() {
  if (fd_ >= 0) ::close(fd_);
}

Status InputFile::ReadAt(uint64_t offset, std::span<std::byte> to) const {
  while (!to.empty()) {
    const ssize_t n = ::pread(fd_, to.data(), to.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return SystemError(path_, "file.read", "cannot read", errno);
    if (n == 0) return FileError(path_, "file.read", "ends before byte " + std::to_string(offset + to.size()));
    offset += static_cast<uint64_t>(n);
    to = to.subspan(static_cast<size_t>(n));
  }
  return {};
}

Status WriteFileAtomically(const std::string& path, std::string_view content) {
  if (path.empty() || path.find('\0') != std::string::npos) {
    return FileError(path.c_str(), "file.name", "is no usable file name");
  }
  struct stat status {};
  mode_t mode = 0666;
  bool keep_mode = false;
  if (::lstat(path.c_str(), &status) == 0) {
    // Renaming over a link, device or FIFO would silently change what the name means.
    if (!S_ISREG(status.st_mode)) return FileError(path, "file.kind", "exists and is not a regular file");
    mode = status.st_mode & 0777;
    keep_mode = true;
  }

  std::random_device random;
  std::string temporary;
  int raw_fd = -1;
  for (int attempt = 0; attempt < 16 && raw_fd < 0; ++attempt) {
    temporary = path + ".tmp" + std::to_string(::getpid()) + "." + std::to_string(random());
    raw_fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    if (raw_fd < 0 && errno != EEXIST) break;
  }
  if (raw_fd < 0) return SystemError(path, "file.write", "cannot create a file beside it", errno);
  FileDescriptor fd(raw_fd);
  const auto fail = [&](const std::string& what) -> Status {
    const int code = errno;
    (void)::unlink(temporary.c_str());
    return SystemError(path, "file.write", what, code);
  };
  if (keep_mode && ::fchmod(fd.get(), mode) != 0) return fail("cannot set the permissions");
  if (!WriteAll(fd.get(), content)) return fail("cannot write");
  if (::fsync(fd.get()) != 0) return fail("cannot write to disk");
  if (!fd.Close()) return fail("cannot write");
  if (::rename(temporary.c_str(), path.c_str()) != 0) return fail("cannot rename the new file to it");
  SyncFolderOf(path);
  return {};
}

}  // namespace pt
