// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "traces/exchange/import/recording/called.h"
#include "traces/exchange/import/recording/job.h"

namespace ringscope::traces {
namespace {

/// The events of one rank. Its ring steps are those of PyTorch's ring, or those that the job named.
class EventLines {
 public:
  EventLines(RecordedJob& job, std::size_t file)
      : job_(job), rank_(job.ranks[file]), shift_(job.shifts[file]) {
    for (const auto& [name, members] : rank_.groups)
      for (const GroupRecord& group : job.groups)
        if (group.members == members) groups_[name] = group.id;
    for (const Line& line : rank_.lines) {
      if (line.kind() == "waited") waited_[line.whole("number")] = line.whole("end_ns");
      if (line.kind() == "attention" && line.has("ring"))
        seats_[line.whole("call")] = line.part("ring").whole("rank", 0);
      if (isOfJob(line)) of_job_.insert(line.whole("call"));
      if (line.kind() == "attention_end") ended_.insert(line.whole("call"));
    }
  }

  /// Appends the rank's events to the job, in the order of their ends.
  void read() {
    const auto first = std::ssize(job_.events);
    for (const Line& line : rank_.lines) {
      if (line.kind() == "block") addBlock(line);
      if (line.kind() == "merge") addTimed(line, EventKind::kMerge);
      if (line.kind() == "hop") addHop(line);
      if (line.kind() == "collective") addCollective(line);
      if (line.kind() == "clip") addTimed(line, EventKind::kClip);
    }
    std::ranges::stable_sort(job_.events.begin() + first, job_.events.end(), {}, &Event::end_ns);
  }

 private:
  Event eventOf(const Line& line, EventKind kind, std::int64_t begin, std::int64_t end) const {
    Event event;
    event.kind = kind;
    const auto direction = line.text("direction") == "backward" || line.text("pass") == "backward"
                               ? Direction::kBackward
                               : Direction::kForward;
    event.place = line.place(direction);
    event.rank = rank_.rank;
    event.microbatch = line.microbatch();
    event.pass = direction == Direction::kBackward  ? Pass::kBackward
                 : line.text("pass") == "recompute" ? Pass::kRecompute
                                                    : Pass::kForward;
    event.begin_ns = event.start_ns = begin + shift_;
    event.end_ns = std::max(begin, end) + shift_;
    return event;
  }

  void addTimed(const Line& line, EventKind kind) {
    const std::int64_t begin = line.whole("begin_ns"), end = line.whole("end_ns");
    if (begin < 0 || end < begin) return;
    Event event = eventOf(line, kind, begin, end);
    event.source_rank = line.rank("source_rank");
    event.piece = PieceIndex::of(std::min<std::int64_t>(line.whole("piece"), 1 << 20));
    if (kind == EventKind::kClip) event.place = {event.place.train_step, {}, Direction::kBackward};
    job_.events.push_back(event);
  }

  void addBlock(const Line& line) {
    const auto q = line.wholes("q_rows"), k = line.wholes("k_rows");
    const std::int64_t begin = line.whole("begin_ns"), end = line.whole("end_ns");
    constexpr std::int64_t kMost = 1 << 30;
    if (q.size() != 2 || k.size() != 2 || begin < 0 || end < begin || q[1] > kMost || k[1] > kMost)
      return;
    Event event = eventOf(line, EventKind::kAttend, begin, end);
    event.q_begin = static_cast<std::int32_t>(q[0]);
    event.q_end = static_cast<std::int32_t>(q[1]);
    event.k_begin = static_cast<std::int32_t>(k[0]);
    event.k_end = static_cast<std::int32_t>(k[1]);
    event.source_rank = line.rank("source_rank");
    event.piece = PieceIndex::of(std::min<std::int64_t>(line.whole("piece"), 1 << 20));
    event.mask = line.flag("causal") ? PieceMask::kCausal : PieceMask::kFull;
    job_.events.push_back(event);
  }

  /// Returns the source of the block that a hop sends (`later` = 0) or brings (1). For PyTorch's
  /// ring it follows from the order of the group. For the job's own ring it is the recorded field
  /// `said`.
  WorldRank blockOf(const Line& hop, const char* said, std::int64_t later) const {
    if (of_job_.contains(hop.whole("call"))) return hop.rank(said);
    const auto own = seats_.find(hop.whole("call"));
    const auto group = rank_.groups.find(hop.text("group"));
    if (own == seats_.end() || group == rank_.groups.end() || group->second.empty())
      return WorldRank::none();
    const auto& members = group->second;
    const std::int64_t ring_step = hop.whole("hop") - 1 + later, size = std::ssize(members);
    const std::int64_t seat = ((own->second - ring_step) % size + size) % size;
    return members[static_cast<std::size_t>(seat)];
  }

