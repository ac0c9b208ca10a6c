// SPDX-License-Identifier: Apache-2.0
// The Trace Event Format of Chrome (the document that chrome://tracing links to). Times are
// microseconds; three decimals keep the nanoseconds.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "traces/exchange/export/format.h"
#include "traces/exchange/export/lanes.h"

namespace ringscope::traces {
namespace {

std::string microseconds(std::int64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%lld.%03lld", static_cast<long long>(ns / 1000),
                static_cast<long long>(ns % 1000));
  return text;
}

class ChromeWriter {
 public:
  ChromeWriter(const Trace& trace, std::ostream& out)
      : trace_(trace), out_(out), shift_(shiftToZero(trace)) {}

  Exported write() {
    out_ << "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [";
    for (int rank = 0; rank < trace_.worldSize(); ++rank) writeRank(WorldRank::of(rank));
    out_ << "\n]}\n";
    return {{{"events", events_}, {"flows", flows_}, {"memory samples", samples_}}, {}};
  }

 private:
  /// Writes one trace event. Writes times as digits, since a double would round them. Counts
  /// threads from 1: for Perfetto thread 0 is the kernel's idle thread, which all processes share,
  /// and Perfetto drops overlapping events there.
  void put(const char* phase, WorldRank rank, std::size_t lane, const nlohmann::json& rest,
           const std::string& times = "") {
    std::string fields = rest.dump();
    fields.erase(0, 1);
    out_ << (std::exchange(first_, false) ? "\n" : ",\n") << R"({"ph": ")" << phase
         << R"(", "pid": )" << rank.value() << ", \"tid\": " << lane + 1 << times
         << (fields == "}" ? "" : ", ") << fields;
  }
  std::string at(std::int64_t ns) const {
    return ", \"ts\": " + microseconds(std::max<std::int64_t>(ns + shift_, 0));
  }

  static nlohmann::json argumentsOf(const Event& event) {
    nlohmann::json said = {{"train_step", event.place.train_step}};
    if (event.place.layer.exists()) {
      said["layer"] = event.place.layer.value();
      said["direction"] = name(event.place.direction);
    }
    if (event.place.stage.exists()) said["stage"] = event.place.stage.value();
    if (event.peer.exists()) said["peer"] = event.peer.value();
    if (event.source_rank.exists()) said["source_rank"] = event.source_rank.value();
    if (event.bytes != 0) said["bytes"] = event.bytes;
    if (event.cpu_ns != 0) said["cpu_ns"] = event.cpu_ns;
    return said;
  }

  void writeEvent(WorldRank rank, const LaneEvent& one) {
    const Event& event = one.event;
    const std::int64_t end = std::max(event.begin_ns, event.end_ns);
    put("X", rank, one.lane,
        {{"name", titleFor(event)}, {"cat", name(event.kind)}, {"args", argumentsOf(event)}},
        at(event.begin_ns) + ", \"dur\": " + microseconds(end - event.begin_ns));
    ++events_;
    const bool send = event.kind == EventKind::kSend;
    if (event.flow == 0 || (!send && event.kind != EventKind::kReceive)) return;
    nlohmann::json flow = {{"name", "hop"}, {"cat", "hop"}, {"id", std::to_string(event.flow)}};
    if (!send) flow["bp"] = "e";
    // A flow is bound to the event that is open at its time, and must end after it began.
    put(send ? "s" : "f", rank, one.lane, flow,
        at(send ? event.begin_ns : std::max(event.begin_ns, end - 1)));
    flows_ += send ? 0 : 1;
  }

  void writeRank(WorldRank rank) {
    const RankLanes lanes = makeLanes(trace_, rank);
    put("M", rank, 0, {{"name", "process_name"}, {"args", {{"name", "rank " + toString(rank)}}}});
    for (std::size_t lane = 0; lane < lanes.names.size(); ++lane)
      put("M", rank, lane, {{"name", "thread_name"}, {"args", {{"name", lanes.names[lane]}}}});
    for (const LaneEvent& event : lanes.events) writeEvent(rank, event);
    for (const MemorySample& sample : trace_.memory(rank)) {
      put("C", rank, 0,
          {{"name", std::string("memory ") + name(sample.category)},
           {"args", {{"bytes", sample.bytes}}}},
          at(sample.time_ns));
      ++samples_;
    }
  }

  const Trace& trace_;
  std::ostream& out_;
  std::int64_t shift_;
  bool first_ = true;
  std::int64_t events_ = 0, flows_ = 0, samples_ = 0;
};

}  // namespace

Exported writeChrome(const Trace& trace, std::ostream& out) {
  return ChromeWriter(trace, out).write();
}

}  // namespace ringscope::traces
