// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "traces/format/schema/run_spec.h"

namespace ringscope::traces {

// The properties of strategies and rotations. Code outside of `traces/plan` asks these functions
// and names no strategy, so that a further strategy is added in this folder and as one executor.

/// How a strategy shares attention among the cp ranks.
enum class Sharing : std::uint8_t {
  kRotatesBlocks,  ///< KV blocks hop round a ring
  kGathersBlocks,  ///< every rank receives all KV blocks at the first ring step
  kSharesHeads     ///< all-to-all: joined shards of some heads; a ring among the rest, if any
};
Sharing sharing(Strategy strategy);

/// Reports whether KV blocks hop round a ring. No other strategy has ring steps between its
/// messages.
bool hasRingHops(const RunSpec& run);
/// Reports whether ranks turn joined shards into heads, also where one rank has no partner.
bool joinsShards(const RunSpec& run);
/// Reports whether all KV blocks arrive at the first ring step, by the strategy or by the rotation.
bool gathersKv(const RunSpec& run);
/// Reports whether the user chooses the number of ranks that share heads (`--ulysses`).
bool choosesUlyssesSize(Strategy strategy);
/// Returns a strategy in which all cp ranks share heads.
Strategy headSharingStrategy();
/// Returns the run with the default strategy, in which blocks go round a ring, and its defaults.
RunSpec withDefaultStrategy(RunSpec run);
/// Returns the run with a strategy that can split the ranks into any number that shares heads, and
/// with 1 as that number.
RunSpec withoutSharedHeads(RunSpec run);
/// Returns the number of ranks that share heads: 1 for ring and all_gather, cp for ulysses. For
/// hybrid it is what was asked, or as square a split as ranks and query heads allow.
std::int32_t ulyssesSize(const RunSpec& run);

/// How the packets of a rotation travel.
enum class PacketRoute : std::uint8_t {
  kHop,       ///< point to point, to the next rank
  kAllToAll,  ///< one hop, by an all-to-all in which only one part is not empty
  kGather     ///< all packets to all ranks at the first ring step
};
PacketRoute packetRoute(Rotate rotate);
/// Returns the rotation in which each packet hops point to point.
Rotate hoppingRotation();

}  // namespace ringscope::traces
