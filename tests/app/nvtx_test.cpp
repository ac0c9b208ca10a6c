// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <tuple>

#include "tests/support/files.h"
#include "tests/support/run_program.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/trace/trace.h"

namespace ringscope {
namespace {

using test::ringscope;
using test::sampleText;

using traces::Event;
using traces::EventKind;

/// The bytes that a recorded event moves or reads, from the run's sizes and its messages.
class Sizes {
 public:
  explicit Sizes(const traces::Trace& trace)
      : model_(trace.run()->model), shard_(trace.run()->seq_len / trace.run()->cp) {
    for (int rank = 0; rank < trace.worldSize(); ++rank)
      for (const Event& e : trace.events(traces::WorldRank::of(rank)))
        if (e.kind == EventKind::kReceive || e.kind == EventKind::kSend)
          (e.kind == EventKind::kReceive ? come_ : go_)[keyOf(e)] += e.bytes;
  }
  std::int64_t of(const Event& e) const {
    // K and V of a token
    const std::int64_t key = 2 * model_.kv_heads * model_.head_dim * kFloat;
    if (e.kind == EventKind::kAttend) return (e.k_end - e.k_begin) * key;
    if (e.kind == EventKind::kMerge && e.place.direction == traces::Direction::kBackward)
      return shard_ * key;
    if (e.kind == EventKind::kMerge)
      return (e.q_end - e.q_begin) * model_.heads * (model_.head_dim + 1) * kFloat;
    if (e.kind == EventKind::kWait)
      return come_.contains(keyOf(e)) ? come_.at(keyOf(e)) : go_.at(keyOf(e));
    return e.kind == EventKind::kGradSync ? e.bytes : 0;
  }

 private:
  using Key = std::tuple<int, int, std::uint32_t>;  // rank, group, exchange
  static constexpr std::int64_t kFloat = 4;
  static Key keyOf(const Event& e) { return {e.rank.value(), e.group.value(), e.exchange}; }

  traces::ModelShape model_;
  std::int64_t shard_;
  std::map<Key, std::int64_t> come_, go_;
};

/// An injection library of the tests writes down what a profiler sees of a run.
TEST(NvtxTest, EveryStageIsARangeOfOurDomainWithTheTracesPayload) {
  test::TempDir dir;
  ::setenv("NVTX_INJECTION64_PATH", test::kNvtxInjection, 1);
  ::setenv("RINGSCOPE_NVTX_LOG", dir.file("nvtx").c_str(), 1);
  const auto result = ringscope("train --text " + sampleText() +
                                " --cp 2 --steps 1 --seq-len 64 --trace " + dir.file("t.rscope"));
  ::unsetenv("NVTX_INJECTION64_PATH");
  ::unsetenv("RINGSCOPE_NVTX_LOG");
  ASSERT_EQ(result.code, 0) << result.err;
  std::map<std::string, int> ranges, events;
  std::ifstream in(dir.file("nvtx"));
  int fields = 0, pushes = 0, pops = 0;
  for (std::string line; std::getline(in, line);) {
    fields += line.starts_with("field ");
    pops += line.starts_with("pop ");
    if (line.starts_with("field ") || line.starts_with("pop ")) continue;
    ++pushes;
    ++ranges[line];
  }
  EXPECT_EQ(fields, 7);
  EXPECT_EQ(pops, pushes);
  const auto trace = traces::openTrace(dir.file("t.rscope"));
  const Sizes sizes(*trace);
  std::map<EventKind, std::int64_t> bytes;
  for (int rank = 0; rank < trace->worldSize(); ++rank)
    for (const Event& e : trace->events(traces::WorldRank::of(rank))) {
      if (e.kind == EventKind::kSend || e.kind == EventKind::kReceive ||
          e.kind == EventKind::kCollective || e.kind == EventKind::kPause)
        continue;  // not part of a rank's own work
      std::ostringstream line;
      line << traces::name(e.kind) << " 4711 " << e.rank.value() << " " << e.place.layer.value()
           << " " << static_cast<int>(e.place.direction) << " " << e.place.stage.value() << " "
           << e.peer.value() << " " << e.source_rank.value() << " " << sizes.of(e);
      bytes[e.kind] += sizes.of(e);
      EXPECT_EQ(e.peer.exists(), e.kind == EventKind::kWait) << line.str();
      ++events[line.str()];
    }
  EXPECT_GT(events.size(), 40u);
  for (const auto kind :
       {EventKind::kAttend, EventKind::kMerge, EventKind::kWait, EventKind::kGradSync})
    EXPECT_GT(bytes[kind], 0) << traces::name(kind);
  EXPECT_EQ(ranges, events);
}

}  // namespace
}  // namespace ringscope
