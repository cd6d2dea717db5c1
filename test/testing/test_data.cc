#include "test/testing/test_data.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

namespace pt::testing {
namespace fs = std::filesystem;

std::string TestDataFolder(const std::string& name) {
  std::error_code ignored;
  if (const char* root = std::getenv("PARTITIONTUNER_TEST_DATA"); root != nullptr && *root != '\0') {
    const fs::path folder = fs::path(root) / name;
    return fs::is_directory(folder, ignored) ? folder.string() : std::string();
  }
  fs::path base = PT_SOURCE_DIR;
  for (int level = 0; level < 2; ++level) {  // a second checkout may stand one level deeper
    base = base.parent_path();
    const fs::path folder = base / "shared" / name;
    if (fs::is_directory(folder, ignored)) return folder.string();
  }
  return {};
}

std::vector<std::string> ModelsBelow(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".onnx") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (fs::temp_directory_path() / "partitiontuner-test-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make a temporary folder");
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace pt::testing
