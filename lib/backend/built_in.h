// The row of each built-in backend, defined in the backend's folder. Which of them a build holds is said by the calls
// of pt_backend in CMakeLists.txt.
#pragma once

#include "partitiontuner/backend/backends.h"

namespace pt {

Backend HostBackend();
Backend OneDnnBackend();
Backend HostKernelsBackend();
Backend RecurrentBackend();
Backend RunTimeBackend();
Backend ReferenceBackend();
Backend SimulatedBackend();

}  // namespace pt
