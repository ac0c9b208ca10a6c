// SPDX-License-Identifier: Apache-2.0
#include "traces/format/trace/admission.h"

#include <algorithm>

#include "traces/format/core/error.h"
#include "traces/format/core/utf8.h"

namespace ringscope::traces {
namespace {

void checkRankOrNone(WorldRank rank) {
  if (rank.value() < -1 || rank.value() >= kMaxRanks)
    throw inputError("the trace names rank " + std::to_string(rank.value()) + ", which cannot be");
}

void checkRank(WorldRank rank) {
  checkRankOrNone(rank);
  if (rank.isNone()) throw inputError("the trace names rank -1, which cannot be");
}

void checkRanks(const std::vector<WorldRank>& ranks) {
  if (ranks.size() > kMaxRanks)
    throw inputError("the trace names a group of " + std::to_string(ranks.size()) + " ranks");
  for (const WorldRank rank : ranks) checkRank(rank);
}

void checkPlace(const Place& place) {
  if (place.train_step < 0 || place.layer.value() >= kMaxLayers ||
      place.stage.value() >= kMaxStages)
    throw inputError("the trace names a place that cannot be: training step " +
                     std::to_string(place.train_step) + ", layer " + toString(place.layer) +
                     ", ring step " + toString(place.stage));
}

void checkMicrobatch(std::optional<std::int32_t> microbatch) {
  if (microbatch && *microbatch < 0)
    throw inputError("the trace names microbatch " + std::to_string(*microbatch) +
                     ", which cannot be");
}

void checkLayers(const std::vector<Layer>& layers) {
  if (layers.size() > kMaxLayers)
    throw inputError("the trace names a group of " + std::to_string(layers.size()) + " layers");
  for (const Layer layer : layers)
    if (layer.isNone() || layer.value() >= kMaxLayers)
      throw inputError("the trace names layer " + toString(layer) + ", which cannot be");
}

void checkRange(std::int64_t begin, std::int64_t end, const char* what) {
  if (begin < 0 || end < begin || end > kMaxTokens)
    throw inputError(std::string("the trace names ") + what + " [" + std::to_string(begin) + ", " +
                     std::to_string(end) + "), which cannot be");
}

/// Checks a number of a run's configuration that counts something.
void checkCount(std::int64_t count, std::int64_t most, const char* what) {
  if (count < 0 || count > most)
    throw inputError(std::string("the trace's run has ") + std::to_string(count) + " as " + what +
                     ", which cannot be");
}

void checkTime(std::int64_t ns) {
  if (ns < -kMaxTimeNs || ns > kMaxTimeNs)
    throw inputError("the trace names a time that cannot be: " + std::to_string(ns) + " ns");
}

void checkBytes(std::int64_t bytes) {
  if (bytes < 0 || bytes > kMaxBytes)
    throw inputError("the trace names " + std::to_string(bytes) + " bytes, which cannot be");
}

/// Checks a name. Names are shown, compared and written as JSON, which allows only UTF-8.
void checkName(const std::string& name) {
  constexpr std::size_t kMostBytes = 512;
  if (name.size() > kMostBytes)
    throw inputError("the trace holds a name of " + std::to_string(name.size()) + " bytes");
  if (!isUtf8(name)) throw inputError("the trace holds a name that is not UTF-8");
  if (!isPlainText(name))
    throw inputError("the trace holds a name with control characters: " + toPlainText(name));
}

void checkShape(const std::vector<std::int64_t>& shape, const std::string& of) {
  constexpr std::size_t kMaxDimensions = 16;
  std::int64_t elements = 1;
  bool possible = shape.size() <= kMaxDimensions;
  for (const std::int64_t extent : shape) {
    // An extent of 0 does not excuse impossible other extents.
    possible = possible && extent >= 0 && (extent == 0 || extent <= kMaxElements / elements);
    if (possible && extent > 0) elements *= extent;
  }
  if (!possible) throw inputError("'" + of + "' of the trace has an impossible shape");
}

void checkSummary(const RankSummary& summary) {
  checkRank(summary.rank);
  checkTime(summary.begin_ns);
  checkTime(summary.end_ns);
  std::uint64_t events = 0;
  const Place* previous = nullptr;
  for (const PlaceCount& at : summary.places) {
    checkPlace(at.place);
    if (at.events == 0 || (previous && !before(*previous, at.place))) break;
    events += at.events;
    previous = &at.place;
  }
  if (summary.events == 0 || events != summary.events || summary.pending > summary.events ||
      summary.end_ns < summary.begin_ns)
    throw inputError("a summary of events contradicts itself");
}

}  // namespace

void admit(const EventSummary& summary, std::uint32_t rows) {
  std::uint64_t events = 0;
  WorldRank previous;
  for (const RankSummary& of_rank : summary.ranks) {
    checkSummary(of_rank);
    if (previous.exists() && of_rank.rank.value() <= previous.value())
      throw inputError("a summary of events names a rank twice");
    events += of_rank.events;
    previous = of_rank.rank;
  }
  if (events != rows) throw inputError("a summary of events is about another number of them");
}

void admit(const Event& event) {
  checkRank(event.rank);
  checkRankOrNone(event.peer);
  checkRankOrNone(event.source_rank);
  checkPlace(event.place);
  for (const std::int64_t ns : {event.begin_ns, event.start_ns, event.end_ns, event.cpu_ns})
    checkTime(ns);
  checkBytes(event.bytes);
  checkRange(event.q_begin, event.q_end, "query rows");
  checkRange(event.k_begin, event.k_end, "key rows");
}

void admit(const TensorRecord& tensor) {
  checkRankOrNone(tensor.rank);
  checkRankOrNone(tensor.source_rank);
  checkPlace(tensor.place);
  checkName(tensor.tensor.name);
  checkShape(tensor.shape, tensor.tensor.text());
}

void admit(const ShardRecord& shard) {
  checkRank(shard.rank);
  checkName(shard.buffer);
  checkPlace({shard.train_step});
  checkMicrobatch(shard.microbatch);
  checkShape(shard.full_shape, shard.buffer);
  checkShape(shard.local_shape, shard.buffer);
  std::int64_t tokens = 0;
  for (const TokenRun& run : shard.global_from_local) {
    checkRange(run.begin, run.end, "tokens");
    tokens += run.end - run.begin;
    if (tokens > kMaxTokens)
      throw inputError("the shard '" + shard.buffer + "' of the trace has more tokens than can be");
  }
}

void admit(const Note& note) {
  checkName(note.key);
}

void admit(const MemorySample& sample) {
  checkRank(sample.rank);
  checkTime(sample.time_ns);
  checkBytes(sample.bytes);
}

void admit(const DiffRecord& diff) {
  checkPlace(diff.place);
  checkName(diff.tensor);
  const RowRatios& rows = diff.rows;
  std::int64_t count = 1;
  for (const std::int64_t extent : rows.shape) {
    checkCount(extent, kMaxTokens, "an extent of a diff's rows");
    if (extent > 0 && count > kMaxBytes / extent)
      throw inputError("the trace names a diff of more rows than there can be");
    count *= extent;
  }
  const std::int64_t codes =
      rows.rows_a_code < 1 ? -1 : count / rows.rows_a_code + (count % rows.rows_a_code > 0 ? 1 : 0);
  if (!rows.codes.empty() && codes != static_cast<std::int64_t>(rows.codes.size()))
    throw inputError("the trace holds a diff whose rows do not fit their shape");
}

void admit(const TimesRecord& times) {
  checkRank(times.rank);
  for (const std::int64_t ns : {times.begin_ns, times.start_ns, times.end_ns}) checkTime(ns);
  if (times.end_ns < times.begin_ns)
    throw inputError("an event of the trace ends before it begins");
}

void admit(const RunSpec& run) {
  for (const BufferChoice& buffer : run.buffers) checkName(buffer.name);
  for (const std::int32_t ranks : {run.dp, run.tp, run.cp, run.ulysses})
    checkCount(ranks, kMaxRanks, "a number of ranks");
  checkCount(std::int64_t{run.dp} * run.tp, kMaxRanks, "dp × tp");
  checkCount(std::int64_t{run.dp} * run.tp * run.cp, kMaxRanks, "dp × tp × cp");
  checkCount(run.window, kMaxTokens, "window");
  checkCount(run.seq_len, kMaxTokens, "seq_len");
  checkCount(run.batch, kMaxTokens, "batch");
  checkCount(run.model.layers, kMaxLayers, "layers");
  for (const std::int64_t size : {run.model.hidden_size, run.model.heads, run.model.kv_heads,
                                  run.model.head_dim, run.model.vocab_size})
    checkCount(size, kMaxTokens, "a size of the model");
}

void admit(const GroupRecord& group) {
  if (group.id.isNone()) throw inputError("the trace holds a group without a number");
  checkRanks(group.members);
  if (group.members.empty()) throw inputError("the trace holds a group without members");
  auto members = group.members;
  std::ranges::sort(members);
  if (std::ranges::adjacent_find(members) != members.end())
    throw inputError("the trace names a rank twice in a group");
  constexpr std::size_t kMostMicrobatches = std::size_t{1} << 20;
  if (group.microbatches.size() > kMostMicrobatches)
    throw inputError("the trace names a group of " + std::to_string(group.microbatches.size()) +
                     " microbatches");
  for (const StepMicrobatch& at : group.microbatches) {
    checkPlace({at.train_step});
    checkMicrobatch(at.microbatch);
  }
}

void admit(const IntentRecord& intent) {
  checkPlace({intent.train_step});
  checkMicrobatch(intent.microbatch);
  checkRanks(intent.ranks);
  checkLayers(intent.layers);
  checkCount(intent.window, kMaxTokens, "window");
  for (const TokenRun& document : intent.documents)
    checkRange(document.begin, document.end, "a document");
  for (const BufferIntent& buffer : intent.buffers) checkName(buffer.name);
}

void admit(const ScheduleRecord& schedule) {
  checkPlace({schedule.train_step});
  checkMicrobatch(schedule.microbatch);
  checkRank(schedule.rank);
  checkLayers(schedule.layers);
  checkRanks(schedule.ring);
  checkRanks(schedule.ulysses);
  checkRange(schedule.q_head_begin, schedule.q_head_end, "heads");
  std::int64_t rows = 0;
  for (const ShardRun& run : schedule.rows) {
    checkRange(run.begin, kMaxTokens, "tokens");
    if (run.count < 0 || run.stride < 1 || run.count > (kMaxTokens - run.begin) / run.stride ||
        (rows += run.count) > kMaxTokens)
      throw inputError("the schedule of rank " + toString(schedule.rank) +
                       " names tokens that cannot be");
  }
  for (const StageRecord& stage : schedule.stages) {
    checkPlace({schedule.train_step, {}, schedule.direction, stage.ring_step});
    checkRankOrNone(stage.source_rank);
    for (const PieceRecord& piece : stage.pieces) {
      checkRange(piece.q_begin, piece.q_end, "query rows");
      checkRange(piece.k_begin, piece.k_end, "key rows");
    }
  }
}

}  // namespace ringscope::traces
