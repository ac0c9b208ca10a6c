// SPDX-License-Identifier: Apache-2.0
// Perfetto's trace: https://perfetto.dev/docs/reference/synthetic-track-event. Field numbers are
// those of its public definitions. The definitions are protos/perfetto/trace/trace_packet.proto
// and, in track_event/ beside it, track_event.proto, track_descriptor.proto,
// process_descriptor.proto, thread_descriptor.proto, counter_descriptor.proto and
// debug_annotation.proto.
#include <algorithm>
#include <ostream>

#include "traces/exchange/export/format.h"
#include "traces/exchange/export/lanes.h"
#include "traces/exchange/export/protobuf.h"

namespace ringscope::traces {
namespace {

namespace trace_field {
constexpr std::uint32_t kPacket = 1;
}
namespace packet {
constexpr std::uint32_t kTimestamp = 8, kSequence = 10, kTrackEvent = 11, kTrackDescriptor = 60;
}
namespace descriptor {
constexpr std::uint32_t kUuid = 1, kName = 2, kProcess = 3, kThread = 4, kParent = 5, kCounter = 8;
constexpr std::uint32_t kPid = 1, kTid = 2, kThreadName = 5, kProcessName = 6;
constexpr std::uint32_t kUnit = 3, kUnitBytes = 3;
}  // namespace descriptor
namespace track_event {
constexpr std::uint32_t kAnnotation = 4, kType = 9, kTrack = 11, kCategory = 22, kName = 23,
                        kCounterValue = 30, kFlow = 47, kTerminatingFlow = 48;
constexpr std::uint32_t kBegin = 1, kEnd = 2, kCounter = 4;
}  // namespace track_event
namespace annotation {
constexpr std::uint32_t kInteger = 4, kText = 6, kName = 10;
}

/// Return the ids of tracks: a rank has its process, its lanes, and a counter for each category.
std::uint64_t uuidOf(WorldRank rank, std::uint64_t part) {
  return (static_cast<std::uint64_t>(rank.value()) + 1) << 20 | part;
}
std::uint64_t laneUuid(WorldRank rank, std::size_t lane) {
  return uuidOf(rank, 0x10000 + lane);
}
std::uint64_t counterUuid(WorldRank rank, MemoryCategory category) {
  return uuidOf(rank, 1 + static_cast<std::uint64_t>(category));
}

class PerfettoWriter {
 public:
  PerfettoWriter(const Trace& trace, std::ostream& out)
      : trace_(trace), out_(out), shift_(shiftToZero(trace)) {}

  Exported write() {
    for (int rank = 0; rank < trace_.worldSize(); ++rank) writeRank(WorldRank::of(rank));
    return {{{"events", events_}, {"flows", flows_}, {"memory samples", samples_}}, {}};
  }

 private:
  void put(ProtoMessage& packet) {
    packet.number(packet::kSequence, 1);
    ProtoMessage whole;
    whole.message(trace_field::kPacket, std::move(packet));
    const Bytes bytes = whole.take();
    out_.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  void describe(ProtoMessage track) {
    ProtoMessage packet;
    packet.message(packet::kTrackDescriptor, std::move(track));
    put(packet);
  }
  void putEvent(std::int64_t time_ns, ProtoMessage event) {
    ProtoMessage packet;
    packet.number(packet::kTimestamp,
                  static_cast<std::uint64_t>(std::max<std::int64_t>(time_ns + shift_, 0)));
    packet.message(packet::kTrackEvent, std::move(event));
    put(packet);
  }

  void describeRank(WorldRank rank, const std::vector<std::string>& lanes) {
    using namespace descriptor;
    const auto pid = static_cast<std::uint64_t>(rank.value()) + 1;
    ProtoMessage process;
    process.number(kPid, pid).text(kProcessName, "rank " + toString(rank));
    ProtoMessage track;
    track.number(kUuid, uuidOf(rank, 0)).message(kProcess, std::move(process));
    describe(std::move(track));
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
      ProtoMessage of_lane;
      of_lane.number(kUuid, laneUuid(rank, lane));
      if (lane == 0) {
        ProtoMessage thread;
        thread.number(kPid, pid).number(kTid, pid).text(kThreadName, lanes[lane]);
        of_lane.message(kThread, std::move(thread));
      } else {
        of_lane.number(kParent, uuidOf(rank, 0)).text(kName, lanes[lane]);
      }
      describe(std::move(of_lane));
    }
  }

