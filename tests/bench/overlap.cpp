// SPDX-License-Identifier: Apache-2.0
// The exposed time of hops between two ranks that compute meanwhile, divided by the time that the
// same copies take alone. Hops are copied by queues, and for comparison by the side that waits
// first.
#include <algorithm>
#include <cstdio>
#include <limits>
#include <thread>
#include <vector>

#include "engine/transport/mailbox.h"
#include "traces/format/core/clock.h"

namespace {

using namespace ringscope;
using engine::GroupRank;

constexpr int kRanks = 2, kHops = 40, kRounds = 7;
constexpr std::size_t kBytes = std::size_t{4} << 20;
constexpr std::chrono::seconds kTimeout{60};

/// Multiplies and adds in registers.
double compute(std::int64_t operations) {
  double sum = 1;
  for (std::int64_t i = 0; i < operations; ++i) sum = sum * 1.0000001 + 1e-9;
  return sum;
}

/// Returns the number of operations that take about `ns`.
std::int64_t operationsIn(std::int64_t ns) {
  constexpr std::int64_t kTried = 20'000'000;
  const std::int64_t began = traces::steadyNow();
  if (compute(kTried) < 0) std::puts("");  // so that it is not optimised away
  return kTried * ns / (traces::steadyNow() - began);
}

struct Ring {
  std::int64_t exposed_ns = 0;  ///< mean over ranks
  std::int64_t wall_ns = 0;
};

/// Lets two ranks exchange blocks while each does `operations` per hop.
Ring run(std::size_t least_queued_bytes, std::int64_t operations) {
  engine::Mailbox box(kRanks, least_queued_bytes);
  std::vector<std::int64_t> exposed(kRanks, 0);
  std::vector<double> kept(kRanks);  // so that the work is not optimised away
  const auto rank = [&](int me) {
    const GroupRank here = GroupRank::of(me), other = GroupRank::of(1 - me);
    std::vector<char> held(kBytes, static_cast<char>(me)), coming(kBytes);
    for (int hop = 0; hop < kHops; ++hop) {
      const auto in = box.receive(here, other, 0, coming.data(), kBytes);
      const auto out = box.send(here, other, 0, held.data(), kBytes);
      kept[static_cast<std::size_t>(me)] += compute(operations);
      const std::int64_t began = traces::steadyNow();
      box.wait(*in, here, kTimeout);
      box.wait(*out, here, kTimeout);
      exposed[static_cast<std::size_t>(me)] += traces::steadyNow() - began;
      std::swap(held, coming);
    }
  };
  const std::int64_t began = traces::steadyNow();
  std::thread first(rank, 0), second(rank, 1);
  first.join();
  second.join();
  return {(exposed[0] + exposed[1]) / kRanks, traces::steadyNow() - began};
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace

int main() {
  constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();
  const std::int64_t attend = operationsIn(8'000'000);
  std::vector<double> queued, waiting, wall;
  for (int round = 0; round < kRounds; ++round) {
    const double alone = static_cast<double>(run(kNever, 0).exposed_ns);
    const Ring with = run(engine::kLeastQueuedBytes, attend), without = run(kNever, attend);
    queued.push_back(static_cast<double>(with.exposed_ns) / alone);
    waiting.push_back(static_cast<double>(without.exposed_ns) / alone);
    wall.push_back(static_cast<double>(with.wall_ns) / static_cast<double>(without.wall_ns));
  }
  std::printf(
      "2 ranks, 4 MiB, %d hops of 8 ms work, medians of %d rounds\n"
      "exposed / copies alone: %.2f by queues, %.2f by who waits first\n"
      "wall time by queues / by who waits first: %.3f\n",
      kHops, kRounds, median(queued), median(waiting), median(wall));
}
