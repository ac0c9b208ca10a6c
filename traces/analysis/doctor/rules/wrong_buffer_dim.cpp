// SPDX-License-Identifier: Apache-2.0
// Compares the dimension along which each buffer was cut with the one that was declared.
#include <algorithm>

#include "traces/analysis/doctor/rule.h"

namespace ringscope::traces {
namespace {

std::string describe(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t extent : shape)
    text += (text.empty() ? "" : ", ") + std::to_string(extent);
  return "(" + text + ")";
}

/// The dimension along which the part is shorter than the whole; −1: along none, or several.
std::int32_t shorterDim(const ShardRecord& shard) {
  if (shard.full_shape.size() != shard.local_shape.size()) return -1;
  std::int32_t shorter = -1;
  for (std::size_t dim = 0; dim < shard.full_shape.size(); ++dim) {
    if (shard.local_shape[dim] >= shard.full_shape[dim]) continue;
    if (shorter >= 0) return -1;
    shorter = static_cast<std::int32_t>(dim);
  }
  return shorter;
}

/// The dimension by which it was cut.
std::int32_t cutDim(const ShardRecord& shard) {
  const std::int32_t shorter = shorterDim(shard);
  return shorter >= 0 ? shorter : shard.seq_dim;
}

Finding finding(const ShardRecord& shard, std::int32_t declared) {
  Finding f;
  f.rule = "wrong_buffer_dim";
  f.severity = "error";
  f.confidence = "certain";
  f.title = "A buffer is cut along another dimension than its sequence";
  f.place = {shard.train_step};
  f.rank = shard.rank;
  f.buffer = shard.buffer;
  f.evidence = "The sequence of " + shard.buffer + " is dimension " + std::to_string(declared) +
               ", and it was cut along dimension " + std::to_string(cutDim(shard)) + ", from " +
               describe(shard.full_shape) + " to " + describe(shard.local_shape) + ".";
  f.remedy =
      "Give each buffer its own sequence dimension: buffer_seq_dims=[1, 1, 1] for input_ids, "
      "labels and position_ids of shape (batch, sequence), 2 where position ids have three rows "
      "(mRoPE), 0 for freqs_cis.";
  return f;
}

}  // namespace

RuleResult checkWrongBufferDim(const Trace& trace) {
  if (trace.run() && trace.run()->cp == 1) return clear();
  bool compared = false;
  for (const ShardRecord& shard : trace.shards()) {
    const IntentRecord* meant = trace.intent(shard.train_step, shard.rank);
    if (!shard.sharded || !meant) continue;
    const auto declared = std::ranges::find(meant->buffers, shard.buffer, &BufferIntent::name);
    if (declared == meant->buffers.end()) continue;
    compared = true;
    if (cutDim(shard) != declared->seq_dim) return found(finding(shard, declared->seq_dim));
  }
  return compared ? clear()
                  : notObservable("needs how buffers were cut, and the dimension of each sequence");
}

}  // namespace ringscope::traces
