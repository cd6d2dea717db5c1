// The entries, each in a file of its own or with its likes.
#pragma once

#include <string_view>

namespace pt::testing {

void ModelBytesEntry(std::string_view bytes);    // the file's own forms: loaded
void ModelEntry(std::string_view bytes);         // loaded, simplified, planned, checked
void ModelRunEntry(std::string_view bytes);      // run by its plan, and compared with the reference library
void ExternalDataEntry(std::string_view bytes);  // location, offset, length: a line each
void PlanEntry(std::string_view bytes);          // read, written, read again
void PlanRunEntry(std::string_view bytes);       // against a graph: refused, or runs right
void ProfileEntry(std::string_view bytes);       // its digest is made right first
void PlatformEntry(std::string_view bytes);      // a whole machine, and a simulated device
void WorkloadEntry(std::string_view bytes);      // planned
void NpyEntry(std::string_view bytes);
void TensorFileEntry(std::string_view bytes);  // .pb, as each kind of value
void FlagsEntry(std::string_view bytes);       // a flag's value a line
void GraphTextEntry(std::string_view bytes);

}  // namespace pt::testing
