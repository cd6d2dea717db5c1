#pragma once

#include <string>

namespace pt {

// Whether a file there may be open on other machines as well: NFS, SMB, and what else is reached over a network.
// Where the system does not tell: no.
bool IsOnNetwork(const std::string& path);

}  // namespace pt
