// SPDX-License-Identifier: Apache-2.0
#include "traces/plan/strategy.h"

#include <algorithm>

namespace ringscope::traces {

Sharing sharing(Strategy strategy) {
  switch (strategy) {  // without a default, so that the compiler asks about a new strategy
    case Strategy::kAllGather:
      return Sharing::kGathersBlocks;
    case Strategy::kUlysses:
    case Strategy::kHybrid:
      return Sharing::kSharesHeads;
    case Strategy::kRing:
    case Strategy::kCount:
      break;
  }
  return Sharing::kRotatesBlocks;
}

bool hasRingHops(const RunSpec& run) {
  return run.strategy == Strategy::kRing || run.strategy == Strategy::kHybrid;
}

bool joinsShards(const RunSpec& run) {
  return sharing(run.strategy) == Sharing::kSharesHeads;
}

bool gathersKv(const RunSpec& run) {
  return sharing(run.strategy) == Sharing::kGathersBlocks || run.rotate == Rotate::kAllGather;
}

bool choosesUlyssesSize(Strategy strategy) {
  return strategy == Strategy::kHybrid;
}

Strategy headSharingStrategy() {
  return Strategy::kUlysses;
}

RunSpec withDefaultStrategy(RunSpec run) {
  run.strategy = RunSpec().strategy;
  run.ulysses = 0;
  return run;
}

RunSpec withoutSharedHeads(RunSpec run) {
  run.strategy = Strategy::kHybrid;
  run.ulysses = 1;
  return run;
}

std::int32_t ulyssesSize(const RunSpec& run) {
  if (run.strategy == Strategy::kUlysses) return run.cp;
  if (!choosesUlyssesSize(run.strategy)) return 1;
  if (run.ulysses > 0) return run.ulysses;
  const std::int64_t heads = run.model.heads / std::max(1, run.tp);
  std::int32_t size = 1;
  for (std::int32_t u = 1; u * u <= run.cp; ++u)
    if (run.cp % u == 0 && (heads < 1 || heads % u == 0)) size = u;
  return size;
}

Rotate hoppingRotation() {
  return Rotate::kP2p;
}

PacketRoute packetRoute(Rotate rotate) {
  switch (rotate) {
    case Rotate::kAllGather:
      return PacketRoute::kGather;
    case Rotate::kAllToAll:
      return PacketRoute::kAllToAll;
    case Rotate::kP2p:
    case Rotate::kCount:
      break;
  }
  return PacketRoute::kHop;
}

}  // namespace ringscope::traces
