// SPDX-License-Identifier: GPL-3.0-or-later
// What views say of an imported job that kept nothing: RingScope's own options are not its.
#include <gtest/gtest.h>

#include "tests/support/places.h"
#include "tests/support/recording_copy.h"
#include "traces/query/trace.h"
#include "viz/scene/diff_scene.h"
#include "viz/scene/error_map.h"
#include "viz/scene/merge_history.h"
#include "viz/scene/position_rows.h"
#include "viz/scene/tensor_scene.h"
#include "viz/scene/token_table.h"

namespace ringscope::viz {
namespace {

/// Without values, and without position ids.
std::shared_ptr<traces::Trace> withoutValues(const test::RecordingCopy& copy) {
  for (const std::string rank : {"rank-00000", "rank-00001"}) {
    std::filesystem::remove(copy.file(rank + ".values-0000.safetensors"));
    std::string kept;
    for (const std::string& line : copy.lines(rank + ".jsonl"))
      if (line.find("position_ids") == std::string::npos) kept += line;
    copy.put(rank + ".jsonl", kept);
  }
  return traces::openTrace(copy.path());
}

TEST(ForeignSceneTest, NoViewOfAnImportedJobNamesACaptureOrVerifyOption) {
  const test::RecordingCopy copy(test::inSources("tests/reference/hand_recording"));
  const auto trace = withoutValues(copy);
  Cursor cursor;
  cursor.place = {0, Layer::of(0), traces::Direction::kForward, RingStep::of(0)};
  std::vector<std::string> said = {
      mergeHistory(*trace, cursor.place, {WorldRank::of(0), WorldRank::of(1)}, WorldRank::of(0), 0,
                   0)
          .missing,
      makePositionStrip(*trace, cursor).verdict(), makeTokenTable(*trace, cursor).missing};
  for (const ErrorUnit unit : {ErrorUnit::kLimit, ErrorUnit::kUlp})
    said.push_back(makeErrorMap(*trace, cursor, unit).missing);
  said.push_back(makeDiffScene(*trace, cursor, ErrorUnit::kLimit, false).note);
  const auto rows = makeTensorRows(*trace, cursor, "");
  EXPECT_FALSE(rows.empty());
  for (const TensorRow& row : rows)
    if (!row.record.has_values)
      said.push_back(makeTensorScene(*trace, row, {{}, nullptr, false}).note);
  for (const std::string& sentence : said) {
    EXPECT_FALSE(sentence.empty());
    EXPECT_EQ(sentence.find("--"), std::string::npos) << sentence;
    EXPECT_NE(sentence.find("ringscope"), std::string::npos) << sentence;
  }
}

}  // namespace
}  // namespace ringscope::viz
