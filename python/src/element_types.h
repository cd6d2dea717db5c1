// Element types as DLPack names them.
#pragma once

#include <nanobind/ndarray.h>
#include <partitiontuner/graph/data_type.h>

#include <optional>

namespace pt::python {

// Nothing where the other side has no such type: strings, and types below a byte.
std::optional<DataType> FromDlpack(nanobind::dlpack::dtype type);
std::optional<nanobind::dlpack::dtype> ToDlpack(DataType type);

// NumPy itself has an element type for it; the others come as arrays that speak DLPack alone.
bool IsInNumpy(DataType type);

}  // namespace pt::python
