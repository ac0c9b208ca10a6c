// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/viz/ring_records.h"

#include <cmath>
#include <cstring>

#include "tests/support/tensor_stats.h"
#include "traces/format/core/hash.h"

namespace ringscope::test {

using namespace traces;

std::vector<WorldRank> RingRecords::everyone() const {
  std::vector<WorldRank> ranks;
  ranks.reserve(static_cast<std::size_t>(run_.cp));
  for (int rank = 0; rank < run_.cp; ++rank) ranks.push_back(WorldRank::of(rank));
  return ranks;
}

void RingRecords::putRun() {
  RunSpec spec;
  spec.cp = run_.cp;
  spec.strategy = run_.strategy();
  spec.ulysses = run_.ulysses;
  spec.balance = run_.balance;
  spec.mask = run_.mask;
  spec.window = run_.window;
  spec.seq_len = run_.seq_len;
  spec.steps = run_.steps;
  spec.cores = 2;
  if (!run_.keeps_tensors) spec.capture = "none";
  spec.model = {"sample",   run_.layers,   std::int64_t{run_.heads} * run_.head_dim,
                run_.heads, run_.kv_heads, run_.head_dim,
                256};
  to_.record(spec);
  IntentRecord meant;
  meant.ranks = everyone();
  meant.mask = run_.mask;
  meant.window = run_.window;
  if (run_.mask == MaskKind::kDocuments) meant.documents = run_.documents;
  meant.balance = run_.balance;
  meant.positions = run_.positions;
  to_.record(meant);
  to_.record(GroupRecord{GroupId::of(0), GroupAxis::kWorld, everyone()});
  to_.record(GroupRecord{GroupId::of(1), GroupAxis::kCp, everyone()});
}

void RingRecords::putSchedules(int train_step, int rank) {
  for (const auto direction : {Direction::kForward, Direction::kBackward})
    to_.record(plan_.schedule(train_step, rank, direction));
}

void RingRecords::putTensor(TensorName name, const Place& place, int rank,
                            std::vector<std::int64_t> shape, const std::vector<double>& values,
                            WorldRank source, PieceIndex piece) {
  if (!run_.keeps_tensors) return;
  TensorRecord record;
  record.tensor = std::move(name);
  record.place = place;
  record.pass = place.direction == Direction::kForward ? Pass::kForward : Pass::kBackward;
  record.rank = WorldRank::of(rank);
  record.source_rank = source;
  record.piece = piece;
  record.dtype = DType::kFloat64;
  record.shape = std::move(shape);
  record.stats = computeStats(values);
  Bytes bytes(values.size() * sizeof(double));
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  record.hash = mixSum64(bytes.data(), bytes.size());
  to_.tensor(std::move(record), place.train_step == 0 ? std::move(bytes) : Bytes());
}

std::int64_t RingRecords::positionFor(std::int64_t token) const {
  if (run_.positions == PositionRule::kEachDocument)
    for (const TokenRun& document : run_.documents)
      if (token >= document.begin && token < document.end) return token - document.begin;
  return token;
}

void RingRecords::putShard(const char* name, int train_step, int rank) {
  const std::int64_t count = run_.seq_len / run_.cp;
  ShardRecord record{name, train_step,        WorldRank::of(rank), true,
                     1,    {1, run_.seq_len}, {1, count},          {}};
  for (const ShardRun& run : plan_.owned(rank)) {
    // Strided tokens are recorded one by one.
    const std::int64_t runs = run.stride == 1 ? 1 : run.count, each = run.count / runs;
    for (std::int64_t i = 0; i < runs; ++i)
      record.global_from_local.push_back({run.global(i), run.global(i) + each});
  }
  to_.record(record);
}

void RingRecords::putBuffers(int train_step, int rank) {
  const auto letter = [](std::int64_t token) { return static_cast<double>('a' + token % 26); };
  std::vector<double> ids, labels, positions;
  for (const std::int64_t token : RingPlan::tokensIn(plan_.owned(rank))) {
    const auto local = static_cast<double>(ids.size());
    ids.push_back(letter(token));
    labels.push_back(token + 1 == run_.seq_len ? -100 : letter(token + 1));
    positions.push_back(run_.restarts_positions ? local : static_cast<double>(positionFor(token)));
  }
  const std::vector<std::int64_t> shape = {1, static_cast<std::int64_t>(ids.size())};
  const Place place{train_step};
  putTensor({TensorKind::kBuffer, "input_ids"}, place, rank, shape, ids);
  putTensor({TensorKind::kBuffer, "labels"}, place, rank, shape, labels);
  putTensor({TensorKind::kBuffer, "position_ids"}, place, rank, shape, positions);
  putTensor({TensorKind::kPositionIds}, place, rank, shape, positions);
  putShard("input_ids", train_step, rank);
  putShard("labels", train_step, rank);
  if (!run_.restarts_positions) putShard("position_ids", train_step, rank);
}

void RingRecords::putLogits(int train_step, int rank) {
  std::vector<double> logits;
  const auto tokens = RingPlan::tokensIn(plan_.owned(rank));
  for (const std::int64_t token : tokens) {
    std::vector<double> row(RingRun::kVocabulary, 0);
    if (run_.guesses_from < 0 || token < run_.guesses_from)
      row[static_cast<std::size_t>('a' + (token + 1) % 26)] =
          5 + 2 * std::sin(static_cast<double>(token) / 5);
    logits.insert(logits.end(), row.begin(), row.end());
  }
  putTensor({TensorKind::kLogits}, Place{train_step}, rank,
            {1, static_cast<std::int64_t>(tokens.size()),
             static_cast<std::int64_t>(RingRun::kVocabulary)},
            logits);
}

Event RingRecords::eventAt(const Place& place, int rank, EventKind kind, WorldRank source) const {
  Event event;
  event.kind = kind;
  event.place = place;
  event.pass = place.direction == Direction::kForward ? Pass::kForward : Pass::kBackward;
  event.rank = WorldRank::of(rank);
  event.source_rank = source;
  return event;
}

void RingRecords::putEvent(Event event, std::int64_t begin, std::int64_t end) {
  event.begin_ns = event.start_ns = begin;
  event.end_ns = end;
  to_.event(event);
}

void RingRecords::putSend(const Place& place, int rank, WorldRank peer, WorldRank source,
                          Payload payload, std::int64_t begin, std::int64_t end) {
  Event event = eventAt(place, rank, EventKind::kSend, source);
  event.peer = peer;
  event.payload = payload;
  event.bytes = 2048;
  event.flow = ++flows_;
  const auto posted = [&](bool first) {
    const auto exchange = static_cast<std::uint32_t>(2 * place.stage.value() + (first ? 1 : 2));
    event.exchange = run_.ordered_hops ? exchange : 0;
  };
  posted(rank % 2 == 0);
  putEvent(event, begin, end);
  event.kind = EventKind::kReceive;
  std::swap(event.rank, event.peer);
  posted(event.rank.value() % 2 != 0);
  putEvent(event, begin, end);
}

void RingRecords::putParameters(int train_step, int rank) {
  const Place place{train_step, Layer::none(), Direction::kBackward, RingStep::none()};
  putTensor({TensorKind::kGradient, "lm_head.weight"}, place, rank, {3}, {0.5, -0.25, 1});
  putTensor({TensorKind::kWeight, "lm_head.weight"}, place, rank, {3}, {1, 2, 3});
}

void RingRecords::putMemory(int rank, std::int64_t at) {
  const WorldRank of = WorldRank::of(rank);
  to_.memory({at, 200'000, of, MemoryCategory::kWeights});
  to_.memory({at + 100, 40'000 + at / 10, of, MemoryCategory::kActivations});
  to_.memory({at + 9000, 20'000, of, MemoryCategory::kActivations});
}

void RingRecords::putErrors(const Place& place, const std::string& tensor) {
  const bool of_kv = tensor == "dk" || tensor == "dv";
  const std::int64_t heads = of_kv ? run_.kv_heads : run_.heads;
  std::vector<double> map;
  for (std::int64_t i = 0; i < heads * run_.seq_len; ++i)
    map.push_back(1.1e-7 * static_cast<double>(i % 97) / 96);
  for (const char* unit : {"error.abs.", "error.rel.", "error.ulp."}) {
    putTensor({TensorKind::kOther, unit + tensor}, place, 0, {heads, run_.seq_len}, map);
    for (double& v : map) v *= 3;
  }
}

/// Returns the same ratio for every row, and the largest for the last row.
traces::RowRatios RingRecords::rowsFor(const std::string& tensor, double largest) const {
  const bool of_kv = tensor == "dk" || tensor == "dv";
  traces::RowRatios rows;
  rows.shape = {1, of_kv ? run_.kv_heads : run_.heads, run_.seq_len};
  rows.codes.assign(static_cast<std::size_t>(rows.shape[1] * rows.shape[2]),
                    traces::RowRatios::encode(largest / 2));
  rows.codes.back() = traces::RowRatios::encode(largest);
  return rows;
}

void RingRecords::putDiffs(int train_step) {
  if (!run_.verified) return;
  std::vector<DiffRecord> diffs;
  for (int layer = 0; layer < run_.layers; ++layer)
    for (const char* name : {"out", "lse", "dq", "dk", "dv"}) {
      const auto direction = name[0] == 'd' ? Direction::kBackward : Direction::kForward;
      const Place place{train_step, Layer::of(layer), direction, RingStep::none()};
      putErrors(place, name);
      for (const bool isolated : {true, false}) {
        const bool wrong = run_.naive_sum || (!isolated && run_.restarts_positions);
        DiffRecord diff;
        diff.isolated = isolated;
        diff.place = place;
        diff.tensor = name;
        diff.limit = 1e-6;
        diff.ratio = wrong ? 80'000.0 : 0.3;
        diff.error = diff.ratio * diff.limit;
        diff.scale = 1;
        diff.rows = rowsFor(name, diff.ratio);
        diffs.push_back(diff);
      }
    }
  to_.diffs(diffs);
}

}  // namespace ringscope::test
