#include "plugins/cuda/kernel_files.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <vector>

#include "partitiontuner/cost/profile.h"
#include "partitiontuner/support/file.h"

namespace pt::cuda {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "partitiontuner CUDA kernel 1\n";
// Of a folder; the oldest half goes when there are more.
constexpr size_t kMostFiles = 8192;
constexpr uint64_t kMostBytes = uint64_t{64} << 20;  // of one file

std::string HashOf(const std::string& text) { return ToHex(HashText(text)); }

// Takes "123\n" off the front.
std::optional<size_t> TakeNumber(std::string_view& text) {
  size_t number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc() || end == text.data() + text.size() || *end != '\n') return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()) + 1);
  return number;
}

std::string Written(const std::string& made_from, const std::string& image) {
  return std::string(kMagic) + std::to_string(made_from.size()) + "\n" + std::to_string(image.size()) + "\n" +
         HashOf(image) + "\n" + made_from + image;
}

// The image in a file's content, if it is one of these, whole, and unchanged.
std::optional<std::string> ImageIn(std::string_view content, const std::string& made_from) {
  if (!content.starts_with(kMagic)) return std::nullopt;
  content.remove_prefix(kMagic.size());
  const std::optional<size_t> text_bytes = TakeNumber(content);
  if (!text_bytes) return std::nullopt;
  const std::optional<size_t> image_bytes = TakeNumber(content);
  constexpr size_t kDigits = 32;
  if (!image_bytes || *text_bytes != made_from.size() || content.size() < kDigits + 1 + *text_bytes) {
    return std::nullopt;
  }
  const std::string_view hash = content.substr(0, kDigits), image = content.substr(kDigits + 1 + *text_bytes);
  if (content.substr(kDigits + 1, *text_bytes) != made_from || image.size() != *image_bytes) return std::nullopt;
  std::string copy(image);
  if (HashOf(copy) != hash) return std::nullopt;
  return copy;
}

}  // namespace

std::string KernelFiles::DefaultFolder() {
  return (fs::path(ProfileDb::DefaultPath()).parent_path() / "cuda-kernels").string();
}

std::string KernelFiles::PathOf(const std::string& made_from) const {
  return (fs::path(folder_) / (HashOf(made_from) + ".kernel")).string();
}

std::optional<std::string> KernelFiles::Find(const std::string& made_from) const {
  if (folder_.empty()) return std::nullopt;
  const Result<std::string> content = ReadFile(PathOf(made_from), kMostBytes);
  return content.ok() ? ImageIn(*content, made_from) : std::nullopt;
}

void KernelFiles::Keep(const std::string& made_from, const std::string& image) const {
  if (folder_.empty()) return;
  std::error_code fault;
  fs::create_directories(folder_, fault);
  if (fault) return;
  MakeRoom();
  // A file that cannot be written is compiled again next time.
  static_cast<void>(WriteFileAtomically(PathOf(made_from), Written(made_from, image)));
}

void KernelFiles::MakeRoom() const {
  std::error_code fault;
  std::vector<fs::path> paths;
  for (fs::directory_iterator at(folder_, fault), end; !fault && at != end; at.increment(fault)) {
    paths.push_back(at->path());
  }
  if (paths.size() < kMostFiles) return;
  std::vector<std::pair<fs::file_time_type, fs::path>> files;
  for (fs::path& path : paths) {
    const fs::file_time_type time = fs::last_write_time(path, fault);
    if (!fault) files.emplace_back(time, std::move(path));
  }
  std::ranges::sort(files);
  for (size_t i = 0; i < files.size() / 2; ++i) fs::remove(files[i].second, fault);
}

}  // namespace pt::cuda
