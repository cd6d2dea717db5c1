// Graphs whose nodes become one kernel each time, for whichever device, as text of graph_text.h.
#pragma once

#include <string>
#include <vector>

namespace pt::testing {

std::vector<std::string> ElementwiseCases();
std::vector<std::string> RowCases();       // reductions, softmax, layer normalisation
std::vector<std::string> MovementCases();  // views, Transpose, Expand, Concat
std::vector<std::string> PoolingCases();
std::vector<std::string> SlicingCases();    // Slice, Split, Tile, DepthToSpace, SpaceToDepth
std::vector<std::string> TransposeCases();  // by tiles, and such as need none
std::vector<std::string> IndexedCases();    // Gather and its relatives
std::vector<std::string> PadCases();
std::vector<std::string> ResizeCases();
std::vector<std::string> NormalizationCases();
std::vector<std::string> RecurrentCases();
std::vector<std::string> LineCases();  // ArgMax, ArgMin, CumSum
std::vector<std::string> TopKCases();
std::vector<std::string> AttentionCases();  // the operator, and spelled out
std::vector<std::string> LoweredAttentionCases();
std::vector<std::string> TypeCases();  // types other than float32, and Cast between all of them

std::vector<std::string> QuantisationCases();  // integers and back, alone and in groups
std::vector<std::string> IntegerConvolutionCases();
std::vector<std::string> IntegerMatrixCases();

std::vector<std::string> ConvolutionCases();  // with what is behind them
std::vector<std::string> LoweredCases();      // of float32, for storage in 16 bits

// All of the library "cuda", by family.
struct CaseFamily {
  std::string name;
  std::vector<std::string> cases;
};
std::vector<CaseFamily> OwnKernelCases();

std::vector<std::string> ProductCases();  // for the library "cublaslt"

}  // namespace pt::testing
