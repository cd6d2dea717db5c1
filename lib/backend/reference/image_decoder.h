// Decoding images, for the table of image operators.
#pragma once

#include "lib/backend/reference/operator.h"

namespace pt::reference {

// Of BMP without compression and binary PGM and PPM; other formats are kUnsupported.
Result<ReferenceRoutine> ImageDecoder(ReferenceSite& site);

}  // namespace pt::reference
