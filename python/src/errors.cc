#include "errors.h"

namespace nb = nanobind;

namespace pt::python {
nb::object AsException(const Error& error) {
  return nb::module_::import_("partitiontuner.errors")
      .attr("make_error")(static_cast<int>(error.code), error.id.c_str(), error.message.c_str(), error.hint.c_str(),
                          error.file.c_str(), error.node.c_str(), error.device.c_str());
}

void RegisterErrors() {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Failure& failure) {
      const nb::object exception = AsException(failure.error);
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
    }
  });
}

}  // namespace pt::python
