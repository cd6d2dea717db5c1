// How operators are drawn: one file a family, in it one row an operator or pattern of operators. A row draws what its
// operator's definition allows: it picks operands among the values there are, or makes some, and attributes over their
// whole range. What comes of it the Drawing keeps, or not.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "test/testing/generated/drawing.h"

namespace pt::testing {

struct DrawnOperator {
  std::string op;
  std::function<void(Drawing&)> draw;
};

struct DrawnFamily {
  std::string name;
  std::vector<DrawnOperator> rows;
  int weight;  // against other families
};

DrawnFamily ElementwiseFamily();
DrawnFamily BroadcastFamily();
DrawnFamily CastFamily();
DrawnFamily ReductionFamily();
DrawnFamily SelectionFamily();
DrawnFamily MovementFamily();
DrawnFamily SliceFamily();
DrawnFamily IndexFamily();
DrawnFamily ConvolutionFamily();
DrawnFamily PoolFamily();
DrawnFamily ProductFamily();
DrawnFamily NormalizationFamily();
DrawnFamily ImageFamily();
DrawnFamily RecurrentFamily();
DrawnFamily QuantisedFamily();
DrawnFamily PatternFamily();
DrawnFamily ClassicalFamily();

}  // namespace pt::testing
