#include "lib/cost/network_file_system.h"

#include <sys/vfs.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>

namespace pt {
namespace {

// As statfs(2) and the kernel's magic.h name them; those of no kernel header, by their own sources.
constexpr uint32_t kNetworkFileSystems[] = {
    0x6969,      // NFS
    0x517B,      // SMB
    0xFF534D42,  // CIFS
    0xFE534D42,  // SMB2
    0x564C,      // NCP
    0x73757245,  // Coda
    0x5346414F,  // AFS
    0x6B414653,  // kAFS
    0x01021997,  // 9P
    0x00C36400,  // Ceph
    0x7461636F,  // OCFS2
    0x01161970,  // GFS2
    0x0BD00BD0,  // Lustre
    0x47504653,  // GPFS
    0x19830326,  // BeeGFS
    0x65735546,  // FUSE: sshfs, GlusterFS and the like
};

}  // namespace

bool IsOnNetwork(const std::string& path) {
  struct statfs about {};
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (statfs(path.c_str(), &about) != 0 && statfs(folder.empty() ? "." : folder.c_str(), &about) != 0) return false;
  return std::ranges::count(kNetworkFileSystems, static_cast<uint32_t>(about.f_type)) != 0;
}

}  // namespace pt
