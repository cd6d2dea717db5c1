#include "tools/common/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "partitiontuner/support/file.h"
#include "tools/common/file_advice.h"
#include "tools/common/text.h"

namespace pt::tools {

namespace {

constexpr size_t kPlainColumns = 200;

// Of the terminal, without the last column, which some wrap at; else what the shell says of it.
size_t ColumnsToDraw() {
  constexpr size_t kUsual = 80, kLeast = 20;
  winsize size{};
  size_t columns = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
  const char* const said = std::getenv("COLUMNS");
  if (columns == 0 && said != nullptr) columns = std::strtoul(said, nullptr, 10);
  if (columns == 0) columns = kUsual;
  return std::max(columns, kLeast) - 1;
}

// Of what is next to nothing the clock's own steps are all that differs: no spread is worth a number.
std::string MeasuredText(const MeasureProgress& progress) {
  constexpr int64_t kLeastNs = 100;
  if (progress.ns < kLeastNs) return "below " + ShortTime(kLeastNs);
  return ShortTime(progress.ns) + (progress.noise < 1 ? " +-" + Percent(progress.noise) : "");
}

}  // namespace

void Console::Configure(bool json, int verbosity, bool quiet, ProgressMode progress) {
  json_ = json;
  verbosity_ = verbosity;
  quiet_ = quiet;
  const char* const terminal = std::getenv("TERM");
  const bool can_redraw = isatty(STDERR_FILENO) == 1 && terminal != nullptr && std::string_view(terminal) != "dumb";
  if (progress == ProgressMode::kAuto) progress = can_redraw ? ProgressMode::kTerminal : ProgressMode::kPlain;
  progress_ = quiet ? ProgressMode::kNone : progress;
  last_ = std::chrono::steady_clock::now();
}

void Console::Note(std::string_view line) const {
  if (!quiet_) std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
}
void Console::Detail(std::string_view line) const {
  if (verbosity_ > 0) Note(line);
}
void Console::Warn(std::string_view line) const {
  std::fprintf(stderr, "warning: %.*s\n", static_cast<int>(line.size()), line.data());
}

int Console::Fail(const Error& failed) const {
  const Error error = WithFileAdvice(failed);
  if (json_) {
    std::fprintf(stderr, "%s\n", WriteJson(ToJson(error), -1).c_str());
  } else {
    std::fprintf(stderr, "%s: %s\n", tool_.c_str(), error.message.c_str());
    if (!error.node.empty()) std::fprintf(stderr, "  node: %s\n", error.node.c_str());
    if (!error.file.empty() && error.message.find(error.file) == std::string::npos) {
      std::fprintf(stderr, "  file: %s\n", error.file.c_str());
    }
    if (!error.device.empty()) std::fprintf(stderr, "  device: %s\n", error.device.c_str());
    if (!error.hint.empty()) std::fprintf(stderr, "  try: %s\n", error.hint.c_str());
    if (error.code == ErrorCode::kInternal) {
      std::fprintf(stderr,
                   "  this is a bug of partitiontuner: please report it with the command line and "
                   "the model\n");
    }
  }
  return static_cast<int>(error.code);
}

void Console::Draw(const std::string& line) {
  using std::chrono::steady_clock;
  const auto now = steady_clock::now();
  const bool terminal = progress_ == ProgressMode::kTerminal;
  if (progress_ == ProgressMode::kNone || progress_ == ProgressMode::kAuto) return;
  if (now - last_ < (terminal ? std::chrono::milliseconds(100) : std::chrono::milliseconds(10'000))) return;
  last_ = now;
  const size_t columns = terminal ? ColumnsToDraw() : kPlainColumns;
  std::fprintf(stderr, terminal ? "\r%.*s\033[K" : "%.*s\n", static_cast<int>(columns), line.c_str());
  std::fflush(stderr);
  line_open_ = terminal;
}

void Console::ShowProgress(const MeasureProgress& p) {
  const double share = p.total > 0 ? static_cast<double>(p.done) / static_cast<double>(p.total) : 1.0;
  Draw("[" + std::to_string(p.done) + "/" + std::to_string(p.total) + "] " + Fixed(share * 100, 0) + "%  " +
       ShortTime(p.left.count()) + " left  " + MeasuredText(p) + "  " + p.current +
       (p.failed > 0 ? "  (" + std::to_string(p.failed) + " failed)" : ""));
}

void Console::ShowCount(size_t done, size_t total, std::string_view current) {
  Draw("[" + std::to_string(done) + "/" + std::to_string(total) + "] " + std::string(current));
}

void Console::ShowRuns(size_t runs) { Draw("measuring: " + std::to_string(runs) + " runs"); }

void Console::ShowSearch(std::string_view what, int64_t best_ns, std::chrono::nanoseconds spent) {
  Draw(std::string(what) + " for " + ShortTime(spent.count()) + ": " +
       (best_ns > 0 ? "best plan so far " + ShortTime(best_ns) : std::string("no plan yet")));
}

void Console::EndProgress() {
  if (line_open_) std::fprintf(stderr, "\r\033[K");
  line_open_ = false;
}

Status WriteOut(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return {};
  Error error = MakeError(ErrorCode::kInvalidInput, "output.write", "cannot write all of the result");
  error.file = "standard output";
  return error;
}

Status WriteTo(const std::string& path, std::string_view text) {
  return path == "-" ? WriteOut(text) : WriteFileAtomically(path, text);
}

Json ToJson(const Error& error) {
  Json json = Json::MakeObject();
  json.Set("code", static_cast<int>(error.code));
  json.Set("id", error.id.empty() ? std::string(ErrorCodeName(error.code)) : error.id);
  json.Set("message", error.message);
  json.Set("hint", error.hint);
  json.Set("file", error.file);
  json.Set("node", error.node);
  json.Set("device", error.device);
  return json;
}

}  // namespace pt::tools
