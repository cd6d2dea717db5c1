// Preloaded into a program (LD_PRELOAD): one of its system calls that change files below a folder fails, writes less
// than it was asked to, or is the last thing that the process does. By the environment:
//   PT_IO_FOLDER  which files count
//   PT_IO_NTH     which call, from 1; also all that follow where PT_IO_ON is set
//   PT_IO_HOW     ENOSPC, EIO, EROFS, short, kill (before the call), torn (after half of the write)
//   PT_IO_MARK    a file that is made when the call comes
// With PT_IO_NETWORK set, the folder lies on NFS.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

enum class How { kNone, kError, kShort, kKill, kTorn };

std::atomic<long> calls{0};

template <typename F>
F* Real(const char* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
}

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool Counts(const std::string& path) {
  const std::string folder = Environment("PT_IO_FOLDER");
  return !folder.empty() && path.compare(0, folder.size(), folder) == 0;
}

std::string PathOf(int fd) {
  char link[64], path[4096];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = ::readlink(link, path, sizeof path);
  return length < 0 ? "" : std::string(path, static_cast<size_t>(length));
}

// What is to happen to this call; sets errno where it is to fail.
How Next(const std::string& path) {
  if (!Counts(path)) return How::kNone;
  const long nth = std::atol(Environment("PT_IO_NTH").c_str()), call = ++calls;
  if (call < nth || (call > nth && Environment("PT_IO_ON").empty())) return How::kNone;
  const int mark =
      Real<int(const char*, int, ...)>("open")(Environment("PT_IO_MARK").c_str(), O_CREAT | O_WRONLY, 0666);
  if (mark >= 0) ::close(mark);
  const std::string how = Environment("PT_IO_HOW");
  errno = how == "ENOSPC" ? ENOSPC : how == "EROFS" ? EROFS : EIO;
  return how == "short" ? How::kShort : how == "kill" ? How::kKill : how == "torn" ? How::kTorn : How::kError;
}

// For calls that have no half.
bool Fails(const std::string& path) {
  const How how = Next(path);
  if (how == How::kKill || how == How::kTorn) ::raise(SIGKILL);
  return how == How::kError;
}

template <typename F>
ssize_t Written(int fd, size_t count, F&& write) {
  switch (Next(PathOf(fd))) {
    case How::kNone:
      return write(count);
    case How::kError:
      return -1;
    case How::kShort:
      return write((count + 1) / 2);
    case How::kTorn:
      (void)write((count + 1) / 2);
      [[fallthrough]];
    case How::kKill:
      ::raise(SIGKILL);
  }
  return -1;
}

bool Changes(int flags) { return (flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)) != 0; }

int Open(const char* name, const char* path, int flags, mode_t mode) {
  if (Changes(flags) && Fails(path)) return -1;
  return Real<int(const char*, int, ...)>(name)(path, flags, mode);
}

mode_t ModeOf(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : mode_t{0};
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = ModeOf(flags, arguments);
  va_end(arguments);
  return Open("open", path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = ModeOf(flags, arguments);
  va_end(arguments);
  return Open("open64", path, flags, mode);
}

ssize_t write(int fd, const void* data, size_t count) {
  return Written(fd, count, [&](size_t n) { return Real<ssize_t(int, const void*, size_t)>("write")(fd, data, n); });
}

ssize_t pwrite(int fd, const void* data, size_t count, off_t offset) {
  return Written(fd, count, [&](size_t n) {
    return Real<ssize_t(int, const void*, size_t, off_t)>("pwrite")(fd, data, n, offset);
  });
}

ssize_t pwrite64(int fd, const void* data, size_t count, off64_t offset) {
  return Written(fd, count, [&](size_t n) {
    return Real<ssize_t(int, const void*, size_t, off64_t)>("pwrite64")(fd, data, n, offset);
  });
}

int fsync(int fd) { return Fails(PathOf(fd)) ? -1 : Real<int(int)>("fsync")(fd); }
int fdatasync(int fd) { return Fails(PathOf(fd)) ? -1 : Real<int(int)>("fdatasync")(fd); }
int ftruncate(int fd, off_t size) { return Fails(PathOf(fd)) ? -1 : Real<int(int, off_t)>("ftruncate")(fd, size); }
int ftruncate64(int fd, off64_t size) {
  return Fails(PathOf(fd)) ? -1 : Real<int(int, off64_t)>("ftruncate64")(fd, size);
}
int fchmod(int fd, mode_t mode) { return Fails(PathOf(fd)) ? -1 : Real<int(int, mode_t)>("fchmod")(fd, mode); }
int unlink(const char* path) { return Fails(path) ? -1 : Real<int(const char*)>("unlink")(path); }
int mkdir(const char* path, mode_t mode) {
  return Fails(path) ? -1 : Real<int(const char*, mode_t)>("mkdir")(path, mode);
}

int rename(const char* from, const char* to) {
  return Fails(to) ? -1 : Real<int(const char*, const char*)>("rename")(from, to);
}

int statfs(const char* path, struct statfs* about) {
  const int code = Real<int(const char*, struct statfs*)>("statfs")(path, about);
  if (code == 0 && Counts(path) && !Environment("PT_IO_NETWORK").empty()) about->f_type = 0x6969;
  return code;
}

}  // extern "C"
