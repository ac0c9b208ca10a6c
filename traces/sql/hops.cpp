// SPDX-License-Identifier: Apache-2.0
#include <unordered_map>

#include "traces/sql/table.h"

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

const std::vector<Column>& columns() {
  static const auto kColumns = columnsOf<Hop>(
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

/// Two messages may have one flow where whoever recorded them used it again: then the next one.
class Matching {
 public:
  void add(const Event& event) {
    if (event.kind != EventKind::kSend && event.kind != EventKind::kReceive) return;
    const bool send = event.kind == EventKind::kSend;
    const auto known = event.flow == 0 ? last_.end() : last_.find(event.flow);
    const bool open = known != last_.end() && !(send ? hops_[known->second].begin_ns
                                                     : hops_[known->second].receive_begin_ns);
    const std::size_t at = open ? known->second : hops_.size();
    if (!open) hops_.emplace_back();
    if (!open && event.flow != 0) last_[event.flow] = at;
    fill(hops_[at], event, send, !open || send);
  }
  std::vector<Hop> take() { return std::move(hops_); }

 private:
  /// `names`: the event says what the hop is; a send knows better than a receive.
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
  std::vector<Hop> hops_;
  std::unordered_map<std::uint64_t, std::size_t> last_;
};

std::vector<Hop> hopsOf(const QueriedTrace& traced) {
  const Trace& trace = traced.trace();
  Matching matching;
  for (int rank = 0; rank < trace.worldSize(); ++rank) {
    traced.checkTime();
    for (const Event& event : trace.events(WorldRank::of(rank))) matching.add(event);
  }
  return matching.take();
}

std::unique_ptr<TableRows> open(const QueriedTrace& traced, std::span<const QueryCondition>) {
  const auto& hops = traced.once<std::vector<Hop>>("hops", [&] { return hopsOf(traced); });
  return std::make_unique<RecordRows<Hop>>(hops, columns());
}

}  // namespace

const Table kHopsTable = {"hops", "a message: a send with its receive", columns, open};

}  // namespace ringscope::traces
