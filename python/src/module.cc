// The extension module behind the package partitiontuner: thin, untyped functions that its Python files give names,
// defaults and types to.
#include <nanobind/nanobind.h>
#include <partitiontuner/version.h>

#include "errors.h"
#include "handles.h"

NB_MODULE(_core, module) {
  module.attr("version") = PARTITIONTUNER_VERSION;
  pt::python::RegisterErrors();
  pt::python::BindModels(module);
  pt::python::BindPlans(module);
  pt::python::BindSessions(module);
  pt::python::BindQueues(module);
}
