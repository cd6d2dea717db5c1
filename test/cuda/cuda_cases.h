// Graphs whose nodes become one kernel each time, for whichever device, as text of graph_text.h.
#pragma once

#include <string>
#include <vector>

namespace pt::testing {

std::vector<std::string> ElementwiseCases();
std::vector<std::string> RowCases();       // reductions, softmax, layer normalisation
std::vector<std::string> MovementCases();  // views, Transpose, Expand, Concat
std::vector<std::string> ProductCases();   // for the library "cublaslt"

}  // namespace pt::testing
