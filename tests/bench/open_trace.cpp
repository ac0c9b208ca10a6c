// SPDX-License-Identifier: Apache-2.0
// The cost of opening a large recording and of showing its ring steps. See README.md.
#include "traces/exchange/import/open_trace.h"

#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <random>
#include <string>

#include "traces/analysis/sql/query.h"
#include "traces/format/storage/sqlite_sink.h"
#include "traces/format/trace/trace.h"

namespace {

using namespace ringscope::traces;

constexpr int kRanks = 8, kLayers = 8, kStages = 8;

/// The events of a rank in one training step with a ring of eight: attention and merges, KV
/// transfers in forward, dK and dV in backward, and the gradients' sync.
class Rank {
 public:
  explicit Rank(int rank) : rank_(rank) {}

  std::vector<Event> trainingStep(int train_step) {
    events_.clear();
    Place place{train_step, {}, {}, {}};
    for (const Direction direction : {Direction::kForward, Direction::kBackward})
      for (int i = 0; i < kLayers; ++i)
        for (int stage = 0; stage < kStages; ++stage) {
          const int layer = direction == Direction::kForward ? i : kLayers - 1 - i;
          place = {train_step, Layer::of(layer), direction, RingStep::of(stage)};
          ringStep(place);
        }
    place.layer = Layer::none();
    place.stage = RingStep::none();
    Event& sync = add(EventKind::kCollective, place);
    sync.payload = Payload::kGrads;
    sync.bytes = 1 << 24;
    return events_;
  }

 private:
  void ringStep(const Place& place) {
    const int stage = place.stage.value();
    const auto payload = place.direction == Direction::kForward ? Payload::kKv : Payload::kDkv;
    const auto source = [&](int passed) {
      return WorldRank::of((rank_ - passed + kRanks) % kRanks);
    };
    add(EventKind::kAttend, place).source_rank = source(stage);
    for (const EventKind kind : {EventKind::kSend, EventKind::kReceive, EventKind::kWait}) {
      Event& event = add(kind, place);
      event.payload = payload;
      const bool send = kind == EventKind::kSend;
      event.peer = WorldRank::of((rank_ + (send ? 1 : kRanks - 1)) % kRanks);
      event.source_rank = source(send ? stage : stage + 1);
      if (kind == EventKind::kWait) continue;
      event.bytes = 1 << 20;
      const auto sender = static_cast<std::uint64_t>((send ? event.rank : event.peer).value());
      event.flow = (hops_ + static_cast<std::uint64_t>(stage)) * kRanks + sender + 1;
    }
    add(EventKind::kMerge, place).source_rank = source(stage);
    if (stage == kStages - 1) hops_ += kStages;
  }
  Event& add(EventKind kind, const Place& place) {
    Event& event = events_.emplace_back();
    event.kind = kind;
    event.rank = WorldRank::of(rank_);
    event.place = place;
    event.begin_ns = event.start_ns = now_ns_;
    now_ns_ += 40'000 + (now_ns_ >> 3) % 9000;
    event.end_ns = now_ns_;
    return event;
  }

  const int rank_;
  std::int64_t now_ns_ = 0;
  std::uint64_t hops_ = 0;
  std::vector<Event> events_;
};

void record(const std::string& path, std::size_t events) {
  SqliteSink sink(path);
  std::vector<Rank> ranks;
  for (int rank = 0; rank < kRanks; ++rank) ranks.emplace_back(rank);
  EndRecord end;
  end.rows_by_kind = noRows();
  std::uint64_t seq = 0;
  const auto write = [&](Chunk chunk) {
    chunk.seq = ++seq;
    chunk.checksum = computeChecksum(chunk);
    end.rows_by_kind[static_cast<std::size_t>(chunk.kind)] += chunk.rows;
    sink.write(chunk);
  };
  RunSpec run;
  run.cp = kRanks;
  write(makeChunk(run));
  for (int step = 0; events > 0; ++step)
    for (std::size_t rank = 0; rank < ranks.size() && events > 0; ++rank) {
      auto of_step = ranks[rank].trainingStep(step);
      of_step.resize(std::min(events, of_step.size()));
      events -= of_step.size();
      end.events += of_step.size();
      Chunk chunk = makeChunk(std::span<const Event>(of_step));
      chunk.rank = WorldRank::of(static_cast<int>(rank));
      write(std::move(chunk));
    }
  write(makeChunk(end));
  sink.close();
}

double peakMiB() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

/// Prints wall time and CPU time. Other work on the machine affects CPU time least.
void measure(const char* what, const std::function<std::size_t()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  const std::clock_t cpu_begin = std::clock();
  const std::size_t count = work();
  const double cpu_ms = 1000.0 * static_cast<double>(std::clock() - cpu_begin) / CLOCKS_PER_SEC;
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  std::printf("%-24s %9.1f ms, CPU %9.1f ms  %9zu  peak %7.1f MiB\n", what, took.count(), cpu_ms,
              count, peakMiB());
}

/// Reads what a view of one moment reads.
std::size_t showStep(const Trace& trace, const Place& place) {
  std::size_t count = 0;
  for (int rank = 0; rank < trace.worldSize(); ++rank)
    count += trace.eventsAt(place, WorldRank::of(rank)).size();
  return count;
}

/// Jumps to random steps of the recording.
void showAnyStep(const Trace& trace) {
  std::mt19937_64 random(18);
  std::vector<double> times;
  for (int i = 0; i < 1000; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    showStep(trace, trace.moments()[random() % trace.moments().size()]);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    times.push_back(took.count());
  }
  std::ranges::sort(times);
  std::printf("any ring step            median %.1f ms, p99 %.1f ms, most %.1f ms; peak %.1f MiB\n",
              times[500], times[990], times[999], peakMiB());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2)
    return std::fprintf(stderr, "usage: bench_open_trace FILE [EVENTS to make it]\n"), 2;
  const std::string path = argv[1];
  if (argc > 2) {
    record(path, std::strtoull(argv[2], nullptr, 10));
    return 0;
  }
  std::shared_ptr<Trace> trace;
  measure("open, events", [&] {
    trace = openTrace(path);
    return trace->eventCount();
  });
  measure("first ring step, events", [&] { return showStep(*trace, trace->moments().front()); });
  showAnyStep(*trace);
  measure("first hops, rows", [&] {
    std::size_t rows = 0;
    runQuery(*openTrace(path), "SELECT * FROM hops LIMIT 100",
             {[](const auto&) {}, [&](const auto&) { return ++rows, true; }});
    return rows;
  });
  measure("all decoded, events", [&] {
    const auto all = openTrace(path);  // decoding is not repeated by a check then
    all->readEvents();
    return all->problems().empty() ? all->eventCount() : 0;
  });
  measure("all gone through, events", [&] {
    std::size_t count = 0;
    for (int rank = 0; rank < trace->worldSize(); ++rank)
      for (const Event& event : trace->events(WorldRank::of(rank)))
        count += event.end_ns > event.begin_ns ? 1 : 0;
    return count;
  });
}
