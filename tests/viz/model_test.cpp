// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <QAbstractItemModelTester>

#include "tests/viz/sample_trace.h"
#include "viz/models/findings_model.h"
#include "viz/models/tensor_list_model.h"

namespace ringscope::viz {
namespace {

using traces::Direction;
using Mode = QAbstractItemModelTester::FailureReportingMode;

TEST(TensorListModelTest, ListsThePlacesTensorsAndPassesQtsModelTest) {
  const auto trace = test::sampleTrace(4, {});
  TensorListModel model;
  const QAbstractItemModelTester tester(&model, Mode::Fatal);
  EXPECT_EQ(model.rowCount(), 0);
  model.show(*trace, {0, 1, Direction::kForward, 2}, 3, "");
  EXPECT_GT(model.rowCount(), 20);
  ASSERT_GE(model.rowOf("block_lse"), 0);
  EXPECT_EQ(model.at(model.rowOf("block_lse"))->place.stage, 2);
  EXPECT_EQ(model.at(model.rowOf("q"))->place.layer, 1);
  EXPECT_EQ(model.rowOf("dq"), -1) << "backward's are not forward's";
  const auto q = model.index(model.rowOf("q"), TensorListModel::kShape);
  EXPECT_EQ(q.data(Qt::DisplayRole).toString(), "[1×4×32×32]");
  EXPECT_FALSE(model.hasMarks());
  model.show(*trace, {0, 0, Direction::kBackward, 0}, 0, "DQ");
  for (int row = 0; row < model.rowCount(); ++row)
    EXPECT_TRUE(model.index(row, 0).data(Qt::DisplayRole).toString().contains("dq"));
  EXPECT_EQ(model.at(-1), nullptr);
  EXPECT_EQ(model.at(10'000), nullptr);
}

TEST(TensorListModelTest, WhatOnlyAPausedRunHoldsComesAfterWhatIsRecorded) {
  const auto trace = test::sampleTrace(4, {});
  TensorListModel model;
  const QAbstractItemModelTester tester(&model, Mode::Fatal);
  const traces::Place place{0, 1, Direction::kForward, 2};
  model.show(*trace, place, 3, "");
  const int recorded = model.rowCount();
  const std::vector<LiveTensor> live = {{3, "q", 1, "float32", {1, 4, 32, 32}},
                                        {3, "weight.mine", -1, "bfloat16", {8, 8}},
                                        {3, "of another layer", 0, "float32", {2}},
                                        {2, "of another rank", -1, "float32", {2}}};
  model.show(*trace, place, 3, "", live);
  ASSERT_EQ(model.rowCount(), recorded + 1);
  EXPECT_FALSE(model.isOnlyLive(model.rowOf("q")));
  const int row = model.rowOf("weight.mine");
  ASSERT_EQ(row, recorded);
  EXPECT_TRUE(model.isOnlyLive(row));
  EXPECT_EQ(model.at(row)->place.layer, -1);
  EXPECT_EQ(model.index(row, TensorListModel::kType).data().toString(), "bfloat16");
  EXPECT_EQ(model.index(row, TensorListModel::kRange).data().toString(), "in the paused run");
  model.show(*trace, place, 3, "q", live);
  EXPECT_EQ(model.rowOf("weight.mine"), -1) << "the filter holds for them too";
}

TEST(FindingsModelTest, PutsFindingsFirstAndPassesQtsModelTest) {
  FindingsModel model;
  const QAbstractItemModelTester tester(&model, Mode::Fatal);
  model.show(traces::diagnose(*test::sampleTrace(4, {"missing_position_ids"})));
  ASSERT_GT(model.rowCount(), 2);
  EXPECT_EQ(model.at(0)->verdict, traces::Verdict::kFound);
  EXPECT_EQ(model.at(0)->view, "positions");
  EXPECT_FALSE(model.at(0)->remedy.isEmpty());
  EXPECT_EQ(model.at(1)->verdict, traces::Verdict::kClear);
  EXPECT_TRUE(model.index(0).data(Qt::AccessibleTextRole).toString().contains("found"));
  model.show(traces::Diagnosis());
  EXPECT_EQ(model.rowCount(), 0);
}

}  // namespace
}  // namespace ringscope::viz
