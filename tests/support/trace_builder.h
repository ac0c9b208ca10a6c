// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include "traces/format/trace/trace.h"

namespace ringscope::test {

/// Builds a recording from a few readable lines, one record per line. Ignores empty lines and
/// everything after #. A field that a line does not name has the record's default. Throws
/// usageError that quotes the line when it cannot be read. For example:
///
///   `run cp=2 strategy=ring mask=causal seq_len=8`
///   `intent mask=causal positions=whole_sequence balance=none`
///   `group cp 0,1`
///   `shard input_ids rank=1 tokens=4-8`
///   `tensor out rank=0 layer=0 shape=1x1x2x1 values=1,2`
///   `tensor block_out rank=0 layer=0 stage=1 source=1 piece=0 shape=1x1x2x1 values=1,2`
///   `attend rank=0 layer=0 stage=1 source=1 piece=0 q=0-2 k=0-2 time=10-20`
///   `send rank=0 peer=1 payload=kv flow=7 layer=0 stage=0`
///   `memory rank=0 kv bytes=100 time=5`
///   `diff dk layer=0 direction=backward ratio=3`
///   `note ended {"how": "failed", "reason": "rank 1 died"}`
///   `end`
///
/// Every event kind can be a first word; `step`, `layer`, `direction` and `stage` give its place. A
/// shard takes a length= when it is not that of its tokens, or both shapes, local=1x4 full=1x8. The
/// statistics of a tensor come from its `values`, or are given as min=, max=, nan=, inf=. A tensor
/// may have a hash=, and hash_by= with its algorithm. Events, tensors, shards and groups may have a
/// microbatch=; a shard or group with it holds in this microbatch only.
std::shared_ptr<traces::Trace> makeTrace(std::string_view text);

}  // namespace ringscope::test
