// What the library of a plugin around another program's runtime must do, whatever that runtime is: the library serves
// hosts of this processor, offers groups in float32, and has read its runtime.
#pragma once

#include <string>

#include "partitiontuner/backend/backend.h"

namespace pt::testing {

// Each node of a small product, and both together, on one core and on all.
void CheckUnitsOfOneCoreAndOfAll(const Library& library);
// One that was made without a runtime, for that reason.
void CheckServesNothing(const Library& library, const std::string& why);
// Every digit, where runtimes take fewer by themselves; two candidates.
void CheckComputesInFloat32(const Library& library);
// Runtimes drop operators that change nothing, and then leave an output unwritten. More than `least` candidates are
// offered for such groups.
void CheckWhatChangesNothingIsWritten(const Library& library, size_t least);
// Of float32 or int64.
void CheckSlicesAreReadAndWrittenWhereTheyLie(const Library& library, DataType type);
// What a thread made in a run would do to the executor's pinned cores: see Kernel::brings_threads.
void CheckRunsMakeNoThreads(const Library& library);

}  // namespace pt::testing
