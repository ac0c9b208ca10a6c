// SPDX-License-Identifier: Apache-2.0
// What it takes to open a large recording and to show its first ring step. See README.md.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>

#include "traces/query/trace.h"
#include "traces/storage/sqlite_sink.h"

namespace {

using namespace ringscope::traces;

constexpr int kRanks = 8, kLayers = 8, kStages = 8;

/// A rank's work in one training step, as a ring of eight leaves it.
std::vector<Event> trainingStep(int rank, int train_step, std::int64_t& now_ns) {
  std::vector<Event> events;
  for (const Direction direction : {Direction::kForward, Direction::kBackward})
    for (int layer = 0; layer < kLayers; ++layer)
      for (int stage = 0; stage < kStages; ++stage)
        for (const EventKind kind : {EventKind::kAttend, EventKind::kSend, EventKind::kReceive,
                                     EventKind::kWait, EventKind::kMerge}) {
          Event event;
          event.kind = kind;
          event.rank = WorldRank::of(rank);
          event.place = {train_step,
                         Layer::of(direction == Direction::kForward ? layer : kLayers - 1 - layer),
                         direction, RingStep::of(stage)};
          event.begin_ns = event.start_ns = now_ns;
          now_ns += 40'000 + (now_ns >> 3) % 9000;
          event.end_ns = now_ns;
          event.bytes = kind == EventKind::kSend ? 1 << 20 : 0;
          events.push_back(event);
        }
  return events;
}

void record(const std::string& path, std::size_t events) {
  SqliteSink sink(path);
  std::vector<std::int64_t> now(kRanks, 0);
  std::uint64_t seq = 0;
  for (int step = 0; events > 0; ++step)
    for (int rank = 0; rank < kRanks && events > 0; ++rank) {
      const auto of_step = trainingStep(rank, step, now[static_cast<std::size_t>(rank)]);
      Chunk chunk = chunkOf(std::span<const Event>(of_step));
      chunk.rank = WorldRank::of(rank);
      chunk.seq = ++seq;
      chunk.checksum = computeChecksum(chunk);
      sink.write(chunk);
      events -= std::min(events, of_step.size());
    }
  sink.close();
}

double peakMiB() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

/// Prints the CPU time too: it is what other work on the machine changes least.
void measure(const char* what, const std::function<std::size_t()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  const std::clock_t cpu_begin = std::clock();
  const std::size_t count = work();
  const double cpu_ms = 1000.0 * static_cast<double>(std::clock() - cpu_begin) / CLOCKS_PER_SEC;
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  std::printf("%-24s %9.1f ms, CPU %9.1f ms  %9zu  peak %7.1f MiB\n", what, took.count(), cpu_ms,
              count, peakMiB());
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
  measure("first ring step, events", [&] {
    std::size_t count = 0;
    for (int rank = 0; rank < trace->worldSize(); ++rank)
      count += trace->eventsAt(trace->moments().front(), WorldRank::of(rank)).size();
    return count;
  });
  measure("all, events", [&] {
    trace->readEvents();
    return trace->eventCount();
  });
}
