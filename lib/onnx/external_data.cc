#include "lib/onnx/external_data.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "lib/onnx/open_beneath.h"
#include "partitiontuner/support/checked.h"
#include "partitiontuner/support/control_groups.h"

namespace pt {
namespace {

constexpr size_t kLongestPath = 4096;

Error PathError(const std::string& location, const std::string& why, std::string hint = {}) {
  const std::string shown = location.size() > 200 ? location.substr(0, 200) + "…" : location;
  return MakeError(ErrorCode::kInvalidInput, "onnx.external_path", "external data \"" + shown + "\": " + why,
                   std::move(hint));
}

// code: why it could not be opened.
Error OpenError(const std::string& location, const std::string& folder, int code, bool allow_symlinks) {
  const std::string where = "cannot open it in folder \"" + folder + "\": ";
  if (code != ELOOP && code != EXDEV) return PathError(location, where + std::strerror(code));
  if (!allow_symlinks) {
    return PathError(location, where + "a symbolic link, which is not followed",
                     "--allow-links follows links that stay within the folder; --external-data names the folder that "
                     "holds the file itself");
  }
  return PathError(location, where + "a symbolic link that leads out of it",
                   "--external-data names the folder that holds the file itself");
}

}  // namespace

Result<std::string> CheckExternalPath(const std::string& location) {
  if (location.empty()) return PathError(location, "the path is empty");
  if (location.size() > kLongestPath)
    return PathError(location, "the path has " + std::to_string(location.size()) + " characters");
  if (location.find('\0') != std::string::npos) return PathError(location.c_str(), "the path holds a NUL character");
  if (location.find('\\') != std::string::npos) return PathError(location, "the path holds a backslash");
  if (location.front() == '/') return PathError(location, "the path is absolute");
  if (location.size() > 1 && location[1] == ':') return PathError(location, "the path names a drive");
  std::string clean;
  for (size_t begin = 0; begin < location.size();) {
    const size_t end = std::min(location.find('/', begin), location.size());
    const std::string part = location.substr(begin, end - begin);
    begin = end + 1;
    if (part.empty() || part == ".") continue;
    if (part == "..") return PathError(location, "the path leads out of its folder with \"..\"");
    clean += (clean.empty() ? "" : "/") + part;
  }
  if (clean.empty() || location.back() == '/') return PathError(location, "the path names a folder");
  return clean;
}

ExternalData::~ExternalData() {
  for (const auto& [name, file] : files_) {
    if (file.descriptor >= 0) ::close(file.descriptor);
  }
  if (folder_descriptor_ >= 0) ::close(folder_descriptor_);
}

Result<ExternalData::File*> ExternalData::Open(const std::string& location) {
  PT_ASSIGN(const std::string path, CheckExternalPath(location));
  if (const auto at = files_.find(path); at != files_.end()) return &at->second;
  if (folder_.empty()) return PathError(location, "the model has no folder to look in");
  if (folder_descriptor_ < 0) {
    folder_descriptor_ = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder_descriptor_ < 0)
      return PathError(location, "cannot open folder \"" + folder_ + "\": " + std::strerror(errno));
  }
  int descriptor = OpenBeneath(folder_descriptor_, path, options_.allow_symlinks_beneath);
  if (descriptor < 0) {
    const int code = errno;
    if (code == ELOOP || code == EXDEV) descriptor = OpenInHubCache(folder_descriptor_, path);
    if (descriptor < 0) return OpenError(location, folder_, code, options_.allow_symlinks_beneath);
  }
  File& file = files_[path];
  file.descriptor = descriptor;
  struct stat status {};
  const auto refuse = [&](const std::string& why) {
    ::close(descriptor);
    files_.erase(path);
    return PathError(location, why);
  };
  if (::fstat(descriptor, &status) != 0) return refuse(std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return refuse("not a regular file");
  if (status.st_nlink != 1 && !options_.allow_hard_links) {
    return refuse("the file has " + std::to_string(status.st_nlink) +
                  " hard links, so it may be another file's content");
  }
  file.size = status.st_size;
  return &file;
}

// Before anything is allocated: memory that is promised but not there ends the process, not the call.
Status ExternalData::CheckBudget(const std::string& location, uint64_t more) {
  const uint64_t limit = options_.external_bytes;
  if (memory_ == 0) memory_ = MachineMemory();
  const uint64_t most = limit == 0 ? memory_ : std::min(limit, memory_);
  if (more > most || bytes_read_ > most - more) {
    Error error = PathError(location,
                            "with its " + std::to_string(more) + " bytes the model has more external data than the " +
                                (most == memory_ ? "machine's memory of " : "limit of ") + std::to_string(most),
                            most == memory_ ? "" : "--external-limit sets another one");
    error.code = ErrorCode::kOutOfMemory;
    error.id = "onnx.external_size";
    return error;
  }
  bytes_read_ += more;
  return {};
}

Result<std::shared_ptr<const std::string>> ExternalData::Read(const std::string& location, int64_t offset,
                                                              int64_t length) {
  PT_ASSIGN(File* const file, Open(location));
  if (offset < 0) return PathError(location, "offset " + std::to_string(offset) + " is negative");
  if (length < 0) length = std::max<int64_t>(file->size - offset, 0);
  const auto end = CheckedAdd(offset, length);
  if (!end || *end > file->size) {
    return PathError(location, "offset " + std::to_string(offset) + " and length " + std::to_string(length) +
                                   " reach past the file's " + std::to_string(file->size) + " bytes");
  }
  auto& range = file->ranges[{offset, length}];
  if (range != nullptr) return range;
  if (length > file->size - file->bytes_read) {
    return PathError(location, "the tensors' ranges overlap: together they are longer than the file's " +
                                   std::to_string(file->size) + " bytes");
  }
  PT_CHECK_OK(CheckBudget(location, static_cast<uint64_t>(length)));
  file->bytes_read += length;
  std::string bytes(static_cast<size_t>(length), '\0');
  size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t n =
        ::pread(file->descriptor, bytes.data() + filled, bytes.size() - filled, offset + static_cast<int64_t>(filled));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return PathError(location, std::string("cannot read: ") + std::strerror(errno));
    if (n == 0) return PathError(location, "the file became shorter while it was read");
    filled += static_cast<size_t>(n);
  }
  range = std::make_shared<const std::string>(std::move(bytes));
  return range;
}

}  // namespace pt
