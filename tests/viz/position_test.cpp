// SPDX-License-Identifier: GPL-3.0-or-later
// The position ids and tokens of each rank, compared with the intended ones.
#include <gtest/gtest.h>

#include "tests/viz/indexed_trace.h"
#include "tests/viz/recorded_ring.h"
#include "tests/viz/ring_runs.h"
#include "viz/scene/position_rows.h"
#include "viz/views/positions/token_table_scene.h"

namespace ringscope::viz {
namespace {

using test::RingRun;

std::shared_ptr<traces::Trace> recordedStep(RingRun run) {
  run.steps = run.layers = 1;
  return test::recordedTrace(run);
}

RingRun restarting() {
  RingRun run;
  run.restarts_positions = true;
  return run;
}

RingRun packedWithPositions() {
  RingRun run = test::packed();
  run.positions = traces::PositionRule::kEachDocument;
  return run;
}

Cursor ofRank(int rank) {
  return test::IndexedTrace::at(test::forwardAt(0, 0), rank);
}

/// Returns the same recording without the records for which `drops` is true.
template <typename Drops>
std::shared_ptr<traces::Trace> without(const traces::Trace& whole, Drops drops) {
  auto part = std::make_shared<traces::Trace>();
  for (const auto& group : whole.groups()) part->add(group);
  for (const auto& shard : whole.shards()) part->add(shard);
  for (const auto& intent : whole.intents())
    if (!drops(intent)) part->add(intent);
  for (int rank = 0; rank < whole.worldSize(); ++rank)
    for (const traces::Event& event : whole.events(WorldRank::of(rank)))
      part->add(std::span<const traces::Event>(&event, 1));
  for (const auto& tensor : whole.tensors()) {
    const auto bytes = whole.bytes(tensor);
    if (!bytes || drops(tensor)) continue;
    part->addValues(tensor.id, *bytes);
    part->add(std::vector{tensor});
  }
  return part;
}

TEST(PositionRowsTest, RestartedPositionsAreMarkedAndCounted) {
  const PositionStrip right = makePositionStrip(*recordedStep({}), Cursor());
  EXPECT_EQ(right.wrong, 0);
  EXPECT_EQ(right.all, 128);
  EXPECT_TRUE(right.complete());
  EXPECT_EQ(right.verdict(), "✓ all 128 as they should be");
  EXPECT_EQ(right.rows[1].runs.size(), 2u);
  const PositionStrip wrong = makePositionStrip(*recordedStep(restarting()), Cursor());
  EXPECT_EQ(wrong.wrong, 112) << "the first chunk of rank 0 begins at 0 anyway";
  EXPECT_EQ(wrong.verdict(), "▲ 112 of 128 position ids differ");
  EXPECT_TRUE(wrong.rows[1].runs[0].wrong);
  EXPECT_EQ(wrong.rows[1].runs[0].first, 0);
  EXPECT_EQ(wrong.rows[1].runs[0].expected_first, 16);
}

TEST(PositionRowsTest, RanksWhoseIdsAreNotRecordedAreCountedAndNotCalledRight) {
  const auto part = without(*recordedStep({}), [](const auto& record) {
    if constexpr (std::is_same_v<std::decay_t<decltype(record)>, traces::TensorRecord>)
      return record.rank.value() >= 2;
    else
      return false;
  });
  const PositionStrip strip = makePositionStrip(*part, Cursor());
  EXPECT_FALSE(strip.complete());
  EXPECT_EQ(strip.verdict(), "64 as they should be; those of 2 of 4 ranks are not recorded");
}

TEST(PositionRowsTest, PackedDocumentsCountFromZeroEachAndTheirBordersAreMarked) {
  const auto trace = recordedStep(packedWithPositions());
  EXPECT_EQ(makePositionStrip(*trace, Cursor()).wrong, 0);
  std::vector<std::int64_t> borders;
  for (int rank = 0; rank < 4; ++rank)
    for (const TokenCell& cell : makeTokenTable(*trace, ofRank(rank)).cells) {
      EXPECT_FALSE(cell.positionWrong()) << cell.global.value();
      if (cell.begins_document) borders.push_back(cell.global.value());
    }
  std::ranges::sort(borders);
  EXPECT_EQ(borders, (std::vector<std::int64_t>{40, 90}));
}

TEST(PositionRowsTest, PositionsWithoutARecordedIntentAreNotJudged) {
  const auto forgotten = without(*recordedStep(packedWithPositions()), [](const auto& record) {
    return std::is_same_v<std::decay_t<decltype(record)>, traces::IntentRecord>;
  });
  const PositionStrip strip = makePositionStrip(*forgotten, Cursor());
  EXPECT_EQ(strip.wrong, 0);
  EXPECT_EQ(strip.all, 128);
  EXPECT_NE(strip.verdict().find("not recorded"), std::string::npos) << strip.verdict();
  const TokenTable table = makeTokenTable(*forgotten, ofRank(1));
  EXPECT_FALSE(table.cells[3].should_position);
  EXPECT_EQ(table.buffers.back().compared, 0);
  // Positions restart, but no document is recorded.
  RingRun borderless = packedWithPositions();
  borderless.mask = traces::MaskKind::kCausal;
  EXPECT_NE(makePositionStrip(*recordedStep(borderless), Cursor()).verdict().find("documents"),
            std::string::npos);
}

TEST(TokenTableTest, ShowsEachTokenItsPositionAndTheTokenThatItPredicts) {
  const TokenTable table = makeTokenTable(*recordedStep({}), ofRank(1));
  EXPECT_EQ(table.missing, "");
  EXPECT_EQ(table.sequence_length, 128);
  ASSERT_EQ(table.cells.size(), 32u);
  EXPECT_EQ(table.cells[0].global, TokenIndex::of(16));
  EXPECT_EQ(table.cells[16].global, TokenIndex::of(96));
  EXPECT_TRUE(table.cells[16].begins_chunk);
  EXPECT_EQ(table.cells[15].label, table.cells[15].should_label)
      << "the next token is on another rank";
  ASSERT_EQ(table.buffers.size(), 3u);
  for (const auto& lane : table.buffers) {
    EXPECT_EQ(lane.cut, BufferCut::kSharded) << lane.name;
    EXPECT_EQ(lane.wrong, 0) << lane.name;
  }
  EXPECT_EQ(describeValues(table.buffers[0]), "– the whole batch is not recorded")
      << "nothing says what the tokens should be";
  EXPECT_EQ(table.buffers[1].compared, 32);
  EXPECT_EQ(table.buffers[2].compared, 32);
}

TEST(TokenTableTest, CountsThePositionsThatARankMadeByItself) {
  const TokenTable table = makeTokenTable(*recordedStep(restarting()), ofRank(1));
  const BufferLane& positions = table.buffers.back();
  EXPECT_EQ(positions.name, "position_ids");
  EXPECT_EQ(positions.cut, BufferCut::kOwn);
  EXPECT_TRUE(positions.accused());
  EXPECT_EQ(positions.wrong, 32);
  EXPECT_EQ(table.cells[3].position, 3);
  EXPECT_EQ(table.cells[3].should_position, 19);
}

TEST(TokenTableTest, BytesReadAsPeopleReadThem) {
  EXPECT_EQ(tokenText('a', 256), "a");
  EXPECT_EQ(tokenText(' ', 256), "␣");
  EXPECT_EQ(tokenText('\n', 256), "↵");
  EXPECT_EQ(tokenText(200, 256), "·200");
  EXPECT_EQ(tokenText(97, 32000), "97");
}

}  // namespace
}  // namespace ringscope::viz
