#include "partitiontuner/support/file.h"

#include <sys/stat.h>

#include <cerrno>

#include "lib/support/file_descriptor.h"
#include "partitiontuner/support/output_file.h"

namespace pt {
namespace {

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
  PT_ASSIGN(OutputFile file, OutputFile::Create(path));
  PT_CHECK_OK(file.Write(std::as_bytes(std::span(content))));
  return file.Commit();
}

}  // namespace pt
