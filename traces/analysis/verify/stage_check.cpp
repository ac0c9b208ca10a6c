// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/stage_check.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "traces/analysis/verify/layer_check.h"
#include "traces/analysis/verify/stage_reader.h"
#include "traces/format/core/prose.h"
#include "traces/format/schema/token_runs.h"
#include "traces/format/trace/ending.h"

namespace ringscope::traces {
namespace {

using Seat = PlannedBlocks::Seat;

const std::vector<StageRecord>& findStages(const Seat& seat, Direction direction) {
  return (direction == Direction::kForward ? seat.forward : seat.backward)->stages;
}

std::string wordsOf(std::int64_t begin, std::int64_t end) {
  return end - begin == 1 ? std::to_string(begin)
                          : std::to_string(begin) + "–" + std::to_string(end - 1);
}

/// "queries 0–3 × keys 0–7 (full)", by the rank's own rows.
template <typename Piece>
std::string wordsOf(const Piece& piece) {
  return "queries " + wordsOf(piece.q_begin, piece.q_end) + " × keys " +
         wordsOf(piece.k_begin, piece.k_end) + " (" + name(piece.mask) + ")";
}

bool same(const Event& event, const PieceRecord& piece) {
  return event.q_begin == piece.q_begin && event.q_end == piece.q_end &&
         event.k_begin == piece.k_begin && event.k_end == piece.k_end && event.mask == piece.mask;
}

/// Returns the pieces that a rank attended at a ring step, in words, if they are not those of its
/// schedule. Returns an empty string if they are, and if events may be missing.
std::string otherPieces(const StageSetting& s, Direction direction, const Seat& seat,
                        const StageRecord& stage) {
  if (!s.trace.end() || s.trace.end()->dropped_events > 0) return "";
  if (!findEnding(s.trace).wholeAt(s.layer.pass.train_step)) return "";
  std::size_t attended = 0;
  for (const Event& event : s.trace.eventsAt(s.placeFor(direction, stage.ring_step), seat.rank)) {
    if (event.kind != EventKind::kAttend || event.source_rank != stage.source_rank ||
        event.microbatch != s.layer.pass.microbatch || event.pass == Pass::kRecompute)
      continue;
    const std::size_t index = attended++;
    const bool planned = index < stage.pieces.size();
    if (!planned) return wordsOf(event) + ", which are not planned";
    if (!same(event, stage.pieces[index]))
      return wordsOf(event) + ", planned are " + wordsOf(stage.pieces[index]);
  }
  return attended == stage.pieces.size()
             ? ""
             : describeCount(static_cast<std::int64_t>(attended), "piece") + " of the " +
                   std::to_string(stage.pieces.size()) + " that are planned";
}

/// All rows of as many (batch entry, KV head) pairs as the work pays for, `first` before others.
Selection selectionFrom(const LayerTensors& layer, const AttentionMask& mask, bool backward,
                        HeadGroup first, double work) {
  const double each = static_cast<double>(layer.groupSize()) *
                      attentionWork(layer.tokens, layer.tokens, mask, layer.head_dim, backward);
  Selection selection;
  const std::int64_t all = layer.batch * layer.kv_heads,
                     begin = first.batch % layer.batch * layer.kv_heads +
                             first.kv_head % layer.kv_heads;
  for (std::int64_t i = 0; i < all && static_cast<double>(i + 1) * each <= work; ++i)
    selection.groups.push_back(
        {(begin + i) % all / layer.kv_heads, (begin + i) % all % layer.kv_heads});
  selection.rows.resize(layer.tokens.size());
  std::iota(selection.rows.begin(), selection.rows.end(), std::size_t{0});
  return selection;
}

/// Until one is wrong.
void readAll(const StageSetting& setting, Direction direction, StageCheck& check) {
  const auto reader = direction == Direction::kForward ? blockReader(setting) : sumReader(setting);
  std::size_t most = 0;
  for (const auto& [rank, seat] : setting.plan.seats())
    most = std::max(most, findStages(seat, direction).size());
  for (std::size_t index = 0; index < most && check.wrong.empty(); ++index) {
    std::int64_t compared = 0;
    for (const auto& [rank, seat] : setting.plan.seats()) {
      if (index >= findStages(seat, direction).size()) continue;
      const StageRecord& stage = findStages(seat, direction)[index];
      if (std::string other = otherPieces(setting, direction, seat, stage); !other.empty())
        check.wrong.push_back({.rank = rank,
                               .source = stage.source_rank,
                               .ring_step = stage.ring_step,
                               .kind = TensorKind::kOther,
                               .attended = std::move(other)});
      compared += reader->read(seat, index, check.wrong);
    }
    if (check.wrong.empty()) check.right += compared;
  }
  if (check.wrong.empty()) reader->finish(check.wrong);
  const auto weight = [](const WrongStage& stage) {
    return stage.kind == TensorKind::kOther ? std::numeric_limits<double>::infinity()
                                            : stage.worst.ratio();
  };
  std::ranges::stable_sort(
      check.wrong, [&](const WrongStage& a, const WrongStage& b) { return weight(a) > weight(b); });
}

/// Returns which tensor is missing for the gradients of a ring step; empty when none is. Tensors
/// that the layer needs anyway are not considered.
std::string missingFor(Direction direction, const LayerTensors& layer) {
  if (direction == Direction::kForward) return "";
  for (const TensorKind kind : {TensorKind::kDout, TensorKind::kOut, TensorKind::kLse})
    if (!layer.complete(kind)) return std::string(name(kind)) + " of all ranks is not recorded";
  return "";
}

}  // namespace

StageCheck checkStages(const Trace& trace, const LayerPass& pass,
                       const std::vector<WorldRank>& members, Direction direction, HeadGroup first,
                       double work) {
  StageCheck check;
  const LayerTensors layer = findLayer(trace, pass, members);
  const IntentRecord* intent =
      members.empty() ? nullptr
                      : trace.intent(pass.train_step, members.front(), pass.layer, pass.microbatch);
  const auto hinders = hindrances(trace, layer, intent);
  if (!hinders.empty()) check.skipped = hinders.front();
  if (check.skipped.empty()) check.skipped = missingFor(direction, layer);
  if (!check.skipped.empty()) return check;
  const auto plan = PlannedBlocks::of(trace, layer, members);
  if (!plan) {
    check.skipped = "which blocks the ranks attended is not recorded";
    return check;
  }
  const AttentionMask mask = AttentionMask::of(*intent);
  const StageSetting setting{
      trace, layer, *plan, mask,
      selectionFrom(layer, mask, direction == Direction::kBackward, first, work)};
  check.heads = std::ssize(setting.selection.groups);
  check.of_heads = layer.batch * layer.kv_heads;
  if (check.heads == 0) {
    check.skipped = "computing the blocks of one KV head takes more work than was allowed";
    return check;
  }
  readAll(setting, direction, check);
  if (check.wrong.empty() && check.right == 0)
    check.skipped = direction == Direction::kForward
                        ? "the values of the blocks are not recorded"
                        : "the sums of dK and dV are not recorded ring step by ring step";
  return check;
}

bool StageSetting::allows(std::size_t query, std::size_t key) const {
  const TokenRun keys = mask.keysFor(layer.tokens[query]);
  const std::int64_t at = layer.tokens[key].value();
  return at >= keys.begin && at < keys.end;
}

void WrongRows::add(const RowError& row) {
  if (heads_.empty() || row.ratio() > worst_.ratio()) worst_ = row;
  heads_.push_back(row.head);
  tokens_.push_back(row.token.value());
}

void WrongRows::into(WrongStage& stage) const {
  stage.worst = worst_;
  stage.heads = heads_;
  std::ranges::sort(stage.heads);
  stage.heads.erase(std::unique(stage.heads.begin(), stage.heads.end()), stage.heads.end());
  stage.tokens = toRuns(tokens_);
}

}  // namespace ringscope::traces
