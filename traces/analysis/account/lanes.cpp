// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/account/lanes.h"

namespace ringscope::traces {

const char* title(LaneKind lane) {
  constexpr const char* kTitles[] = {"compute", "KV out", "dKV out", "collectives"};
  return kTitles[static_cast<std::size_t>(lane)];
}

LaneKind eventLane(const Event& event) {
  if (event.kind != EventKind::kSend && event.kind != EventKind::kCollective)
    return LaneKind::kCompute;
  if (event.payload == Payload::kKv) return LaneKind::kKv;
  return event.payload == Payload::kDkv ? LaneKind::kDkv : LaneKind::kCollective;
}

Shade eventShade(const Event& event) {
  switch (event.kind) {
    case EventKind::kAttend:
      return Shade::kAttend;
    case EventKind::kMerge:
      return Shade::kMerge;
    case EventKind::kLoss:
      return Shade::kLoss;
    case EventKind::kGradSync:
    case EventKind::kClip:
    case EventKind::kOptimizer:
      return Shade::kSync;
    case EventKind::kVerify:
      return Shade::kVerify;
    case EventKind::kWait:
      return Shade::kWait;
    case EventKind::kPause:
      return Shade::kPause;
    case EventKind::kSend:
    case EventKind::kReceive:
    case EventKind::kCollective:
      return Shade::kMessage;
    default:
      return Shade::kCompute;
  }
}

}  // namespace ringscope::traces
