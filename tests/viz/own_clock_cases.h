// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>

#include "tests/support/place_at.h"
#include "tests/support/trace_builder.h"
#include "traces/analysis/clock/hardware.h"
#include "viz/views/timeline/own_clock_scene.h"

namespace ringscope::test {

/// Two ranks on one core exchange blocks of 2,000 bytes while they attend their first block. By CPU
/// time rank 0 needs 1,000 ns for its first block, rank 1 4,000 ns.
inline constexpr const char* kSwap = R"(
run cp=2 cores=1
group cp 0,1
attend rank=0 layer=0 stage=0 source=0 time=0-500 cpu=1000
wait rank=0 layer=0 stage=0 payload=kv peer=1 source=1 group=0 exchange=1 time=600-900
receive rank=0 peer=1 layer=0 stage=0 payload=kv flow=12 group=0 exchange=1 bytes=2000 time=0-900
send rank=0 peer=1 layer=0 stage=0 payload=kv source=0 flow=11 group=0 exchange=1 bytes=2000 time=0-800
attend rank=0 layer=0 stage=1 source=1 time=900-950 cpu=300
attend rank=1 layer=0 stage=0 source=1 time=200-700 cpu=4000
wait rank=1 layer=0 stage=0 payload=kv peer=0 source=0 group=0 exchange=1 time=700-901
receive rank=1 peer=0 layer=0 stage=0 payload=kv flow=11 group=0 exchange=1 bytes=2000 time=199-801
send rank=1 peer=0 layer=0 stage=0 payload=kv source=1 flow=12 group=0 exchange=1 bytes=2000 time=199-900
attend rank=1 layer=0 stage=1 source=0 time=910-990 cpu=1000
)";

inline traces::Hardware makeLink(double gigabytes, double latency_us) {
  traces::Hardware hardware;
  hardware.link = {"a link", gigabytes, latency_us, true, true};
  return hardware;
}

inline std::shared_ptr<const viz::OwnClock> ownClock(const std::string& text,
                                                     const traces::Hardware& on) {
  const auto trace = makeTrace(text);
  return viz::makeDrawnOwnClock(viz::recordedStep(traces::stepEvents(*trace, 0, 0)), 0, on);
}

/// One layer of forward over four ranks on one core, so wall times are meaningless. It gives the
/// thread CPU time of each block; blocks have 4,096 bytes. On link() a hop takes 2,500 ns: 2,000 on
/// the link and 500 of latency.
class OwnClockCase {
 public:
  static constexpr int kRanks = 4;

  /// Returns a ring: each block is sent to the next rank while the one before is attended.
  static std::string ring(int attend_ns) {
    OwnClockCase c;
    for (int rank = 0; rank < kRanks; ++rank)
      for (int s = 0; s < kRanks; ++s) {
        const int time = 100 * s, source = (rank - s + kRanks) % kRanks;
        c.attend(rank, s, source, time, attend_ns);
        if (s + 1 < kRanks) c.hop(rank, (rank + 1) % kRanks, s, source, s + 1, time);
        if (s + 1 < kRanks) c.wait(rank, s, (source - 1 + kRanks) % kRanks, s + 1, time + 60);
      }
    return c.text_;
  }

  /// Returns an all-gather: each rank sends its block to all others at once, and waits for all of
  /// theirs.
  static std::string allGather(int attend_ns) {
    OwnClockCase c;
    for (int rank = 0; rank < kRanks; ++rank) {
      for (int by = 1; by < kRanks; ++by) c.hop(rank, (rank + by) % kRanks, 0, rank, 1, 0);
      c.attend(rank, 0, rank, 0, attend_ns);
      c.wait(rank, 0, rank, 1, 60);
      for (int s = 1; s < kRanks; ++s)
        c.attend(rank, s, (rank - s + kRanks) % kRanks, 100 * s, attend_ns);
    }
    return c.text_;
  }

  /// Returns a link with 4,096 bytes in 2,000 ns and 500 ns of latency.
  static traces::Hardware link() {
    traces::Hardware hardware;
    hardware.link = {"a link", 4096.0 / 2000, 0.5, true, true};
    return hardware;
  }

 private:
  static std::string at(int rank, int stage) {
    return " rank=" + std::to_string(rank) + " layer=0 stage=" + std::to_string(stage);
  }
  static std::string time(int from, int to) {
    return " time=" + std::to_string(from) + "-" + std::to_string(to) + "\n";
  }
  void attend(int rank, int stage, int source, int from, int cpu_ns) {
    text_ += "attend" + at(rank, stage) + " source=" + std::to_string(source) +
             " cpu=" + std::to_string(cpu_ns) + time(from, from + 50);
  }
  void wait(int rank, int stage, int source, int exchange, int from) {
    text_ += "wait" + at(rank, stage) + " payload=kv source=" + std::to_string(source) +
             " group=0 exchange=" + std::to_string(exchange) + time(from, from + 30);
  }
  /// Adds both ends of a hop, in exchanges of the same number.
  void hop(int from, int to, int stage, int source, int exchange, int posted) {
    const std::string what = " payload=kv source=" + std::to_string(source) +
                             " group=0 exchange=" + std::to_string(exchange) +
                             " bytes=4096 flow=" + std::to_string(++flow_);
    text_ +=
        "send" + at(from, stage) + " peer=" + std::to_string(to) + what + time(posted, posted + 80);
    text_ += "receive" + at(to, stage) + " peer=" + std::to_string(from) + what +
             time(posted, posted + 80);
  }

  std::string text_ = "run cp=4 cores=1\ngroup cp 0,1,2,3\n";
  int flow_ = 0;
};

}  // namespace ringscope::test
