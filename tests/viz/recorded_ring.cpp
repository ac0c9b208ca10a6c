// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/viz/recorded_ring.h"

#include <algorithm>
#include <map>

#include "tests/support/trace_sink.h"
#include "tests/viz/plain_attention.h"
#include "tests/viz/ring_records.h"
#include "traces/format/storage/sqlite_sink.h"

namespace ringscope::test {
namespace {

using namespace traces;

constexpr std::int64_t kStageNs = 20'000;

/// The recorder of one run. Ranks begin a pass one after the other, slightly apart.
class RingRecording : public RingRecords {
 public:
  using RingRecords::RingRecords;

  void record() {
    putRun();
    for (int step = 0; step < run_.steps; ++step) {
      for (int rank = 0; rank < run_.cp; ++rank) {
        if (run_.keeps_tensors) putBuffers(step, rank);
        if (run_.keeps_logits) putLogits(step, rank);
        putParameters(step, rank);
        putSchedules(step, rank);
      }
      for (int layer = 0; layer < run_.layers; ++layer)
        recordPass({step, Layer::of(layer), Direction::kForward, {}});
      for (int layer = run_.layers; layer-- > 0;)
        recordPass({step, Layer::of(layer), Direction::kBackward, {}});
      if (run_.keeps_tensors) putDiffs(step);
    }
  }

 private:
  /// The progress of one rank through a pass.
  struct Way {
    Place place;
    int rank = 0;
    ScheduleRecord schedule;
    std::vector<std::int64_t> rows;  ///< tokens of the attended rows
    BlockResult running;
  };

  int ringSize() const { return run_.cp / run_.ulysses; }
  WorldRank neighbour(int rank, int distance) const {
    const int at = rank / run_.ulysses, share = rank % run_.ulysses;
    return WorldRank::of(share + (at + distance + ringSize()) % ringSize() * run_.ulysses);
  }

  void recordPass(const Place& pass) {
    for (int rank = 0; rank < run_.cp; ++rank) {
      Way way{pass,
              rank,
              plan_.schedule(pass.train_step, rank, pass.direction),
              RingPlan::tokensIn(plan_.rows(rank)),
              {}};
      recordWay(way, now_ + 100 * rank);
      if (pass.direction == Direction::kForward) results_[rank] = std::move(way.running);
    }
    if (run_.keeps_tensors)
      for (int rank = 0; rank < run_.cp; ++rank) recordResults(pass, rank);
    now_ += kStageNs * (run_.all_gather ? 1 : ringSize()) + 4000;
  }

  void recordWay(Way& way, std::int64_t begin) {
    const WorldRank self = WorldRank::of(way.rank);
    way.place.stage = RingStep::of(0);
    for (const WorldRank sharer : way.schedule.ulysses)
      if (sharer != self)
        putSend(way.place, way.rank, sharer, self, Payload::kHeads, begin, begin + 3000);
    for (const StageRecord& stage : way.schedule.stages) {
      way.place.stage = stage.ring_step;
      const std::int64_t at = begin + kStageNs * stage.ring_step.value();
      if (run_.all_gather && stage.source_rank != self)
        putSend(way.place, way.rank, stage.source_rank, self, Payload::kKv, at, at + 6000);
      recordStage(way, stage, at);
    }
    putMemory(way.rank, begin);
  }

  void recordStage(Way& way, const StageRecord& stage, std::int64_t begin) {
    constexpr std::int64_t kHop = 9000;
    const WorldRank next = neighbour(way.rank, 1);
    if (stage.forwards_kv)
      putSend(way.place, way.rank, next, stage.source_rank, Payload::kKv, begin, begin + kHop);
    const std::int64_t attended = recordPieces(way, stage, begin + 200);
    if (stage.forwards_kv && attended < begin + kHop) {
      Event wait = eventAt(way.place, way.rank, EventKind::kWait, WorldRank::none());
      wait.payload = Payload::kKv;
      wait.peer = neighbour(way.rank, -1);
      putEvent(wait, attended, begin + kHop);
    }
    if (way.place.direction == Direction::kBackward && ringSize() > 1 && !run_.all_gather)
      putSend(way.place, way.rank, next, stage.source_rank, Payload::kDkv, begin + kHop,
              begin + 2 * kHop);
  }

