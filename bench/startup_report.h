// What bench_startup and its peer say of their way to a first result: one line of JSON with milliseconds by stage and
// memory in MiB.
#pragma once

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

namespace pt::bench {

// A line of /proc/self/status in MiB; 0 when it is not there.
inline double StatusMib(const char* key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key)) return std::strtod(line.c_str() + std::strlen(key), nullptr) / 1024;
  }
  return 0;
}

class StartupReport {
 public:
  using Clock = std::chrono::steady_clock;

  // `main`: when the program came to it. What it took until then is known where STARTED_NS says when it was launched
  // (CLOCK_MONOTONIC), else taken as 0.
  explicit StartupReport(Clock::time_point main) : last_(main) {
    const char* started = std::getenv("STARTED_NS");
    Add("start",
        started == nullptr ? 0 : Milliseconds(main.time_since_epoch() - std::chrono::nanoseconds(std::atoll(started))));
  }
  void Add(const char* name, double value) {
    char number[64];
    std::snprintf(number, sizeof number, "%s\"%s\": %.3f", text_.empty() ? "" : ", ", name, value);
    text_ += number;
  }
  // The time since the last stage ended.
  void Stage(const char* name) {
    const Clock::time_point now = Clock::now();
    Add(name, Milliseconds(now - last_));
    last_ = Clock::now();
  }
  void Skip() { last_ = Clock::now(); }
  void Print() const { std::printf("{%s}\n", text_.c_str()); }

 private:
  static double Milliseconds(Clock::duration time) { return std::chrono::duration<double, std::milli>(time).count(); }

  Clock::time_point last_;
  std::string text_;
};

}  // namespace pt::bench
