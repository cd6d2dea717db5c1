// What a device takes as one call (CallRules in platform.h): the one home of these rules for all libraries.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "partitiontuner/candidate/candidate.h"

namespace pt {

// The one mode in which the device computes: fp32 where its rules name none.
MathMode MathOf(const Device& device);

// Why the device takes no call with this node; nothing when it does. Sizes not known until run time are not taken:
// devices work on memory that was planned before.
std::optional<std::string> WhyNoCall(const Device& device, const Graph& graph, NodeId node);
// Why the device does not take these nodes as one call; nothing when it does.
std::optional<std::string> WhyNoCall(const Device& device, const Graph& graph, std::span<const NodeId> nodes);
// Why the candidate breaks the rules of its device, by its nodes or by its mode. Devices without rules, as the host,
// are not asked for.
std::optional<std::string> WhyNoCall(const Graph& graph, const Platform& platform, const Candidate& candidate);

}  // namespace pt
