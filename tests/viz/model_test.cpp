// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <algorithm>

#include "tests/viz/indexed_trace.h"
#include "tests/viz/recorded_ring.h"
#include "traces/analysis/doctor/hang_finding.h"
#include "traces/analysis/mistakes/catalogue.h"
#include "viz/views/base/view.h"
#include "viz/views/doctor/findings_model.h"
#include "viz/views/tensor/tensor_list_model.h"

namespace ringscope::viz {
namespace {

using Mode = QAbstractItemModelTester::FailureReportingMode;

std::vector<TensorRow> rowsFor(const traces::Trace& trace, const traces::Place& place, int rank,
                               const std::string& filter = "",
                               const std::vector<LiveTensor>& live = {}) {
  Cursor cursor;
  cursor.place = place;
  cursor.rank = WorldRank::of(rank);
  return makeTensorRows(trace, cursor, filter, live);
}

std::vector<FindingCard> findingCards(const traces::Diagnosis& diagnosis) {
  return makeDoctorScene(diagnosis, false).cards;
}

TEST(TensorListModelTest, ListsThePlacesTensorsAndPassesQtsModelTest) {
  const auto trace = test::recordedTrace({});
  TensorListModel model;
  const QAbstractItemModelTester tester(&model, Mode::Fatal);
  EXPECT_EQ(model.rowCount(), 0);
  model.show(rowsFor(*trace, test::forwardAt(1, 2), 3));
  EXPECT_GT(model.rowCount(), 8);
  ASSERT_GE(model.tensorRow("block_lse"), 0);
  EXPECT_EQ(model.at(model.tensorRow("block_lse"))->record.place.stage, RingStep::of(2));
  EXPECT_EQ(model.at(model.tensorRow("q"))->record.place.layer, Layer::of(1));
  EXPECT_EQ(model.tensorRow("dq"), -1) << "backward's are not forward's";
  const auto q = model.index(model.tensorRow("q"), TensorListModel::kShape);
  EXPECT_EQ(q.data(Qt::DisplayRole).toString(), "[1×4×32×8]");
  EXPECT_FALSE(model.hasMarks());
  model.show(rowsFor(*trace, test::backwardAt(0, 0), 0, "DQ"));
  for (int row = 0; row < model.rowCount(); ++row)
    EXPECT_TRUE(model.index(row, 0).data(Qt::DisplayRole).toString().contains("dq"));
  EXPECT_EQ(model.at(-1), nullptr);
  EXPECT_EQ(model.at(10'000), nullptr);
}

TEST(TensorListModelTest, TensorsOfAPausedRunFollowRecordedOnes) {
  const auto trace = test::recordedTrace({});
  TensorListModel model;
  const QAbstractItemModelTester tester(&model, Mode::Fatal);
  const traces::Place place = test::forwardAt(1, 2);
  model.show(rowsFor(*trace, place, 3));
  const int recorded = model.rowCount();
  const WorldRank here = WorldRank::of(3);
  const std::vector<LiveTensor> live = {
      {here, "q", Layer::of(1), "float32", {1, 4, 32, 8}},
      {here, "weight.mine", Layer::none(), "bfloat16", {8, 8}},
      {here, "of another layer", Layer::of(0), "float32", {2}},
      {WorldRank::of(2), "of another rank", Layer::none(), "float32", {2}}};
  model.show(rowsFor(*trace, place, 3, "", live));
  ASSERT_EQ(model.rowCount(), recorded + 1);
  EXPECT_FALSE(model.at(model.tensorRow("q"))->only_live);
  const int row = model.tensorRow("weight.mine");
  ASSERT_EQ(row, recorded);
  EXPECT_TRUE(model.at(row)->only_live);
  EXPECT_TRUE(model.at(row)->record.place.layer.isNone());
  EXPECT_EQ(model.index(row, TensorListModel::kType).data().toString(), "bfloat16");
  EXPECT_EQ(model.index(row, TensorListModel::kRange).data().toString(), "in the paused run");
  model.show(rowsFor(*trace, place, 3, "q", live));
  EXPECT_EQ(model.tensorRow("weight.mine"), -1) << "the filter holds for them too";
}

TEST(FindingsModelTest, PutsFindingsFirstAndPassesQtsModelTest) {
  FindingsModel model;
  const QAbstractItemModelTester tester(&model, Mode::Fatal);
  test::RingRun run;
  run.restarts_positions = true;
  model.show(findingCards(traces::diagnose(*test::recordedTrace(run))));
  ASSERT_GT(model.rowCount(), 2);
  EXPECT_EQ(model.at(0)->verdict, traces::Verdict::kFound);
  EXPECT_EQ(model.at(0)->view, "positions");
  EXPECT_FALSE(model.at(0)->remedy.empty());
  EXPECT_NE(model.at(1)->verdict, traces::Verdict::kFound);
  bool merged = false;
  for (int row = 1; row < model.rowCount(); ++row)
    merged =
        merged || (model.at(row)->verdict == traces::Verdict::kClear &&
                   model.at(row)->title == "Block outputs are merged by their log-sum-exp weights");
  EXPECT_TRUE(merged);
  EXPECT_TRUE(model.index(0).data(Qt::AccessibleTextRole).toString().contains("found"));
  model.show({});
  EXPECT_EQ(model.rowCount(), 0);
}

TEST(FindingsModelTest, EveryMistakeLeadsToAnExistingView) {
  for (const auto& mistake : traces::mistakeCatalogue()) {
    const bool there = std::any_of(
        viewRegistry().begin(), viewRegistry().end(),
        [&](const ViewEntry& view) { return view.name == QString::fromStdString(mistake.view); });
    EXPECT_TRUE(there) << mistake.id << ": " << mistake.view;
  }
}

TEST(FindingsModelTest, AHangLeadsToTheTimeline) {
  traces::Diagnosis diagnosis;
  traces::Finding hang;
  hang.rule = traces::kHang;
  diagnosis.entries.push_back({traces::kHang, {traces::Verdict::kFound, {hang}, "", true}});
  const auto cards = findingCards(diagnosis);
  ASSERT_EQ(cards.size(), 1u);
  EXPECT_EQ(cards[0].view, "timeline");
}

}  // namespace
}  // namespace ringscope::viz
