// Where tests find data that does not belong to the project, and folders of their own.
#pragma once

#include <string>
#include <vector>

namespace pt::testing {

// The folder `name` below $PARTITIONTUNER_TEST_DATA, or below ../shared beside the source tree;
// empty when it is not there, and then a test says SKIP.
std::string TestDataFolder(const std::string& name);

// The .onnx files below a folder, sorted.
std::vector<std::string> ModelsBelow(const std::string& folder);

// A fresh folder, removed with all it holds at the end of the test.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace pt::testing
