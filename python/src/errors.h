// Errors of the library as exceptions: C++ throws Failure, which Python sees as partitiontuner.Error or one of its
// kinds.
#pragma once

#include <nanobind/nanobind.h>
#include <partitiontuner/support/result.h>

#include <utility>

namespace pt::python {

struct Failure {
  Error error;
};

template <typename T>
T Unwrap(Result<T> result) {
  if (!result.ok()) throw Failure{std::move(result).error()};
  return std::move(result).value();
}

inline void Unwrap(Status status) {
  if (!status.ok()) throw Failure{std::move(status).error()};
}

[[noreturn]] inline void Fail(ErrorCode code, const char* id, std::string message, std::string hint = {}) {
  throw Failure{MakeError(code, id, std::move(message), std::move(hint))};
}

// What partitiontuner.errors makes of it; with the GIL held.
nanobind::object AsException(const Error& error);

// From now on Failure is raised as what partitiontuner.errors makes of it.
void RegisterErrors();

}  // namespace pt::python
