// SPDX-License-Identifier: Apache-2.0
// media_cut_wrongly: positions of three axes, or embeddings, were cut along a dimension that is not
// their sequence.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "traces/analysis/doctor/rule.h"
#include "traces/analysis/doctor/shard_lengths.h"
#include "traces/format/trace/context_facts.h"

namespace ringscope::traces {
namespace {

using Shape = std::vector<std::int64_t>;

std::string words(const Shape& shape) {
  std::string text;
  for (const std::int64_t extent : shape)
    text += (text.empty() ? "" : ", ") + std::to_string(extent);
  return "(" + text + ")";
}

/// Returns the dimension with as many entries as the sequence has tokens, if a buffer with at least
/// three dimensions is cut along another one. Returns nullopt when no dimension or several have.
std::optional<std::size_t> missedDim(const Shape& shape, std::int64_t cut, std::int64_t tokens) {
  if (shape.size() < 3 || cut < 0 || cut >= std::ssize(shape) || tokens < 2) return std::nullopt;
  if (shape[static_cast<std::size_t>(cut)] == tokens || std::ranges::count(shape, tokens) != 1)
    return std::nullopt;
  return static_cast<std::size_t>(std::ranges::find(shape, tokens) - shape.begin());
}

Finding mediaFinding(const std::string& buffer, const Shape& shape, std::int64_t cut,
                     std::size_t meant, const std::string& more) {
  return {.title = "Positions or embeddings of media are cut along another dimension than tokens",
          .buffer = buffer,
          .evidence = buffer + " has the shape " + words(shape) + ", and its dimension " +
                      std::to_string(cut) +
                      " is given as the sequence. The tokens have a sequence "
                      "of " +
                      std::to_string(shape[meant]) + ", as dimension " + std::to_string(meant) +
                      " of " + buffer + " has." + more,
          .remedy =
              "Give each buffer its own sequence dimension: buffer_seq_dims=[1, 1, 2] for "
              "input_ids and labels of (batch, sequence) and position_ids of (3, batch, "
              "sequence), 1 for embeddings of (batch, sequence, width)."};
}

Finding placed(Finding finding, Confidence confidence, std::int32_t train_step, WorldRank rank) {
  finding.confidence = confidence;
  finding.place = {train_step};
  finding.rank = rank;
  return finding;
}

/// Returns the length that all plain buffers of a refused call have along their sequence; 0 when
/// they differ or there are none.
std::int64_t commonLength(const std::vector<const UncutBuffer*>& call) {
  std::int64_t length = 0;
  for (const UncutBuffer* buffer : call) {
    if (buffer->shape.size() > 2 || buffer->seq_dim >= std::ssize(buffer->shape)) continue;
    const std::int64_t own = buffer->shape[static_cast<std::size_t>(buffer->seq_dim)];
    if (length > 0 && own != length) return 0;
    length = own;
  }
  return length;
}

/// Finds the buffer for which PyTorch refused a call.
std::optional<Finding> refusedBuffer(const Trace& trace) {
  const std::vector<UncutBuffer> buffers = uncutBuffers(trace);
  std::map<std::pair<std::int32_t, WorldRank>, std::vector<const UncutBuffer*>> calls;
  for (const UncutBuffer& buffer : buffers)
    calls[{buffer.train_step, buffer.rank}].push_back(&buffer);
  for (const auto& [place, call] : calls)
    for (const UncutBuffer* buffer : call)
      if (const auto meant = missedDim(buffer->shape, buffer->seq_dim, commonLength(call)))
        return placed(mediaFinding(buffer->buffer, buffer->shape, buffer->seq_dim, *meant,
                                   " PyTorch refused to cut it."),
                      Confidence::kLikely, place.first, place.second);
  return std::nullopt;
}

/// Reports whether attention of the rank attended other rows of the batch, each of them whole.
bool attendsWholeRows(const Trace& trace, const ShardRecord& shard) {
  const TensorRecord* q =
      trace.findTensor({TensorKind::kQ, ""}, Place{shard.train_step, Layer::of(0)}, shard.rank);
  return q && q->shape.size() == 4 && shard.seq_dim == 0 && shard.full_shape.size() == 3 &&
         q->shape[0] == shard.local_shape[0] && q->shape[2] == shard.full_shape[1] &&
         shard.local_shape[0] < shard.full_shape[0];
}

/// Finds a buffer that the model read as positions, or attended, and that was cut across.
std::optional<Finding> cutAcross(const Trace& trace, bool& compared) {
  for (const ShardRecord& shard : trace.shards()) {
    const ShardRecord* tokens = trace.findShard("input_ids", shard.train_step, shard.rank);
    if (!tokens || !shard.sharded || shard.full_shape.size() < 3 ||
        shard.local_shape.size() != shard.full_shape.size())
      continue;
    const auto length = fullLength(*tokens);
    const auto meant = missedDim(shard.full_shape, shard.seq_dim, length.value_or(0));
    compared = compared || fullLength(shard) == length;
    if (meant && (shard.buffer == "position_ids" || attendsWholeRows(trace, shard)))
      return placed(mediaFinding(shard.buffer, shard.full_shape, shard.seq_dim, *meant,
                                 " The rank got " + words(shard.local_shape) + "."),
                    Confidence::kCertain, shard.train_step, shard.rank);
  }
  return std::nullopt;
}

/// Reports whether the recorder saw all buffers and positions, and none has three dimensions.
bool hasNoMedia(const Trace& trace) {
  const auto is_flat = [](const TensorRecord& tensor) {
    return tensor.tensor.kind != TensorKind::kPositionIds || tensor.shape.size() < 3;
  };
  return !trace.shards().empty() && std::ranges::all_of(trace.tensors(), is_flat) &&
         std::ranges::all_of(trace.shards(),
                             [](const ShardRecord& shard) { return shard.full_shape.size() < 3; });
}

}  // namespace

RuleResult checkMediaCutWrongly(const Trace& trace) {
  if (const auto answer = answerWithoutJob(trace)) return *answer;
  if (auto refused = refusedBuffer(trace)) return found(std::move(*refused));
  bool compared = false;
  if (auto across = cutAcross(trace, compared)) return found(std::move(*across));
  return compared || hasNoMedia(trace)
             ? clear()
             : notObservable(
                   "needs how positions of three axes and embeddings were cut, beside "
                   "the token ids");
}

}  // namespace ringscope::traces