  void addHop(const Line& line) {
    const std::int64_t hop = line.whole("hop"), posted = line.whole("posted_ns"),
                       wait = line.whole("wait_ns"), end = line.whole("end_ns");
    if (hop < 1 || posted < 0 || wait < posted || end < wait || !line.flag("moved")) return;
    Event event = eventOf(line, EventKind::kSend, posted, end);
    event.place.stage = RingStep::of(std::min<std::int64_t>(hop - 1, 1 << 20));
    event.payload = line.text("payload") == "dkv" ? Payload::kDkv : Payload::kKv;
    event.bytes = line.whole("bytes", 0);
    event.group = groupFor(line);
    if (line.text("rotate") == "allgather") {
      event.kind = EventKind::kCollective;
      job_.events.push_back(event);
    } else {
      addEnds(line, event);
    }
    Event waits = event;
    waits.kind = EventKind::kWait;
    waits.begin_ns = waits.start_ns = wait + shift_;
    waits.bytes = 0;
    waits.flow = 0;
    waits.peer = WorldRank::none();
    job_.events.push_back(waits);
  }

  /// Adds what a hop sends and what it receives. A hop of the job's own ring may lack one of them.
  void addEnds(const Line& line, Event event) {
    if (const WorldRank to = line.rank("send_to"); to.exists()) {
      event.peer = to;
      event.source_rank = blockOf(line, "sends_of", 0);
      event.flow = flowBetween(line, event.rank, to);
      job_.events.push_back(event);
    }
    if (const WorldRank from = line.rank("receive_from"); from.exists()) {
      event.kind = EventKind::kReceive;
      event.peer = from;
      event.source_rank = blockOf(line, "brings_of", 1);
      event.flow = flowBetween(line, from, event.rank);
      job_.events.push_back(event);
    }
  }

  /// Returns the flow number of a hop, which is equal on both ends because the ranks of a ring
  /// number their calls alike.
  static std::uint64_t flowBetween(const Line& line, WorldRank from, WorldRank to) {
    std::uint64_t flow = static_cast<std::uint64_t>(line.whole("call", 0)) * 8191 +
                         static_cast<std::uint64_t>(line.whole("hop", 0)) * 2 +
                         (line.text("payload") == "dkv" ? 1 : 0);
    flow = (flow << 26) ^ (static_cast<std::uint64_t>(from.value() & 8191) << 13) ^
           static_cast<std::uint64_t>(to.value() & 8191);
    return flow + 1;
  }

  GroupId groupFor(const Line& line) const {
    const auto found = groups_.find(line.text("group"));
    return found == groups_.end() ? GroupId::none() : found->second;
  }

  /// Reports whether hops describe this collective already: always in PyTorch's ring, and for
  /// messages in the job's own ring.
  bool isOfHops(const Line& line, const std::string& kind) const {
    const std::int64_t call = line.whole("call");
    const bool message = kind == "send" || kind == "receive";
    return line.has("call") && (!of_job_.contains(call) || (message && ended_.contains(call)));
  }

  void addCollective(const Line& line) {
    const std::int64_t begin = line.whole("begin_ns"), posted = line.whole("posted_ns");
    if (begin < 0 || posted < begin) return;
    const auto waited = waited_.find(line.whole("number"));
    const std::int64_t end = waited == waited_.end() ? posted : std::max(posted, waited->second);
    const std::string kind = line.text("operator");
    if (isOfHops(line, kind)) return;
    Event event = eventOf(line, EventKind::kCollective, begin, end);
    if (kind == "send") event.kind = EventKind::kSend;
    if (kind == "receive") event.kind = EventKind::kReceive;
    event.peer = line.rank("peer");
    event.bytes = line.whole("bytes", 0);
    event.group = groupFor(line);
    const bool of_gradients = !line.texts("gradients").empty() || line.has("sums_for");
    const bool of_heads = kind == "all_to_all" && line.has("call");  // of the job's own attention
    const bool of_layer =
        kind == "all_reduce" && line.text("pass") == "forward" && event.place.layer.exists();
    event.payload = of_gradients        ? Payload::kGrads
                    : line.has("value") ? Payload::kScalars
                    : of_heads          ? Payload::kHeads
                    : of_layer          ? Payload::kActivations
                                        : Payload::kNone;
    if (event.payload == Payload::kGrads) event.place.direction = Direction::kBackward;
    job_.events.push_back(event);
  }

  RecordedJob& job_;
  const RankLines& rank_;
  std::int64_t shift_;
  std::map<std::string, GroupId> groups_;                  ///< by the job's name of the group
  std::unordered_map<std::int64_t, std::int64_t> waited_;  ///< end of the wait, by the collective's
                                                           ///< number
  std::unordered_map<std::int64_t, std::int64_t> seats_;   ///< the rank's position in its ring, by
                                                           ///< call
  std::unordered_set<std::int64_t> of_job_, ended_;        ///< numbers of calls
};

}  // namespace

void addEvents(RecordedJob& job) {
  for (std::size_t file = 0; file < job.ranks.size(); ++file) EventLines(job, file).read();
}

}  // namespace ringscope::traces
