#include "test/cuda/host_places.h"

#include <dlfcn.h>

#include <sstream>

#include "test/testing/command.h"

namespace pt::testing {
namespace {

uintptr_t LowestOf(const void* within) {
  Dl_info info = {};
  return dladdr(within, &info) == 0 ? 0 : reinterpret_cast<uintptr_t>(info.dli_fbase);
}

// Of a tool that is looked up as the system's shell does.
std::string Said(std::vector<std::string> command) {
  command.insert(command.begin(), "/usr/bin/env");
  CommandOptions options;
  options.limit = std::chrono::hours(1);  // machines are stopped now and then
  return RunCommand(command, options).out;
}

std::string Hex(uintptr_t number) {
  std::ostringstream text;
  text << std::hex << number;
  return text.str();
}

}  // namespace

HostPlaces::HostPlaces(std::string file, const void* within) : file_(std::move(file)), lowest_(LowestOf(within)) {}

unsigned HostPlaces::LineAt(uintptr_t caller) const {
  const auto known = lines_.find(caller);
  if (known != lines_.end()) return known->second;
  // "pt_kernel_3:12"; the call is before where it returns to.
  const std::string said = Said({"addr2line", "-e", file_, Hex(caller - lowest_ - 1)});
  const size_t colon = said.rfind(':');
  const bool of_kernel = said.find("pt_kernel_") != std::string::npos && colon != std::string::npos;
  return lines_[caller] = of_kernel ? static_cast<unsigned>(std::atoi(said.c_str() + colon + 1)) : 0;
}

void HostPlaces::ReadVariables() const {
  if (!variables_.empty()) return;
  std::istringstream said(Said({"nm", "-S", "-C", "--defined-only", file_}));
  // "00000000000041a0 0000000000000400 d pt_kernel_0::left"
  for (std::string line; std::getline(said, line);) {
    std::istringstream words(line);
    Variable variable;
    std::string kind;
    words >> std::hex >> variable.begin >> variable.bytes >> kind >> variable.name;
    const size_t colon = variable.name.rfind("::");
    if (!words || colon == std::string::npos || !variable.name.starts_with("pt_kernel_")) continue;
    variable.name = variable.name.substr(colon + 2);
    variables_.push_back(std::move(variable));
  }
}

std::string HostPlaces::VariableAt(uintptr_t address) const {
  ReadVariables();
  for (const Variable& variable : variables_) {
    const uintptr_t offset = address - lowest_ - variable.begin;
    if (offset < variable.bytes) return variable.name + " + " + std::to_string(offset);
  }
  return "";
}

std::string HostKernelPlaces::Line(unsigned line) const {
  if (line == 0) return "a line that is not known";
  std::istringstream lines(text_);
  std::string text;
  for (unsigned i = 0; i < line; ++i) std::getline(lines, text);
  const size_t first = text.find_first_not_of(' ');
  return "line " + std::to_string(line) + " `" + (first == std::string::npos ? "" : text.substr(first)) + "`";
}

}  // namespace pt::testing
