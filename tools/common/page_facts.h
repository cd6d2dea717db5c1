// What pages of --html say besides timelines: the machine and its state, what a plan was made from, what it is compared
// with.
#pragma once

#include <string>

#include "partitiontuner/plan/plan.h"
#include "tools/common/flags.h"
#include "tools/report/page.h"

namespace pt::tools {

// Before long work: that --html, if it is given, names a file which can be written. Errors: kUsage for standard output,
// which holds the table; kInvalidInput.
Status CheckPageFile(const std::string& html);

// What people call the model with that path: folders are often named after it and the file is not.
std::string ModelName(const std::string& path);

// Devices of the platform, and of the host what --doctor says of it now.
PageTable MachineFacts(const Platform& platform);
// Versions, measurements and settings of the plan, and the command line.
PageTable OriginFacts(const Plan& plan, const CommonFlags& flags);
// Predicted makespans, the fastest first, with the plan's own and the bound.
PageTable BaselineFacts(const Plan& plan);

// Cards that all pages have: steps, memory, bound.
void AddPlanCards(const Platform& platform, const Plan& plan, Page& page);
// A note where devices are simulated.
void NoteSimulated(const Platform& platform, Page& page);
// Notes on what a reader must not miss: simulated devices, a search that was interrupted.
void AddPlanNotes(const Platform& platform, const Plan& plan, Page& page);

}  // namespace pt::tools
