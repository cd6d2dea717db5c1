#include "plugins/onnxruntime/hardware.h"

#include <filesystem>
#include <fstream>
#include <set>

namespace pt::onnxruntime {
namespace {

namespace fs = std::filesystem;

// The first word of a file; "" where there is none.
std::string WordIn(const fs::path& file) {
  std::string word;
  std::ifstream(file) >> word;
  return word;
}

// "0x10de" as "10de".
std::string Digits(const std::string& number) { return number.starts_with("0x") ? number.substr(2) : number; }

}  // namespace

std::string AcceleratorsOf(const std::string& system) {
  std::multiset<std::string> devices;
  std::set<std::string> drivers;
  std::error_code problem;
  for (fs::directory_iterator at(system + "/bus/pci/devices", problem), end; !problem && at != end;
       at.increment(problem)) {
    const std::string kind = WordIn(at->path() / "class");
    // Of the PCI specification: display controllers, processing accelerators.
    if (!kind.starts_with("0x03") && !kind.starts_with("0x12")) continue;
    devices.insert(Digits(WordIn(at->path() / "vendor")) + ":" + Digits(WordIn(at->path() / "device")));
    std::error_code none;
    const fs::path driver = fs::read_symlink(at->path() / "driver", none).filename();
    const std::string version = none ? "" : WordIn(fs::path(system) / "module" / driver / "version");
    if (!version.empty()) drivers.insert(driver.string() + " " + version);
  }
  std::string text;
  for (const std::string& device : devices) text += (text.empty() ? "" : ", ") + device;
  for (const std::string& driver : drivers) text += ", " + driver;
  return text.empty() ? "no device" : text;
}

}  // namespace pt::onnxruntime
