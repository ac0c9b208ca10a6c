// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "traces/exchange/tables/table.h"
#include "traces/format/trace/steps.h"

namespace ringscope::traces {
namespace {

const std::vector<Column>& columns() {
  static const auto kColumns = columnsFor<Event>(
      {{"kind", "what the time was spent on"},
       {"begin_ns", "when it began, or was posted, since the run began"},
       {"start_ns", "when a message began to move; begin_ns where that is not known"},
       {"end_ns", "when it ended"},
       {"cpu_ns", "the thread's CPU time within"},
       {"bytes", "payload of a send, a receive or a collective"},
       {"flow", "equal on a send and its receive, and on the members of a collective"},
       {"exchange", "the rank's exchange that a message was posted in, and a wait waited for"},
       {"pending", "not 0: its times were never recorded"},
       {"train_step", "training step, from 0"},
       {"layer", "decoder layer; NULL outside the layers"},
       {"direction", "of the pass through the layers"},
       {"stage", "ring step; NULL outside attention"},
       {"microbatch", "of the training step"},
       {"q_begin", "attend: first local query row"},
       {"q_end", "attend: the row after the last"},
       {"k_begin", "attend: first local key row of the source's block"},
       {"k_end", "attend: the row after the last"},
       {"rank", "whose time it is"},
       {"peer", "the other side of a message"},
       {"source_rank", "whose KV block is attended, merged or moved"},
       {"group", "whose members a message or a collective concerns; see FORMAT.md"},
       {"piece", "attend, merge: piece of the stage's work"},
       {"queue", "0: the rank's own thread; from 1 on its device's queues"},
       {"payload", "what a message carries"},
       {"mask", "attend: which pairs of its rows are attended"},
       {"pass", "which pass of the layer computed it"},
       {"clock", "by which its times were taken"}});
  return kColumns;
}

std::size_t columnNamed(std::string_view name) {
  return static_cast<std::size_t>(std::ranges::find(columns(), name, &Column::name) -
                                  columns().begin());
}

/// The events that a query can concern, as far as its conditions tell.
struct Wanted {
  explicit Wanted(std::span<const QueryCondition> conditions) {
    const auto range = [&](const char* name) { return rangeFor(conditions, columnNamed(name)); };
    rank = range("rank");
    step = range("train_step");
    layer = range("layer");
    stage = range("stage");
    begin_ns = range("begin_ns");
    end_ns = range("end_ns");
    for (const QueryCondition& condition : conditions)
      if (const auto* name = std::get_if<std::string>(&condition.value);
          name && condition.is == QueryCondition::Is::kEqual &&
          condition.column == columnNamed("kind"))
        kinds &= bitOf(*name);
  }
  static std::uint32_t bitOf(std::string_view kind) {
    const auto found = findByName<EventKind>(kind);
    return found ? 1U << static_cast<unsigned>(*found) : 0;
  }

  bool mayBeAt(const Place& place) const {
    return step.holds(place.train_step) && layer.holds(place.layer.value()) &&
           stage.holds(place.stage.value());
  }
  bool mayBe(const Event& event) const {
    return (kinds >> static_cast<unsigned>(event.kind) & 1U) != 0 && mayBeAt(event.place) &&
           begin_ns.holds(event.begin_ns) && end_ns.holds(event.end_ns);
  }

  Range rank, step, layer, stage, begin_ns, end_ns;
  std::uint32_t kinds = ~0U;
};

/// The training steps from `first` to `last`, both included.
struct Steps {
  std::int32_t first = 0, last = 0;
};

/// Returns all steps in stretches that are read one after the other. The first stretch is one step
/// long, so that the first rows come at once. The number of stretches is small, because each of
/// them looks at every chunk.
std::vector<Steps> stretchesOf(const Trace& trace) {
  using Limits = std::numeric_limits<std::int32_t>;
  std::vector<std::int32_t> known;
  for (const Place& moment : trace.moments())
    if (known.empty() || known.back() != moment.train_step) known.push_back(moment.train_step);
  std::vector<Steps> stretches = {{Limits::min(), Limits::max()}};
  const std::size_t longest = known.size() / 64 + 1;
  for (std::size_t at = 1, length = 1; at < known.size(); at += length) {
    stretches.back().last = known[at] - 1;
    stretches.push_back({known[at], Limits::max()});
    length = std::min(length * 2, longest);
  }
  return stretches;
}

/// The rows of events: rank by rank, step by step, each in the order of recording. A chunk is
/// decoded when its first row is read.
class EventRows : public TableRows {
 public:
  EventRows(const QueriedTrace& traced, std::span<const QueryCondition> conditions)
      : traced_(traced),
        stretches_(traced.once<std::vector<Steps>>("stretches of events",
                                                   [&] { return stretchesOf(traced.trace()); })),
        wanted_(conditions),
        rank_(static_cast<std::int32_t>(std::clamp<std::int64_t>(wanted_.rank.least, 0, 1 << 30))) {
  }

  bool next() override {
    do {
      while (++at_ > run_.size())
        if (!nextRun()) return false;
    } while (!wanted_.mayBe(run_[at_ - 1]));
    return true;
  }
  Cell cell(std::size_t column) const override { return columns()[column].of(&run_[at_ - 1]); }

 private:
  bool nextRun() {
    for (; rank_ < traced_.trace().worldSize() && rank_ <= wanted_.rank.most; ++rank_, next_ = 0)
      while (next_ < stretches_.size()) {
        traced_.checkTime();
        const Steps& steps = stretches_[next_++];
        const std::int64_t first = std::max<std::int64_t>(steps.first, wanted_.step.least);
        const std::int64_t last = std::min<std::int64_t>(steps.last, wanted_.step.most);
        if (first > last) continue;
        run_ = traced_.trace().eventsAt(firstPlaceIn(static_cast<std::int32_t>(first)),
                                        lastPlaceIn(static_cast<std::int32_t>(last)),
                                        WorldRank::of(rank_));
        at_ = 0;
        return true;
      }
    return false;
  }
  const QueriedTrace& traced_;
  const std::vector<Steps>& stretches_;
  Wanted wanted_;
  std::int32_t rank_;
  std::size_t next_ = 0, at_ = 0;
  std::vector<Event> run_;
};

std::unique_ptr<TableRows> open(const QueriedTrace& traced,
                                std::span<const QueryCondition> conditions) {
  return std::make_unique<EventRows>(traced, conditions);
}

}  // namespace

const Table kEventsTable = {"events", "a stretch of one rank's time", columns, open};

}  // namespace ringscope::traces
