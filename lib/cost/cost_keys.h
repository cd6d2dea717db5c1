// What NeededKeys asks for and ProfiledCosts looks up: kept in one place, so that both mean the same keys.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "partitiontuner/candidate/signature.h"

namespace pt {

// What other cores are busy with, in BesideKey.
inline constexpr std::string_view kMemoryHogs = "memory", kComputeHogs = "compute";

std::vector<uint64_t> CopyLadder();     // the sizes copies are measured at, ascending
std::vector<uint64_t> FetchLadder();    // the sizes at which fetching from other cores' caches is measured, ascending
std::vector<uint32_t> SegmentLadder();  // the numbers of steps at which launches of segments are measured, ascending
// The class whose units' streams launches of segments are measured on; invalid where the device records none, or has
// nothing but copy engines.
UnitClassId SegmentClass(const Platform& platform, DeviceId device);
// Steps on units of these classes read what the other's left in its caches.
bool IsFetched(const Platform& platform, UnitClassId from, UnitClassId to);
bool IsSimulatedClass(const Platform& platform, UnitClassId unit_class);
bool IsSimulatedLink(const Platform& platform, LinkId link);
// A simulated device's file says nothing of reorders, and copy engines make none.
bool MeasuresReorders(const Platform& platform, UnitClassId unit_class);
// Of a dense tensor in that form; 0 where there is none.
uint64_t FormBytes(std::span<const int64_t> dims, const Form& form);
double ReorderBytes(std::span<const int64_t> dims, const Form& from, const Form& to);  // read and written
// "onednn 3.7.2, reference 1": the libraries among which the first that can makes a reorder.
std::string ReorderVersions(const std::map<std::string, std::string>& library_versions);

}  // namespace pt
