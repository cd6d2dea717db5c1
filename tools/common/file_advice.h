// What a file is that could not be read as what it was given for.
#pragma once

#include "partitiontuner/support/result.h"

namespace pt::tools {

// The error with what its file is and what to do, where a look at the file tells; else as it came.
Error WithFileAdvice(Error error);

}  // namespace pt::tools
