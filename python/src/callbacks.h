// Calls of Python from within the library, which runs without the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>

namespace pt::python {

// What a callback or the interpreter raised, kept until the library has returned.
class Raised {
 public:
  // Calls `call` with the GIL held, after looking for signals (Ctrl-C). False once anything was raised: what goes on
  // should end.
  template <typename Call>
  bool Guard(const Call& call) noexcept {
    const nanobind::gil_scoped_acquire gil;
    if (error_) return false;
    try {
      if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
      call();
    } catch (nanobind::python_error& error) {
      error_.emplace(std::move(error));
    }
    return !error_;
  }
  // With the GIL held.
  void Rethrow() {
    if (error_) throw std::move(*error_);
  }

 private:
  std::optional<nanobind::python_error> error_;
};

}  // namespace pt::python
