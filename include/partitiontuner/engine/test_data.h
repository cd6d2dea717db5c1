// Folders of test data in the form of the ONNX backend tests: input_N.pb in the order of the
// graph's inputs, output_N.pb in the order of its outputs. Where output_N.pb is absent,
// output_N.sample.json {name, shape, stride, values} holds every stride-th value.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "partitiontuner/engine/verify.h"
#include "partitiontuner/support/limits.h"

namespace pt {

// input_0.pb … input_{count-1}.pb. Errors (kInvalidInput): one is missing or unreadable.
Result<std::vector<Tensor>> LoadTestInputs(const std::string& folder, size_t count, const Limits& limits = {});
// Errors (kInvalidInput): an expected output is missing in both forms, or unreadable.
Result<std::vector<ExpectedTensor>> LoadExpectedOutputs(const std::string& folder, size_t count,
                                                        const Limits& limits = {});
// The same of outputs of these types, which say how files of what is not a tensor are read.
Result<std::vector<ExpectedTensor>> LoadExpectedOutputs(const std::string& folder, std::span<const ValueType> types,
                                                        const Limits& limits = {});

// The test_data_set_* folders in `folder`, sorted, numbers in their names by size; empty when there is none.
std::vector<std::string> FindTestDataSets(const std::string& folder);

}  // namespace pt
