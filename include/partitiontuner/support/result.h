// Result<T> and Error: how every boundary of the project reports what input, hardware or files caused.
// Not for our own bugs: those are assertions. Nothing in the library throws across a public header.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace pt {

// What kind of failure this is. The numbers are the tools' exit codes (docs/exit-codes.md).
enum class ErrorCode : int {
  kInternal = 1,          // a bug of ours
  kUsage = 2,             // bad flag, value or combination; missing dims
  kInvalidInput = 3,      // unreadable or invalid file (model, tensor, JSON), illegal plan
  kUnsupported = 4,       // operator, type or shape supported by no device
  kDeviceUnusable = 5,    // a device or library that was named cannot be used
  kPartial = 6,           // partial result written: needed measurements are missing
  kStale = 7,             // plan or profile does not fit model, hardware or version
  kMismatch = 8,          // verification mismatch
  kInfeasible = 9,        // no feasible plan under the constraints
  kAssertionFailed = 10,  // --assert or --require-stable failed
  kOutOfMemory = 11,      // out of host or device memory, or over a memory limit
  kRunFailed = 12,        // deadline, cancelled, device lost, kernel error
  kInterrupted = 130,     // stopped by the user; finished samples are saved
};

// Short stable name of a code ("invalid_input").
const char* ErrorCodeName(ErrorCode code);

// What went wrong, for people and for programs.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string id;       // stable machine-readable name, e.g. "onnx.cycle"; may be empty
  std::string message;  // what failed, where, why, with the offending number
  std::string hint;     // one thing to try; may be empty
  std::string file;     // empty where no file is concerned
  std::string node;     // operator and source of the node concerned; may be empty
  std::string device;   // device, unit or library concerned; may be empty
};

// "message (node …) in file …; hint": one line for people.
std::string ToString(const Error& error);

inline Error MakeError(ErrorCode code, std::string id, std::string message, std::string hint = {}) {
  Error error;
  error.code = code;
  error.id = std::move(id);
  error.message = std::move(message);
  error.hint = std::move(hint);
  return error;
}

// What access to the half of a Result that is not there does, in every build: the reason goes to standard error, and
// the process ends by abort().
[[noreturn]] void EndWithoutValue(const Error& error);
[[noreturn]] void EndWithoutError();

// Either a value or an Error. Ask ok() first where input, files or hardware may fail: access to a value that is not
// there prints the error and aborts.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & { return CheckValue(), *std::get_if<0>(&state_); }
  const T& value() const& { return CheckValue(), *std::get_if<0>(&state_); }
  T&& value() && { return CheckValue(), std::move(*std::get_if<0>(&state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  Error& error() & { return CheckError(), *std::get_if<1>(&state_); }
  const Error& error() const& { return CheckError(), *std::get_if<1>(&state_); }
  Error&& error() && { return CheckError(), std::move(*std::get_if<1>(&state_)); }

 private:
  void CheckValue() const {
    if (!ok()) EndWithoutValue(*std::get_if<1>(&state_));
  }
  void CheckError() const {
    if (ok()) EndWithoutError();
  }

  std::variant<T, Error> state_;
};

// Success or an error, where there is nothing else to return.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  Error& error() & { return CheckError(), *error_; }
  const Error& error() const& { return CheckError(), *error_; }
  Error&& error() && { return CheckError(), std::move(*error_); }

 private:
  void CheckError() const {
    if (ok()) EndWithoutError();
  }

  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace pt

#define PT_CONCAT_INNER(a, b) a##b
#define PT_CONCAT(a, b) PT_CONCAT_INNER(a, b)

// PT_ASSIGN(auto x, MakeX()); returns the error of MakeX from the enclosing function, else binds x.
#define PT_ASSIGN(declaration, ...) PT_ASSIGN_NAMED(PT_CONCAT(pt_result_, __LINE__), declaration, __VA_ARGS__)
#define PT_ASSIGN_NAMED(name, declaration, ...)   \
  auto name = (__VA_ARGS__);                      \
  if (!name.ok()) return std::move(name).error(); \
  declaration = std::move(name).value()

// PT_CHECK_OK(DoX()); returns the error of DoX from the enclosing function.
#define PT_CHECK_OK(...)                                      \
  do {                                                        \
    auto pt_status = (__VA_ARGS__);                           \
    if (!pt_status.ok()) return std::move(pt_status).error(); \
  } while (false)
