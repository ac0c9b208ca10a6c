// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/summed_activations.h"

#include "traces/analysis/doctor/wrong_rows.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/sequence_groups.h"

namespace ringscope::traces {
namespace {

/// Returns the bytes of all elements of a tensor.
std::int64_t sizeInBytes(const TensorRecord& tensor) {
  auto bytes = static_cast<std::int64_t>(byteSize(tensor.dtype));
  for (const std::int64_t size : tensor.shape) bytes *= size;
  return bytes;
}

/// Reports whether an event sums as many numbers as the rank's queries have. Sums of other sizes
/// are statistics, or sequences that ranks fill in turn.
bool sumsAllActivations(const Trace& trace, const Event& event) {
  if (event.kind != EventKind::kCollective || event.payload != Payload::kActivations) return false;
  const TensorRecord* query =
      trace.findTensor({TensorKind::kQ}, {event.place.train_step, event.place.layer}, event.rank);
  return query && event.bytes == sizeInBytes(*query);
}

}  // namespace

std::optional<Finding> summedActivations(const Trace& trace, const Event& event,
                                         const GroupRecord& cp) {
  if (!sumsAllActivations(trace, event)) return std::nullopt;
  const GroupRecord* group = groupWithin(trace, event, cp);
  if (!group) return std::nullopt;
  return Finding{
      .confidence = Confidence::kLikely,
      .title = "Activations are summed over ranks with different tokens",
      .place = event.place,
      .rank = event.rank,
      .buffer = name(event.payload),
      .evidence = "In the forward of this layer rank " + toString(event.rank) + " sums " +
                  describeBytes(event.bytes) + ", the size of its queries, over " +
                  rankWords(group->members) + ". The sequence is cut over " +
                  rankWords(cp.members) +
                  ", so that each of them has other tokens. This assumes that ranks which sum "
                  "activations have parts of the same tokens.",
      .remedy =
          "Give tensor parallelism a group of ranks with the same tokens: the tp axis of the "
          "mesh (mesh[\"tp\"]), and not its cp axis or all ranks."};
}

}  // namespace ringscope::traces