  /// Records the pieces of a stage. Returns the time when the rank has attended them.
  std::int64_t recordPieces(Way& way, const StageRecord& stage, std::int64_t at) {
    for (std::size_t i = 0; i < stage.pieces.size(); ++i, at += 800) {
      const PieceRecord& piece = stage.pieces[i];
      Event attend = eventAt(way.place, way.rank, EventKind::kAttend, stage.source_rank);
      attend.piece = PieceIndex::of(i);
      attend.mask = piece.mask;
      attend.q_begin = static_cast<std::int32_t>(piece.q_begin);
      attend.q_end = static_cast<std::int32_t>(piece.q_end);
      attend.k_begin = static_cast<std::int32_t>(piece.k_begin);
      attend.k_end = static_cast<std::int32_t>(piece.k_end);
      putEvent(attend, at, at + 700);
      if (way.place.direction == Direction::kBackward || !run_.keeps_tensors) continue;
      recordBlock(way, stage, attend.piece);
      attend.kind = EventKind::kMerge;
      putEvent(attend, at + 700, at + 780);
    }
    if (!stage.pieces.empty() && !way.running.lse.empty())
      putTensor({TensorKind::kRunningLse}, way.place, way.rank,
                {1, way.running.heads, way.running.rows}, way.running.lse, stage.source_rank);
    return at;
  }

  void recordBlock(Way& way, const StageRecord& stage, PieceIndex index) {
    const PieceRecord& piece = stage.pieces[index.index()];
    const auto keys = RingPlan::tokensIn(plan_.rows(stage.source_rank.value()));
    const BlockResult block =
        attention_.block(plan_, way.place.layer, way.schedule, way.rows, keys, piece);
    putTensor({TensorKind::kBlockOut}, way.place, way.rank,
              {1, block.heads, block.rows, block.width}, block.out, stage.source_rank, index);
    putTensor({TensorKind::kBlockLse}, way.place, way.rank, {1, block.heads, block.rows}, block.lse,
              stage.source_rank, index);
    way.running.merge(block, piece.q_begin, std::ssize(way.rows), run_.naive_sum);
  }

  /// Records results of a rank's own tokens and all heads, as the model has them. Forward values
  /// stand in for the gradients of backward, which no test examines.
  void recordResults(Place place, int rank) {
    const auto own = RingPlan::tokensIn(plan_.owned(rank));
    std::vector<double> out, lse;
    const int first = rank / run_.ulysses * run_.ulysses;
    for (int sharer = first; sharer < first + run_.ulysses; ++sharer)
      takeRows(results_[sharer], RingPlan::tokensIn(plan_.rows(sharer)), own, out, lse);
    const std::int64_t count = std::ssize(own);
    const std::vector<std::int64_t> whole = {1, run_.heads, count, run_.head_dim},
                                    of_kv = {1, run_.kv_heads, count, run_.head_dim};
    const std::vector<double> half(out.begin(),
                                   out.begin() + std::ssize(out) * run_.kv_heads / run_.heads);
    if (place.direction == Direction::kForward) {
      for (const auto kind : {TensorKind::kQ, TensorKind::kOut})
        putTensor({kind}, place, rank, whole, out);
      for (const auto kind : {TensorKind::kK, TensorKind::kV})
        putTensor({kind}, place, rank, of_kv, half);
      putTensor({TensorKind::kLse}, place, rank, {1, run_.heads, count}, lse);
    } else {
      for (const auto kind : {TensorKind::kDout, TensorKind::kDq})
        putTensor({kind}, place, rank, whole, out);
      for (const auto kind : {TensorKind::kDk, TensorKind::kDv})
        putTensor({kind}, place, rank, of_kv, half);
    }
  }

  static void takeRows(const BlockResult& result, const std::vector<std::int64_t>& rows,
                       const std::vector<std::int64_t>& own, std::vector<double>& out,
                       std::vector<double>& lse) {
    for (std::int64_t head = 0; head < result.heads; ++head)
      for (const std::int64_t token : own) {
        const auto row = std::ranges::find(rows, token) - rows.begin();
        const std::int64_t at = head * result.rows + row;
        lse.push_back(result.lse[static_cast<std::size_t>(at)]);
        const auto first = result.out.begin() + at * result.width;
        out.insert(out.end(), first, first + result.width);
      }
  }

  PlainAttention attention_{run_};
  std::map<int, BlockResult> results_;  // results of the last layer forward, by rank
  std::int64_t now_ = 1000;
};

void recordInto(const RingRun& run, std::unique_ptr<ChunkSink> sink) {
  std::vector<std::unique_ptr<ChunkSink>> sinks;
  sinks.push_back(std::move(sink));
  Recorder recorder(run.cp, std::move(sinks));
  RingRecording(run, recorder).record();
  recorder.close();
}

}  // namespace

std::shared_ptr<Trace> recordedTrace(const RingRun& run) {
  auto trace = std::make_shared<Trace>();
  recordInto(run, std::make_unique<TraceSink>(trace));
  return trace;
}

void recordFile(const RingRun& run, const std::string& path, const std::string& sealed) {
  auto sink = std::make_unique<SqliteSink>(path);
  if (!sealed.empty()) sink->seal(sealed);
  recordInto(run, std::move(sink));
}

}  // namespace ringscope::test
