// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/attention_passes.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "traces/format/trace/ending.h"

namespace ringscope::traces {
namespace {

struct Key {
  Place place;
  std::int32_t microbatch = 0;
  bool recomputed = false;
  bool operator<(const Key& other) const {
    if (place != other.place) return before(place, other.place);
    return std::tuple(microbatch, recomputed) < std::tuple(other.microbatch, other.recomputed);
  }
};

bool isMessage(const Event& event) {
  const bool moves = event.kind == EventKind::kSend || event.kind == EventKind::kReceive;
  return moves && (event.payload == Payload::kKv || event.payload == Payload::kDkv);
}

/// Nobody attends two pieces in the same nanosecond.
auto deedOf(const Event* piece) {
  return std::tuple(piece->begin_ns, piece->end_ns, piece->place.stage, piece->source_rank,
                    piece->piece, piece->q_begin, piece->q_end, piece->k_begin, piece->k_end);
}

/// A file that was cut while its chunks were being joined holds events twice.
void keepOnce(std::vector<const Event*>& pieces) {
  std::ranges::stable_sort(pieces, {}, deedOf);
  const auto same = [](const Event* a, const Event* b) { return deedOf(a) == deedOf(b); };
  pieces.erase(std::unique(pieces.begin(), pieces.end(), same), pieces.end());
}

bool isOf(const PieceRecord& planned, const Event& piece) {
  return planned.mask == piece.mask && planned.q_begin == piece.q_begin &&
         planned.q_end == piece.q_end && planned.k_begin == piece.k_begin &&
         planned.k_end == piece.k_end;
}

bool lacksEvents(const Trace& trace) {
  const auto& rows = trace.end()->rows_by_kind;
  const auto kind = static_cast<std::size_t>(ChunkKind::kEvents);
  return kind < rows.size() && trace.eventCount() < rows[kind];
}

}  // namespace

std::optional<Band> attendedBand(const Trace& trace, const Event& piece) {
  if (piece.mask != PieceMask::kTileMask) return bandFor(piece, nullptr);
  const ScheduleRecord* schedule =
      trace.schedule(piece.place.train_step, piece.rank, piece.place.direction, piece.place.layer,
                     piece.microbatch);
  if (!schedule) return std::nullopt;
  for (const StageRecord& stage : schedule->stages) {
    if (stage.source_rank != piece.source_rank) continue;
    if (piece.piece.exists() && piece.piece.index() < stage.pieces.size() &&
        isOf(stage.pieces[piece.piece.index()], piece))
      return Band::of(stage.pieces[piece.piece.index()]);
    for (const PieceRecord& planned : stage.pieces)
      if (isOf(planned, piece)) return Band::of(planned);
  }
  return std::nullopt;
}

std::optional<Band> likelyBand(const Trace& trace, const Event& piece) {
  if (const auto band = attendedBand(trace, piece)) return band;
  const ScheduleRecord* schedule =
      trace.schedule(piece.place.train_step, piece.rank, piece.place.direction, piece.place.layer,
                     piece.microbatch);
  if (!schedule) return std::nullopt;
  for (const StageRecord& stage : schedule->stages)
    for (const PieceRecord& planned : stage.pieces)
      if (stage.source_rank == piece.source_rank && planned.mask == piece.mask &&
          planned.q_begin <= piece.q_begin && piece.q_end <= planned.q_end &&
          planned.k_begin <= piece.k_begin && piece.k_end <= planned.k_end)
        return Band::of(planned).within(piece.q_begin, piece.q_end, piece.k_begin, piece.k_end);
  return std::nullopt;
}

std::string missingEvents(const Trace& trace) {
  if (!trace.end() || trace.end()->dropped_events > 0)
    return "needs a recording that was finished without dropped events";
  // Passes that a lost run interrupted are no mistake.
  if (const Ending ending = findEnding(trace); !ending.hasWholeSteps())
    return "needs a run that came to its end; " + describe(ending);
  for (int rank = 0; rank < trace.worldSize(); ++rank) trace.events(WorldRank::of(rank));
  return lacksEvents(trace) ? "needs all events, and some cannot be read" : "";
}

namespace {

bool isOfPass(const Event& event) {
  return event.place.layer.exists() && (event.kind == EventKind::kAttend || isMessage(event));
}

/// Reads the passes of the layer at `place`, with all ring steps.
std::vector<Event> eventsOfLayer(const Trace& trace, Place place, WorldRank rank) {
  Place last = place;
  place.stage = RingStep::none();
  last.stage = RingStep::of(std::numeric_limits<RingStep::Value>::max());
  return trace.eventsAt(place, last, rank);
}

/// Places of layers, each once, whatever the ring step.
std::vector<Place> layersAmong(std::vector<Place> places) {
  std::erase_if(places, [](const Place& place) { return place.layer.isNone(); });
  for (Place& place : places) place.stage = RingStep::none();
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

}  // namespace

AttentionPasses::AttentionPasses(const Trace& trace, std::vector<WorldRank> members)
    : trace_(trace), members_(std::move(members)) {
  whole_ = missingEvents(trace).empty() && std::ranges::all_of(members_, [&](WorldRank rank) {
             return !trace.events(rank).empty();
           });
  places_ = layersAmong(trace.places(members_));
  // A run that was told to stop may have left its last pass half done.
  const Ending ending = findEnding(trace);
  finished_ = whole_ && ending.how == HowEnded::kFinished;
  whole_until_ = ending.whole_until.value_or(0);
  if (!whole_ || finished_) return;
  for (std::size_t seat = 0; seat < members_.size(); ++seat) last_.push_back(findLast(seat));
}

/// Returns the place of the last pass of which a rank recorded an event.
Place AttentionPasses::findLast(std::size_t seat) const {
  const WorldRank rank = members_[seat];
  std::vector<Place> places = layersAmong(trace_.places({&rank, 1}));
  for (; !places.empty(); places.pop_back())
    if (std::ranges::any_of(eventsOfLayer(trace_, places.back(), rank), isOfPass))
      return places.back();
  return {};
}

void AttentionPasses::fetch() {
  while (ready_.empty() && next_ < places_.size()) readAt(places_[next_++]);
}

void AttentionPasses::readAt(const Place& place) {
  std::map<Key, AttentionPass> passes;
  events_.clear();
  for (std::size_t seat = 0; seat < members_.size(); ++seat) {
    events_.push_back(eventsOfLayer(trace_, place, members_[seat]));
    for (const Event& event : events_.back()) {
      if (!isOfPass(event)) continue;
      // Passes in one direction cannot be told apart, except for a recomputation.
      AttentionPass& pass = passes[{place, event.microbatch, event.pass == Pass::kRecompute}];
      pass.attended.resize(members_.size());
      pass.messages.resize(members_.size());
      const bool attends = event.kind == EventKind::kAttend;
      (attends ? pass.attended : pass.messages)[seat].push_back(&event);
    }
  }
  for (auto& [key, pass] : passes) {
    pass.place = place;
    pass.microbatch = key.microbatch;
    pass.complete = finished_ || (whole_ && (place.train_step < whole_until_ ||
                                             std::ranges::all_of(last_, [&](const Place& of_seat) {
                                               return before(place, of_seat);
                                             })));
    for (auto& pieces : pass.attended) keepOnce(pieces);
    ready_.push_back(std::move(pass));
  }
}

}  // namespace ringscope::traces