  static void annotate(ProtoMessage& event, const char* key, std::int64_t value) {
    ProtoMessage note;
    note.integer(annotation::kInteger, value).text(annotation::kName, key);
    event.message(track_event::kAnnotation, std::move(note));
  }
  static void annotate(ProtoMessage& event, const char* key, const char* value) {
    ProtoMessage note;
    note.text(annotation::kText, value).text(annotation::kName, key);
    event.message(track_event::kAnnotation, std::move(note));
  }
  template <typename SomeId>
  static void annotateId(ProtoMessage& event, const char* key, SomeId id) {
    if (id.exists()) annotate(event, key, std::int64_t{id.value()});
  }

  static void annotateAll(ProtoMessage& to, const Event& event) {
    annotate(to, "train_step", std::int64_t{event.place.train_step});
    annotateId(to, "layer", event.place.layer);
    annotateId(to, "stage", event.place.stage);
    if (event.place.layer.exists()) annotate(to, "direction", name(event.place.direction));
    annotateId(to, "peer", event.peer);
    annotateId(to, "source_rank", event.source_rank);
    if (event.bytes != 0) annotate(to, "bytes", event.bytes);
    if (event.cpu_ns != 0) annotate(to, "cpu_ns", event.cpu_ns);
  }

  /// Writes an event. The flow of a message leads from the begin of its send to the end of its
  /// receive.
  void writeEvent(WorldRank rank, const LaneEvent& one) {
    using namespace track_event;
    const Event& event = one.event;
    const bool flows = event.flow != 0;
    ProtoMessage begin, end;
    begin.number(kType, kBegin)
        .number(kTrack, laneUuid(rank, one.lane))
        .text(kCategory, name(event.kind))
        .text(kName, titleFor(event));
    annotateAll(begin, event);
    end.number(kType, kEnd).number(kTrack, laneUuid(rank, one.lane));
    if (flows && event.kind == EventKind::kSend) begin.fixed64(kFlow, event.flow);
    if (flows && event.kind == EventKind::kReceive) end.fixed64(kTerminatingFlow, event.flow);
    flows_ += flows && event.kind == EventKind::kReceive ? 1 : 0;
    putEvent(event.begin_ns, std::move(begin));
    putEvent(std::max(event.begin_ns, event.end_ns), std::move(end));
    ++events_;
  }

  void writeMemory(WorldRank rank) {
    std::uint32_t described = 0;
    for (const MemorySample& sample : trace_.memory(rank)) {
      const auto bit = 1U << static_cast<unsigned>(sample.category);
      if ((described & bit) == 0) describeCounter(rank, sample.category);
      described |= bit;
      ProtoMessage event;
      event.number(track_event::kType, track_event::kCounter)
          .number(track_event::kTrack, counterUuid(rank, sample.category))
          .integer(track_event::kCounterValue, sample.bytes);
      putEvent(sample.time_ns, std::move(event));
      ++samples_;
    }
  }

  void describeCounter(WorldRank rank, MemoryCategory category) {
    using namespace descriptor;
    ProtoMessage counter;
    counter.number(kUnit, kUnitBytes);
    ProtoMessage track;
    track.number(kUuid, counterUuid(rank, category))
        .number(kParent, uuidOf(rank, 0))
        .text(kName, std::string("memory ") + name(category))
        .message(kCounter, std::move(counter));
    describe(std::move(track));
  }

  void writeRank(WorldRank rank) {
    const RankLanes lanes = makeLanes(trace_, rank);
    describeRank(rank, lanes.names);
    for (const LaneEvent& event : lanes.events) writeEvent(rank, event);
    writeMemory(rank);
  }

  const Trace& trace_;
  std::ostream& out_;
  std::int64_t shift_;
  std::int64_t events_ = 0, flows_ = 0, samples_ = 0;
};

}  // namespace

Exported writePerfetto(const Trace& trace, std::ostream& out) {
  return PerfettoWriter(trace, out).write();
}

}  // namespace ringscope::traces
