// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "tests/support/files.h"
#include "tests/support/run_program.h"
#include "traces/query/trace.h"

namespace ringscope {
namespace {

using test::ringscope;
using test::sampleText;

/// What a profiler sees of a run: an injection library of our own writes it down.
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
  using traces::EventKind;
  for (int rank = 0; rank < trace->worldSize(); ++rank)
    for (const traces::Event& e : trace->events(traces::WorldRank::of(rank))) {
      if (e.kind == EventKind::kSend || e.kind == EventKind::kReceive ||
          e.kind == EventKind::kCollective || e.kind == EventKind::kPause)
        continue;  // not stretches of a rank's own work
      std::ostringstream line;
      line << traces::name(e.kind) << " 4711 " << e.rank.value() << " " << e.place.layer.value()
           << " " << static_cast<int>(e.place.direction) << " " << e.place.stage.value() << " "
           << e.source_rank.value();
      ++events[line.str()];
    }
  EXPECT_GT(events.size(), 40u);
  EXPECT_EQ(ranges, events);
}

}  // namespace
}  // namespace ringscope
