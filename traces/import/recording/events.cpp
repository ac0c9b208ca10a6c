// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "traces/import/recording/job.h"

namespace ringscope::traces {
namespace {

/// One rank's events; its ring steps are those of PyTorch's ring.
class Reader {
 public:
  Reader(RecordedJob& job, std::size_t file)
      : job_(job), rank_(job.ranks[file]), shift_(job.shifts[file]) {
    for (const Line& line : rank_.lines) {
      if (line.kind() == "group") groups_[line.text("name")] = line.wholes("members");
      if (line.kind() == "waited") waited_[line.whole("number")] = line.whole("end_ns");
      if (line.kind() == "attention" && line.has("ring"))
        rings_.insert_or_assign(line.whole("call"), line.part("ring"));
    }
  }

  void read() {
    for (const Line& line : rank_.lines) {
      if (line.kind() == "block") addBlock(line);
      if (line.kind() == "merge") addTimed(line, EventKind::kMerge);
      if (line.kind() == "hop") addHop(line);
      if (line.kind() == "collective") addCollective(line);
      if (line.kind() == "clip") addTimed(line, EventKind::kClip);
    }
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
    event.microbatch = static_cast<std::int32_t>(
        std::clamp<std::int64_t>(line.whole("microbatch", 0), 0, 1 << 20));
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
    event.source_rank = WorldRank::of(std::min<std::int64_t>(line.whole("source_rank"), 1 << 20));
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
    event.source_rank = WorldRank::of(std::min<std::int64_t>(line.whole("source_rank"), 1 << 20));
    event.piece = PieceIndex::of(std::min<std::int64_t>(line.whole("piece"), 1 << 20));
    event.mask = line.flag("causal") ? PieceMask::kCausal : PieceMask::kFull;
    job_.events.push_back(event);
  }

  /// Whose block PyTorch's ring holds at a ring step, by the order of its group.
  WorldRank holdsAt(const Line& hop, std::int64_t ring_step) const {
    const auto ring = rings_.find(hop.whole("call"));
    const auto members = groups_.find(hop.text("group"));
    if (ring == rings_.end() || members == groups_.end() || members->second.empty())
      return WorldRank::none();
    const auto size = static_cast<std::int64_t>(members->second.size());
    const std::int64_t seat = ((ring->second.whole("rank", 0) - ring_step) % size + size) % size;
    return WorldRank::of(members->second[static_cast<std::size_t>(seat)]);
  }

  void addHop(const Line& line) {
    const std::int64_t hop = line.whole("hop"), posted = line.whole("posted_ns"),
                       wait = line.whole("wait_ns"), end = line.whole("end_ns");
    if (hop < 1 || posted < 0 || wait < posted || end < wait || !line.flag("moved")) return;
    Event event = eventOf(line, EventKind::kSend, posted, end);
    event.place.stage = RingStep::of(std::min<std::int64_t>(hop - 1, 1 << 20));
    event.payload = line.text("payload") == "dkv" ? Payload::kDkv : Payload::kKv;
    event.bytes = line.whole("bytes", 0);
    event.group = groupOf(line);
    if (line.text("rotate") == "allgather") {
      event.kind = EventKind::kCollective;
      job_.events.push_back(event);
    } else {
      event.peer = WorldRank::of(std::min<std::int64_t>(line.whole("send_to"), 1 << 20));
      event.source_rank = holdsAt(line, hop - 1);
      event.flow = flowOf(line, event.rank, event.peer);
      job_.events.push_back(event);
      event.kind = EventKind::kReceive;
      event.peer = WorldRank::of(std::min<std::int64_t>(line.whole("receive_from"), 1 << 20));
      event.source_rank = holdsAt(line, hop);
      event.flow = flowOf(line, event.peer, event.rank);
      job_.events.push_back(event);
    }
    Event waits = event;
    waits.kind = EventKind::kWait;
    waits.begin_ns = waits.start_ns = wait + shift_;
    waits.bytes = 0;
    waits.flow = 0;
    waits.peer = WorldRank::none();
    job_.events.push_back(waits);
  }

  /// Equal on both ends of a hop: calls are numbered alike on the ranks of a ring.
  static std::uint64_t flowOf(const Line& line, WorldRank from, WorldRank to) {
    std::uint64_t flow = static_cast<std::uint64_t>(line.whole("call", 0)) * 8191 +
                         static_cast<std::uint64_t>(line.whole("hop", 0)) * 2 +
                         (line.text("payload") == "dkv" ? 1 : 0);
    flow = (flow << 26) ^ (static_cast<std::uint64_t>(from.value() & 8191) << 13) ^
           static_cast<std::uint64_t>(to.value() & 8191);
    return flow + 1;
  }

  GroupId groupOf(const Line& line) const {
    const auto members = groups_.find(line.text("group"));
    if (members == groups_.end()) return GroupId::none();
    std::vector<WorldRank> ranks;
    for (const std::int64_t rank : members->second)
      ranks.push_back(WorldRank::of(std::min<std::int64_t>(rank, 1 << 20)));
    GroupId found;
    for (const GroupRecord& group : job_.groups)
      if (group.members == ranks) found = group.id;
    return found;
  }

  /// Those of the ring are its hops.
  void addCollective(const Line& line) {
    if (line.has("call")) return;
    const std::int64_t begin = line.whole("begin_ns"), posted = line.whole("posted_ns");
    if (begin < 0 || posted < begin) return;
    const auto waited = waited_.find(line.whole("number"));
    const std::int64_t end = waited == waited_.end() ? posted : std::max(posted, waited->second);
    const std::string kind = line.text("operator");
    Event event = eventOf(line, EventKind::kCollective, begin, end);
    if (kind == "send") event.kind = EventKind::kSend;
    if (kind == "receive") event.kind = EventKind::kReceive;
    event.peer = WorldRank::of(std::min<std::int64_t>(line.whole("peer"), 1 << 20));
    event.bytes = line.whole("bytes", 0);
    event.group = groupOf(line);
    event.payload = !line.texts("gradients").empty() ? Payload::kGrads
                    : line.has("value")              ? Payload::kScalars
                                                     : Payload::kNone;
    if (event.payload == Payload::kGrads) event.place.direction = Direction::kBackward;
    job_.events.push_back(event);
  }

  RecordedJob& job_;
  const RankLines& rank_;
  std::int64_t shift_;
  std::map<std::string, std::vector<std::int64_t>> groups_;
  std::map<std::int64_t, std::int64_t> waited_;
  std::map<std::int64_t, Line> rings_;
};

}  // namespace

void addEvents(RecordedJob& job) {
  for (std::size_t file = 0; file < job.ranks.size(); ++file) Reader(job, file).read();
  std::ranges::stable_sort(job.events, {}, &Event::end_ns);
}

}  // namespace ringscope::traces
