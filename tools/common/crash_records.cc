#include "tools/common/crash_records.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

namespace pt::tools {
namespace {

constexpr const char* kFileName = "partitiontuner-crashes";

// Followed by the three texts.
struct Header {
  uint32_t attempt, signal, library_bytes, work_bytes, label_bytes;
};

bool WriteAll(int file, const void* data, size_t bytes) noexcept {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = write(file, at, bytes);
    if (written <= 0) return false;
    at += written;
    bytes -= static_cast<size_t>(written);
  }
  return true;
}

// Whatever else a shell or a test runner has open there is not ours.
bool IsCrashFile(int file) {
  char found[64] = {};
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  return readlink(link.c_str(), found, sizeof(found) - 1) > 0 &&
         std::string_view(found).starts_with("/memfd:" + std::string(kFileName));
}

Error NoCrashFile() {
  return MakeError(ErrorCode::kUsage, "usage.flag", "--after-crash is for processes that this program starts");
}

}  // namespace

int MakeCrashFile() noexcept { return memfd_create(kFileName, 0); }

bool WriteCrashRecord(int file, uint32_t attempt, uint32_t signal, const WatchedKernelName* kernel) noexcept {
  Header header{attempt, signal, 0, 0, 0};
  if (kernel == nullptr) return WriteAll(file, &header, sizeof(header));
  header.library_bytes = static_cast<uint32_t>(kernel->library.size());
  header.work_bytes = static_cast<uint32_t>(kernel->work.size());
  header.label_bytes = static_cast<uint32_t>(kernel->label.size());
  return WriteAll(file, &header, sizeof(header)) && WriteAll(file, kernel->library.data(), header.library_bytes) &&
         WriteAll(file, kernel->work.data(), header.work_bytes) &&
         WriteAll(file, kernel->label.data(), header.label_bytes);
}

Result<std::vector<CrashRecord>> ReadCrashRecords(int file) {
  struct stat status {};
  if (!IsCrashFile(file) || fstat(file, &status) != 0) return NoCrashFile();
  std::string bytes(static_cast<size_t>(status.st_size), '\0');
  if (pread(file, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return NoCrashFile();
  std::vector<CrashRecord> records;
  for (size_t at = 0; at < bytes.size();) {
    Header header{};
    if (bytes.size() - at < sizeof(header)) return NoCrashFile();
    std::memcpy(&header, bytes.data() + at, sizeof(header));
    at += sizeof(header);
    CrashRecord record{header.attempt, header.signal, {}};
    for (const auto& [text, size] :
         {std::pair(&record.kernel.library, header.library_bytes), std::pair(&record.kernel.work, header.work_bytes),
          std::pair(&record.kernel.label, header.label_bytes)}) {
      if (bytes.size() - at < size) return NoCrashFile();
      *text = bytes.substr(at, size);
      at += size;
    }
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace pt::tools
