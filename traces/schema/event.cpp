// SPDX-License-Identifier: Apache-2.0
#include "traces/schema/event.h"

#include <array>

namespace ringscope::traces {

const char* name(EventKind kind) {
  static constexpr std::array<const char*, static_cast<std::size_t>(EventKind::kCount)> kNames = {
      "attend",       "send", "receive",   "merge", "wait",      "shard", "embed", "project",
      "feed_forward", "loss", "grad_sync", "clip",  "optimizer", "pause", "verify"};
  return kNames[static_cast<std::size_t>(kind)];
}

const char* name(Payload payload) {
  static constexpr std::array<const char*, static_cast<std::size_t>(Payload::kCount)> kNames = {
      "none", "kv", "dkv", "grads", "scalars"};
  return kNames[static_cast<std::size_t>(payload)];
}

const char* name(PieceMask mask) {
  static constexpr std::array<const char*, static_cast<std::size_t>(PieceMask::kCount)> kNames = {
      "full", "causal", "strict", "tile_mask"};
  return kNames[static_cast<std::size_t>(mask)];
}

}  // namespace ringscope::traces
