// Everything an application needs: the engine and what its interface speaks of. Not for the library's own files, which
// include what they use.
#pragma once

#include "partitiontuner/engine/carried_runs.h"
#include "partitiontuner/engine/engine.h"
#include "partitiontuner/engine/npy.h"
#include "partitiontuner/engine/plan_file.h"
#include "partitiontuner/engine/run_buffers.h"
#include "partitiontuner/engine/several_models.h"
#include "partitiontuner/engine/shaped_sessions.h"
#include "partitiontuner/engine/submit_tensors.h"
#include "partitiontuner/version.h"
