// SPDX-License-Identifier: GPL-3.0-or-later
// The colours in which the Positions view speaks of a rank's buffers.
#include "viz/views/positions/positions_painter.h"

#include <gtest/gtest.h>

#include "tests/viz/drawn.h"

namespace ringscope::viz {
namespace {

std::unique_ptr<test::Drawn> drawnBuffers(std::vector<BufferLane> buffers) {
  PositionsScene scene;
  scene.strip = std::make_shared<PositionStrip>();
  scene.table.buffers = std::move(buffers);
  return test::drawn({1400, 600}, [&](QPainter& p, const QRectF& area) {
    paintPositions(p, area, scene, 0, test::dark());
  });
}

TEST(PositionsPainterTest, OnlyWhatIsRecordedIsRedOrGreen) {
  const std::string undeclared = "from where positions count was not declared";
  const auto picture =
      drawnBuffers({{"labels", BufferCut::kSharded, {1, 120}, {1, 60}, 0, 60, ""},
                    {"position_ids", BufferCut::kNotRecorded, {}, {}, 0, 0, undeclared},
                    {"pos", BufferCut::kUnknown, {}, {1, 60}, 0, 0, undeclared}});
  for (const char* neutral : {"not recorded", "no cut of it is recorded", "from where positions"}) {
    const test::DrawnText* text = picture->find(neutral);
    ASSERT_NE(text, nullptr) << neutral << ": " << picture->words();
    EXPECT_EQ(text->color, test::dark().dim) << neutral;
  }
  ASSERT_NE(picture->find("60 as they should be"), nullptr);
  EXPECT_EQ(picture->find("60 as they should be")->color, test::dark().right);
  EXPECT_FALSE(test::has(*picture, "by itself"));
}

TEST(PositionsPainterTest, ABufferThatTheRankMadeItselfIsRed) {
  const auto picture = drawnBuffers({{"position_ids", BufferCut::kOwn, {}, {1, 60}, 30, 60, ""}});
  for (const char* red : {"not sharded: the rank made", "30 of 60 differ"}) {
    ASSERT_NE(picture->find(red), nullptr) << picture->words();
    EXPECT_EQ(picture->find(red)->color, test::dark().wrong) << red;
  }
}

}  // namespace
}  // namespace ringscope::viz
