// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <deque>
#include <iterator>
#include <tuple>
#include <unordered_map>

#include "traces/exchange/tables/table.h"
#include "traces/format/trace/steps.h"

namespace ringscope::traces {
namespace {

/// A message: its send and its receive, as far as they were recorded.
struct Hop {
  std::uint64_t flow = 0;
  Payload payload = Payload::kNone;
  WorldRank rank, peer, source_rank;
  GroupId group;
  std::int64_t bytes = 0;
  Place place;
  std::int32_t microbatch = 0;
  Pass pass = Pass::kForward;
  Clock clock = Clock::kHost;
  std::optional<std::int64_t> begin_ns, start_ns, end_ns;
  std::optional<std::int64_t> receive_begin_ns, receive_start_ns, receive_end_ns;
};

}  // namespace

template <>
struct Fields<Hop> {
  static void visit(auto&& field, auto& h) {
    field("flow", h.flow);
    field("payload", h.payload);
    field("rank", h.rank);
    field("peer", h.peer);
    field("source_rank", h.source_rank);
    field("group", h.group);
    field("bytes", h.bytes);
    field("place", h.place);
    field("microbatch", h.microbatch);
    field("pass", h.pass);
    field("clock", h.clock);
    field("begin_ns", h.begin_ns);
    field("start_ns", h.start_ns);
    field("end_ns", h.end_ns);
    field("receive_begin_ns", h.receive_begin_ns);
    field("receive_start_ns", h.receive_start_ns);
    field("receive_end_ns", h.receive_end_ns);
  }
};

namespace {

const std::vector<Column>& hopColumns() {
  static const auto kColumns = columnsFor<Hop>(
      {{"flow", "the number that its send and its receive share"},
       {"payload", "what it carries"},
       {"rank", "who sends it"},
       {"peer", "who receives it"},
       {"source_rank", "whose KV block it moves"},
       {"group", "whose members it is among; see FORMAT.md"},
       {"bytes", "its payload"},
       {"train_step", "training step, from 0"},
       {"layer", "decoder layer; NULL outside the layers"},
       {"direction", "of the pass through the layers"},
       {"stage", "ring step; NULL outside attention"},
       {"microbatch", "of the training step"},
       {"pass", "which pass of the layer sent it"},
       {"clock", "by which its times were taken"},
       {"begin_ns", "when the send was posted; NULL: nobody is recorded as sending it"},
       {"start_ns", "when the send began to move"},
       {"end_ns", "when the send was complete"},
       {"receive_begin_ns", "when the receive was posted; NULL: it was not recorded"},
       {"receive_start_ns", "when the receive began to move"},
       {"receive_end_ns", "when the receive was complete"}});
  return kColumns;
}

/// The matching of sends and receives by flow. If a recorder used a flow number twice, the next
/// message with that number is matched.
class Matching {
 public:
  explicit Matching(std::deque<Hop>& ready) : ready_(ready) {}
  void add(const Event& event) {
    if (event.kind != EventKind::kSend && event.kind != EventKind::kReceive) return;
    const bool send = event.kind == EventKind::kSend;
    if (event.flow == 0) return fill(ready_.emplace_back(), event, send, true);
    auto& open = open_[event.flow];
    const auto lacks_this_end = [&](const Hop& hop) {
      return !(send ? hop.begin_ns : hop.receive_begin_ns);
    };
    const auto other = std::ranges::find_if(open, lacks_this_end);
    if (other == open.end()) return fill(open.emplace_back(), event, send, true);
    fill(*other, event, send, send);
    ready_.push_back(*other);
    open.erase(other);
    if (open.empty()) open_.erase(event.flow);
  }
  /// Appends the messages that have only one end. Call it after the last event.
  void finish() {
    std::vector<Hop> rest;
    for (auto& [flow, open] : open_) std::ranges::move(open, std::back_inserter(rest));
    open_.clear();
    std::ranges::sort(rest, {}, [](const Hop& hop) {
      return std::tuple(hop.rank, hop.place.train_step, hop.begin_ns, hop.receive_begin_ns,
                        hop.flow);
    });
    std::ranges::move(rest, std::back_inserter(ready_));
  }

 private:
  /// Fills one end of a hop. `names`: the event also sets the description of the hop; a send
  /// overrides a receive.
  static void fill(Hop& hop, const Event& event, bool send, bool names) {
    (send ? hop.begin_ns : hop.receive_begin_ns) = event.begin_ns;
    (send ? hop.start_ns : hop.receive_start_ns) = event.start_ns;
    (send ? hop.end_ns : hop.receive_end_ns) = event.end_ns;
    if (!names) return;
    hop.flow = event.flow;
    hop.payload = event.payload;
    hop.rank = send ? event.rank : event.peer;
    hop.peer = send ? event.peer : event.rank;
    hop.source_rank = event.source_rank;
    hop.group = event.group;
    hop.bytes = event.bytes;
    hop.place = event.place;
    hop.microbatch = event.microbatch;
    hop.pass = event.pass;
    hop.clock = event.clock;
  }
  std::deque<Hop>& ready_;
  std::unordered_map<std::uint64_t, std::vector<Hop>> open_;
};

/// All hops of a trace. They are read on demand, training step by training step.
class Hops {
 public:
  explicit Hops(const Trace& trace) : trace_(trace), steps_(trace.trainingSteps()) {}
  /// Returns a hop; null when there are no more.
  const Hop* at(std::size_t index, const QueriedTrace& traced) {
    while (index >= ready_.size() && next_ < steps_.size()) {
      traced.checkTime();
      readStep(steps_[next_++]);
      if (next_ == steps_.size()) matching_.finish();
    }
    return index < ready_.size() ? &ready_[index] : nullptr;
  }

 private:
  void readStep(std::int32_t step) {
    for (int rank = 0; rank < trace_.worldSize(); ++rank)
      for (const Event& event :
           trace_.eventsAt(firstPlaceIn(step), lastPlaceIn(step), WorldRank::of(rank)))
        matching_.add(event);
  }

  const Trace& trace_;
  std::vector<std::int32_t> steps_;
  std::size_t next_ = 0;
  std::deque<Hop> ready_;  // a deque, so that references to hops stay valid
  Matching matching_{ready_};
};

class HopRows : public TableRows {
 public:
  HopRows(const QueriedTrace& traced, Hops& hops) : traced_(traced), hops_(hops) {}
  bool next() override {
    hop_ = hops_.at(next_++, traced_);
    return hop_ != nullptr;
  }
  Cell cell(std::size_t column) const override { return hopColumns()[column].of(hop_); }

 private:
  const QueriedTrace& traced_;
  Hops& hops_;
  std::size_t next_ = 0;
  const Hop* hop_ = nullptr;
};

std::unique_ptr<TableRows> openHops(const QueriedTrace& traced, std::span<const QueryCondition>) {
  // All scans of the table share one list; the scan that reaches its end continues reading.
  const auto& hops = traced.once<std::unique_ptr<Hops>>(
      "hops", [&] { return std::make_unique<Hops>(traced.trace()); });
  return std::make_unique<HopRows>(traced, *hops);
}

}  // namespace

const Table kHopsTable = {"hops", "a message: a send with its receive", hopColumns, openHops};

}  // namespace ringscope::traces
