#include "plugins/openvino/blob_cache.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "partitiontuner/support/file.h"
#include "partitiontuner/support/hash.h"

namespace pt::openvino {
namespace {

namespace fs = std::filesystem;

// A file: this line, the hash of the blob and a line break, the length of the key and a line break, key, blob.
constexpr std::string_view kMagic = "partitiontuner openvino blob 1\n";
constexpr std::string_view kSuffix = ".ovblob";

std::string Head(std::string_view key, std::string_view blob) {
  std::string head(kMagic);
  head += ToHex(HashText(blob)) + "\n" + std::to_string(key.size()) + "\n";
  return head += key;
}

std::string Variable(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? "" : text;
}

struct File {
  fs::path path;
  fs::file_time_type used;
  uint64_t bytes = 0;
};

// Unused for longest first. Files may go while this looks at them.
std::vector<File> FilesIn(const std::string& folder) {
  std::vector<File> files;
  std::error_code gone;
  for (fs::directory_iterator entry(folder, gone), end; !gone && entry != end; entry.increment(gone)) {
    if (!entry->path().filename().string().ends_with(kSuffix)) continue;
    std::error_code fault;
    const uint64_t bytes = entry->file_size(fault);
    const auto used = fault ? fs::file_time_type() : entry->last_write_time(fault);
    if (!fault) files.push_back({entry->path(), used, bytes});
  }
  std::ranges::sort(files, {}, &File::used);
  return files;
}

}  // namespace

Result<std::optional<BlobCache::Options>> BlobCache::Options::FromEnvironment() {
  constexpr const char* kBytes = "PARTITIONTUNER_OPENVINO_CACHE_BYTES";
  Options options;
  options.folder = Variable("PARTITIONTUNER_OPENVINO_CACHE");
  if (options.folder == "none") return std::optional<Options>();
  if (const std::string text = Variable(kBytes); !text.empty()) {
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), options.bytes);
    if (fault != std::errc() || end != text.data() + text.size()) {
      return MakeError(ErrorCode::kUsage, "openvino.cache", std::string(kBytes) + " is not a number of bytes: " + text);
    }
  }
  if (!options.folder.empty()) return std::optional(options);
  if (const std::string cache = Variable("XDG_CACHE_HOME"); !cache.empty()) {
    options.folder = cache + "/partitiontuner/openvino";
  } else if (const std::string home = Variable("HOME"); !home.empty()) {
    options.folder = home + "/.cache/partitiontuner/openvino";
  } else {
    return std::optional<Options>();
  }
  return std::optional(options);
}

std::string BlobCache::PathOf(std::string_view key) const {
  return options_.folder + "/" + ToHex(HashText(key)) + std::string(kSuffix);
}

std::optional<std::string> BlobCache::Find(std::string_view key) const {
  const std::string path = PathOf(key);
  Result<std::string> text = ReadFile(path, options_.bytes);
  if (!text.ok()) return std::nullopt;
  const size_t at = text->find('\n', kMagic.size());  // behind the hash
  const size_t behind = at == std::string::npos ? at : text->find('\n', at + 1);
  if (behind != std::string::npos && text->size() - behind - 1 >= key.size()) {
    const std::string_view blob = std::string_view(*text).substr(behind + 1 + key.size());
    if (std::string_view(*text).substr(0, behind + 1 + key.size()) == Head(key, blob)) {
      std::error_code ignored;  // another process may have removed it
      fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
      return std::string(blob);
    }
  }
  Remove(key);
  return std::nullopt;
}

void BlobCache::Keep(std::string_view key, std::string_view blob) const {
  std::string text = Head(key, blob);
  if (text.size() + blob.size() > options_.bytes) return;
  text += blob;
  std::error_code fault;
  fs::create_directories(options_.folder, fault);
  if (fault || !WriteFileAtomically(PathOf(key), text).ok()) return;
  MakeRoom();
}

void BlobCache::Remove(std::string_view key) const {
  std::error_code ignored;
  fs::remove(PathOf(key), ignored);
}

void BlobCache::MakeRoom() const {
  const std::vector<File> files = FilesIn(options_.folder);
  uint64_t bytes = 0;
  for (const File& file : files) bytes += file.bytes;
  for (const File& file : files) {
    if (bytes <= options_.bytes) return;
    std::error_code ignored;
    fs::remove(file.path, ignored);
    bytes -= file.bytes;
  }
}

}  // namespace pt::openvino
