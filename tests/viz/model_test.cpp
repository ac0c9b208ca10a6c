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
  model.show(*trace, {0, 0, Direction::kBackward, 0}, 0, "DQ");
  for (int row = 0; row < model.rowCount(); ++row)
    EXPECT_TRUE(model.index(row, 0).data(Qt::DisplayRole).toString().contains("dq"));
  EXPECT_EQ(model.at(-1), nullptr);
  EXPECT_EQ(model.at(10'000), nullptr);
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
