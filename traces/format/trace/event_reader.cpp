// SPDX-License-Identifier: Apache-2.0
#include "traces/format/trace/event_reader.h"

#include <map>
#include <utility>
#include <vector>

#include "traces/format/core/error.h"
#include "traces/format/storage/chunk_source.h"
#include "traces/format/trace/admission.h"

namespace ringscope::traces {
namespace {

class EventReader {
 public:
  explicit EventReader(const std::function<bool(std::span<const Event>)>& take) : take_(take) {}

  void read(const Chunk& chunk) {
    if (chunk.kind == ChunkKind::kEvents) return readEvents(chunk);
    for (const TimesRecord& times : decodeRows<TimesRecord>(chunk)) {
      admit(times);
      const auto waiting = pending_.extract({times.rank.value(), times.pending});
      if (!waiting) continue;
      Event& event = waiting.mapped();
      event.begin_ns = times.begin_ns;
      event.start_ns = times.start_ns;
      event.end_ns = times.end_ns;
      event.pending = 0;
      hand(std::span<const Event>(&event, 1));
    }
  }
  bool stopped() const { return stopped_; }
  /// Hands on the events whose times never came.
  void finish() {
    for (const auto& [number, event] : pending_) hand(std::span<const Event>(&event, 1));
  }

 private:
  void readEvents(const Chunk& chunk) {
    std::vector<Event> events = decodeRows<Event>(chunk);
    for (const Event& event : events) admit(event);
    std::erase_if(events, [&](const Event& event) {
      if (event.pending == 0) return false;
      pending_.insert_or_assign({event.rank.value(), event.pending}, event);
      return true;
    });
    hand(events);
  }
  void hand(std::span<const Event> events) {
    if (!stopped_ && !events.empty()) stopped_ = !take_(events);
  }

  const std::function<bool(std::span<const Event>)>& take_;
  std::map<std::pair<WorldRank::Value, std::uint32_t>, Event> pending_;
  bool stopped_ = false;
};

}  // namespace

void readAllEvents(ChunkSource& source, const std::function<bool(std::span<const Event>)>& take) {
  EventReader reader(take);
  source.list(
      [&](const ChunkInfo& info, const std::function<Chunk()>& read) {
        const bool wanted = info.kind == ChunkKind::kEvents || info.kind == ChunkKind::kTimes;
        if (wanted && !reader.stopped()) reader.read(read());
      },
      [](const std::string&) {});
  reader.finish();
}

}  // namespace ringscope::traces
