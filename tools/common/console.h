// What the tools say besides their data: notes, warnings, errors and progress, all on standard
// error.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "partitiontuner/profiler/measure.h"
#include "partitiontuner/support/result.h"

namespace pt::tools {

enum class ProgressMode { kAuto, kTerminal, kPlain, kNone };

class Console {
 public:
  explicit Console(std::string tool) : tool_(std::move(tool)) {}

  void Configure(bool json, int verbosity, bool quiet, ProgressMode progress);

  bool json() const { return json_; }  // data in JSON form is asked for
  int verbosity() const { return verbosity_; }

  void Note(std::string_view line) const;    // unless quiet
  void Detail(std::string_view line) const;  // with -v
  void Warn(std::string_view line) const;    // always
  // Reports the error, as text or as {code,id,message,hint,file,node,device}; returns its exit
  // code.
  int Fail(const Error& error) const;

  // Progress of measurements: a line redrawn on a terminal, else a plain line every ten seconds.
  // Called between measurements only, so that drawing never disturbs one.
  void ShowProgress(const MeasureProgress& progress);
  void ShowCount(size_t done, size_t total, std::string_view current);
  void ShowRuns(size_t runs);
  // best_ns: 0 where there is no plan yet.
  void ShowSearch(std::string_view what, int64_t best_ns, std::chrono::nanoseconds spent);
  void EndProgress();  // clears the line

 private:
  void Draw(const std::string& line);

  std::string tool_;
  bool json_ = false, quiet_ = false, line_open_ = false;
  int verbosity_ = 0;
  ProgressMode progress_ = ProgressMode::kNone;
  std::chrono::steady_clock::time_point last_{};
};

// Writes data to standard output; an error (kInvalidInput) when it cannot all be written.
Status WriteOut(std::string_view text);
// To a file, or standard output for "-".
Status WriteTo(const std::string& path, std::string_view text);

Json ToJson(const Error& error);

}  // namespace pt::tools
