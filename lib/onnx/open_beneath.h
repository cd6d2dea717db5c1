// Opening files beneath a folder, whatever links lie in it.
#pragma once

#include <string>

namespace pt {

// A descriptor of `path`, which is relative and holds no "..", beneath the open folder; below 0 with errno set where
// there is none. Links are refused (ELOOP, or EXDEV where they lead out), or followed as far as they stay beneath it.
int OpenBeneath(int folder, const std::string& path, bool allow_symlinks);

// The same of a link that a cache of the Hugging Face hub has made: folders ROOT/snapshots/REVISION hold links to the
// files in ROOT/blobs, which are named by their hashes. Of a folder there, and of a link to a file right in these
// blobs, that file; below 0 for everything else. The link is followed once: neither blobs nor the file may be one.
int OpenInHubCache(int folder, const std::string& path);

}  // namespace pt
