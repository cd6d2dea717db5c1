#include "tools/pt-profile/watch_page.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>

#include "partitiontuner/support/fields.h"

namespace pt::tools {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr const char* kFileName = "partitiontuner-watch";
constexpr size_t kKeyDigits = 32, kLabelBytes = 256;

int64_t NowNs() { return std::chrono::steady_clock::now().time_since_epoch().count(); }  // one clock for all processes

Error NoMemory(const char* what) {
  return MakeError(ErrorCode::kOutOfMemory, "isolate.memory", std::string("--isolate process: ") + what);
}

}  // namespace

void Fields(FieldVisitor& v, Culprit& culprit) {
  v.Field("key", culprit.key, "hash, as hexadecimal digits");
  v.Field("label", culprit.label, "for people");
  v.Field("what", culprit.fault.what, "what went down");
  v.Field("lasting", culprit.fault.is_lasting, "it will again");
}

// Written by the child alone. Texts are complete while `since_ns` is not 0.
struct WatchPage::Page {
  std::atomic<int64_t> since_ns;  // 0: at nothing of a key
  std::atomic<int64_t> waits;
  char key[kKeyDigits];
  char label[kLabelBytes];  // ends with 0
};

Result<std::unique_ptr<WatchPage>> WatchPage::Map(int file) {
  static_assert(sizeof(Page) <= kPageBytes && std::atomic<int64_t>::is_always_lock_free);
  void* const memory = mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) {
    close(file);
    return NoMemory("its page of memory cannot be mapped");
  }
  return std::unique_ptr<WatchPage>(new WatchPage(file, *static_cast<Page*>(memory)));
}

Result<std::unique_ptr<WatchPage>> WatchPage::Make() {
  const int file = memfd_create(kFileName, MFD_CLOEXEC);
  if (file < 0) return NoMemory("no memory to share with a child process");
  if (ftruncate(file, static_cast<off_t>(kPageBytes)) != 0) {
    close(file);
    return NoMemory("no memory to share with a child process");
  }
  return Map(file);
}

Result<std::unique_ptr<WatchPage>> WatchPage::Inherited() {
  // Whatever else a shell or a test runner has open there is not ours to write to.
  char name[64] = {};
  const std::string link = "/proc/self/fd/" + std::to_string(kDescriptor);
  const bool is_page = readlink(link.c_str(), name, sizeof(name) - 1) > 0 &&
                       std::string_view(name).starts_with("/memfd:" + std::string(kFileName));
  struct stat status {};
  if (!is_page || fstat(kDescriptor, &status) != 0 || status.st_size < static_cast<off_t>(kPageBytes)) {
    return MakeError(ErrorCode::kUsage, "usage.flag", "--isolate-worker is for processes that pt-profile starts",
                     "--isolate process");
  }
  return Map(kDescriptor);
}

WatchPage::~WatchPage() {
  munmap(&page_, kPageBytes);
  close(file_);
}

void WatchPage::Begin(const MeasurementKey& key, std::string_view label) noexcept {
  page_.since_ns.store(0, std::memory_order_release);
  std::memcpy(page_.key, ToHex(key.hash).data(), kKeyDigits);
  const size_t length = std::min(label.size(), kLabelBytes - 1);
  std::memcpy(page_.label, label.data(), length);
  page_.label[length] = 0;
  page_.since_ns.store(NowNs(), std::memory_order_release);
}

void WatchPage::End() noexcept { page_.since_ns.store(0, std::memory_order_release); }

void WatchPage::Wait(bool waits) noexcept {
  if (!waits && page_.since_ns.load(std::memory_order_relaxed) != 0) {
    page_.since_ns.store(NowNs(), std::memory_order_release);
  }
  page_.waits.store(waits ? 1 : 0, std::memory_order_release);
}

WatchPage::AtWork WatchPage::at_work() const {
  const int64_t since = page_.since_ns.load(std::memory_order_acquire);
  if (since == 0) return {};
  AtWork at_work{std::string(page_.key, kKeyDigits), std::string(page_.label, strnlen(page_.label, kLabelBytes)), 0};
  if (page_.waits.load(std::memory_order_acquire) == 0) at_work.for_ns = std::max<int64_t>(0, NowNs() - since);
  return at_work;
}

void WatchPage::Clear() {
  page_.since_ns.store(0);
  page_.waits.store(0);
}

Status WatchPage::Tell(const std::vector<Culprit>& culprits) {
  Json rows = Json::MakeArray();
  for (const Culprit& culprit : culprits) rows.Push(WriteFields(culprit));
  const std::string text = WriteJson(rows, -1);
  const auto begin = static_cast<off_t>(kPageBytes);
  const bool written = ftruncate(file_, begin) == 0 &&
                       pwrite(file_, text.data(), text.size(), begin) == static_cast<ssize_t>(text.size());
  return written ? Status() : NoMemory("what failed so far cannot be handed on");
}

Result<std::vector<Culprit>> WatchPage::Culprits() const {
  struct stat status {};
  if (fstat(file_, &status) != 0) return NoMemory("what failed so far cannot be read");
  std::string text(static_cast<size_t>(status.st_size) - kPageBytes, ' ');
  if (pread(file_, text.data(), text.size(), static_cast<off_t>(kPageBytes)) != static_cast<ssize_t>(text.size())) {
    return NoMemory("what failed so far cannot be read");
  }
  std::vector<Culprit> culprits;
  if (text.empty()) return culprits;
  PT_ASSIGN(const Json rows, ParseJson(text, "culprits"));
  if (rows.as_array() == nullptr) return MakeError(ErrorCode::kInvalidInput, "isolate.culprits", "no list of culprits");
  for (const Json& row : *rows.as_array()) {
    Culprit culprit;
    PT_CHECK_OK(ReadFields(row, FileSource("culprits", "isolate.culprits"), culprit));
    culprits.push_back(std::move(culprit));
  }
  return culprits;
}

}  // namespace pt::tools
