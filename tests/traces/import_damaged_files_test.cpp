// SPDX-License-Identifier: Apache-2.0
// Damaged files of other tools: 500 of each kind open in part or are rejected in a sentence.
#include <gtest/gtest.h>

#include "tests/support/damage.h"
#include "tests/support/recording_copy.h"

namespace ringscope::traces {
namespace {

struct DamagedFile {
  std::string folder, name;
  bool gzip = false;
};

class ImportDamagedFiles : public testing::TestWithParam<DamagedFile> {};

TEST_P(ImportDamagedFiles, OpenInPartOrAreRejectedInASentence) {
  const DamagedFile& file = GetParam();
  const test::RecordingCopy copy(test::inSources("tests/reference/" + file.folder));
  std::string path = copy.file(file.name);
  if (file.gzip) {
    ASSERT_EQ(std::system(("gzip '" + path + "'").c_str()), 0);
    path += ".gz";
  }
  const test::DamageCounts counts = test::openDamaged(path);
  EXPECT_EQ(counts.opened + counts.rejected, 500);
  // One changed bit ends what can be decompressed.
  EXPECT_GT(counts.opened, file.gzip ? -1 : 10);
  EXPECT_GT(counts.rejected, 20);
}

INSTANTIATE_TEST_SUITE_P(
    Formats, ImportDamagedFiles,
    testing::Values(DamagedFile{"kineto", "rank1.json"}, DamagedFile{"kineto", "rank1.json", true},
                    DamagedFile{"flight_recorder", "gloo_rank_0.json"},
                    DamagedFile{"flight_recorder_pickles", "nccl_trace_rank_0"},
                    DamagedFile{"debug_mode", "rank0.json"}),
    [](const auto& test) { return test.param.folder + (test.param.gzip ? "_gzip" : ""); });

}  // namespace
}  // namespace ringscope::traces
