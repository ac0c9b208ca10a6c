// SPDX-License-Identifier: GPL-3.0-or-later
// The own-device clock as the Timeline's axis, by real mouse and key events.
#include <QStandardItemModel>

#include "tests/viz/own_axis_fixture.h"
#include "viz/views/timeline/chain_painter.h"

namespace ringscope::viz {
namespace {

TEST_F(OwnAxisTest, OChangesToOwnDevicesAndBack) {
  const TimeWindow recorded = view.scene().window;
  const QImage before = view.grab().toImage();
  QTest::keyClick(&view, Qt::Key_O);
  ASSERT_TRUE(view.clock());
  EXPECT_TRUE(view.scene().model);
  EXPECT_TRUE(view.account().model);
  EXPECT_EQ(view.scene().window, view.clock()->tracks->step(0)->window().withMargin());
  EXPECT_NE(view.grab().toImage(), before);
  EXPECT_TRUE(view.accessibleDescription().startsWith("Model: on PCIe 4.0 ×16"));
  EXPECT_TRUE(view.scene().captions.at(0).starts_with("model: stands still for "));
  QTest::keyClick(&view, Qt::Key_O);
  EXPECT_FALSE(view.scene().model);
  EXPECT_EQ(view.scene().window, recorded);
  EXPECT_EQ(view.grab().toImage(), before);
}

TEST_F(OwnAxisTest, ALinkChosenByNameIsReplayedAtOnceAndSaysWhatPredictSays) {
  QTest::mouseClick(button("own devices"), Qt::LeftButton);
  auto* links = named<QComboBox>("Link");
  ASSERT_TRUE(links && links->isVisible());
  links->setFocus();
  QTest::keyClick(links, Qt::Key_End);
  QTest::keyClick(links, Qt::Key_Up);
  const traces::Link& last = traces::linkPresets().back().value;
  ASSERT_EQ(view.clock()->hardware.link, last);
  traces::Hardware hardware;
  hardware.link = last;
  const auto program = traces::recordedProgram(viewing.session.trace(), 0, 0);
  const auto predicted = traces::replay(program.program, hardware);
  EXPECT_EQ(view.clock()->timeline.spans, predicted.spans);
  EXPECT_EQ(view.account().exposure().exposed_ns, predicted.sum().exposed_ns);
  EXPECT_EQ(view.account().exposure().hidden_ns, predicted.sum().hidden_ns);
}

TEST_F(OwnAxisTest, SlidersMoveTheModelByKeys) {
  QTest::keyClick(&view, Qt::Key_O);
  const traces::Hardware before = view.clock()->hardware;
  const auto press = [&](const char* name, Qt::Key key) {
    auto* slider = named<QSlider>(name);
    ASSERT_TRUE(slider && slider->isVisible()) << name;
    slider->setFocus();
    QTest::keyClick(slider, key);
  };
  press("Link speed", Qt::Key_Left);
  press("Link latency", Qt::Key_Right);
  press("Compute", Qt::Key_PageUp);
  const traces::Hardware& after = view.clock()->hardware;
  EXPECT_LT(after.link.gigabytes_per_second, before.link.gigabytes_per_second);
  EXPECT_GT(after.link.latency_us, before.link.latency_us);
  EXPECT_GT(after.compute_scale, before.compute_scale);
  EXPECT_EQ(named<QComboBox>("Link")->currentText(), "a link of your own");
  EXPECT_NE(view.account().sentence.find("on a link of "), std::string::npos);
}

TEST_F(OwnAxisTest, ADeviceThatIsNotKnownCannotBeChosenAndSaysWhy) {
  QTest::keyClick(&view, Qt::Key_O);
  auto* devices = named<QComboBox>("Device");
  const auto* items = qobject_cast<QStandardItemModel*>(devices->model());
  EXPECT_FALSE(items->item(1)->isEnabled());
  EXPECT_TRUE(items->item(1)->toolTip().contains("does not say how large the model is"));
  devices->setFocus();
  QTest::keyClick(devices, Qt::Key_Down);
  EXPECT_EQ(view.clock()->hardware.compute_scale, 1);
}

TEST_F(OwnAxisTest, ADeviceMakesStagesAsMuchQuickerAsItsAttention) {
  QTest::keyClick(&view, Qt::Key_O);
  auto* box = view.findChild<ClockBox*>();
  box->setDevices({{8, ""}, {9, ""}, {20, ""}});
  auto* devices = named<QComboBox>("Device");
  devices->setFocus();
  QTest::keyClick(devices, Qt::Key_Down);
  EXPECT_EQ(devices->currentText(), "H100 SXM (80 GB HBM3)");
  EXPECT_EQ(view.clock()->hardware.compute_scale, 8);
  EXPECT_EQ(view.clock()->tracks->of(WorldRank::of(0))->lane(LaneKind::kCompute)[0].length(), 2400)
      << "its kernel has to be started, though 125 ns would do for its work";
  auto* compute = named<QSlider>("Compute");
  compute->setFocus();
  QTest::keyClick(compute, Qt::Key_PageUp);
  EXPECT_EQ(devices->currentText(), "devices of a speed of your own");
  EXPECT_FALSE(view.clock()->hardware.device);
}

TEST_F(OwnAxisTest, EfficiencyIsThatOfTheChosenDevice) {
  QTest::keyClick(&view, Qt::Key_O);
  auto* efficiency = named<QSlider>("Efficiency");
  ASSERT_TRUE(efficiency && efficiency->isVisible());
  EXPECT_FALSE(efficiency->isEnabled()) << "no device, no peak";
  auto* box = view.findChild<ClockBox*>();
  box->setDevices({{8, ""}, {9, ""}, {20, ""}});
  auto* devices = named<QComboBox>("Device");
  devices->setFocus();
  QTest::keyClick(devices, Qt::Key_Down);
  ASSERT_TRUE(efficiency->isEnabled());
  EXPECT_EQ(view.clock()->hardware.device, (traces::DeviceShare{"H100 SXM", 0.6}));
  efficiency->setFocus();
  for (int i = 0; i < 3; ++i) QTest::keyClick(efficiency, Qt::Key_PageDown);
  EXPECT_NEAR(view.clock()->hardware.device->efficiency, 0.3, 1e-9);
  EXPECT_NEAR(view.clock()->hardware.compute_scale, 4, 1e-9) << "half of what 60 % gave";
  EXPECT_NE(view.account().sentence.find("H100 SXM at 30 % of its peak (compute ×4)"),
            std::string::npos)
      << view.account().sentence;
  box->setDevices({{16, ""}, {9, ""}, {20, ""}});
  EXPECT_NEAR(view.clock()->hardware.compute_scale, 8, 1e-9) << "of another step's recorded time";
  box->setDevices({{0, "why"}, {9, ""}, {20, ""}});
  EXPECT_FALSE(view.clock()->hardware.device) << "what is not known has no name";
}

TEST_F(OwnAxisTest, FloorsAreSetByKeysAndDetermineAQuickDevice) {
  QTest::keyClick(&view, Qt::Key_O);
  EXPECT_EQ(view.clock()->hardware.floors, traces::Floors()) << "as recorded";
  auto* compute = named<QSlider>("Compute");
  compute->setFocus();
  QTest::keyClick(compute, Qt::Key_End);
  EXPECT_EQ(view.clock()->hardware.floors, traces::defaultFloors());
  // Four blocks with one kernel each of 2.4 µs; a hop is posted with a block, and takes 8.4 µs.
  EXPECT_EQ(view.clock()->timeline.endNs(), 3 * 8400 + 2400);
  EXPECT_NE(view.account().sentence.find("at least 2.4 µs per kernel and 8.4 µs per transfer"),
            std::string::npos)
      << view.account().sentence;
  ASSERT_TRUE(view.account().limits);
  EXPECT_EQ(view.account().limits->boundBy(), traces::Limit::kLink);
  auto* transfer = named<QSlider>("Least time of a transfer");
  transfer->setFocus();
  QTest::keyClick(transfer, Qt::Key_Home);
  EXPECT_EQ(view.clock()->hardware.floors.collective_us, 0);
  auto* kernel = named<QSlider>("Least time of a kernel");
  kernel->setFocus();
  QTest::keyClick(kernel, Qt::Key_End);
  EXPECT_EQ(view.clock()->hardware.floors.kernel_us, 1000);
  EXPECT_EQ(view.account().limits->boundBy(), traces::Limit::kLaunch);
  auto* devices = named<QComboBox>("Device");
  devices->setFocus();
  QTest::keyClick(devices, Qt::Key_Home);
  EXPECT_EQ(view.clock()->hardware.floors, traces::Floors()) << "as recorded again";
  EXPECT_EQ(view.clock()->hardware.compute_scale, 1);
}

TEST_F(OwnAxisTest, TheTableAndTheSentenceHaveOneHiddenShare) {
  QTest::keyClick(&view, Qt::Key_O);
  replayOn(test::OwnClockCase::link());
  const Exposure all = view.account().exposure();
  ASSERT_TRUE(all.hiddenShare());
  EXPECT_EQ(*all.hiddenShare(), view.clock()->timeline.sum().hiddenShare());
  EXPECT_NE(view.account().sentence.find("40 % of the time that communication is in flight is "
                                         "hidden"),
            std::string::npos)
      << view.account().sentence;
}

TEST_F(OwnAxisTest, WithoutOverlapNothingIsHidden) {
  QTest::keyClick(&view, Qt::Key_O);
  replayOn(test::OwnClockCase::link());
  EXPECT_EQ(view.account().exposure().hidden_ns, 4 * 3000);
  QTest::mouseClick(button("messages move under work"), Qt::LeftButton, {}, QPoint(8, 12));
  EXPECT_FALSE(view.clock()->hardware.overlap);
  EXPECT_EQ(view.account().exposure().hidden_ns, 0);
  EXPECT_EQ(view.account().exposure().exposed_ns, 4 * 3 * 2500);
}

TEST_F(OwnAxisTest, CShowsTheCriticalPathAndNamesIt) {
  QTest::keyClick(&view, Qt::Key_O);
  replayOn(test::OwnClockCase::link());
  const QImage without = view.grab().toImage();
  QTest::keyClick(&view, Qt::Key_C);
  ASSERT_TRUE(view.scene().chain);
  EXPECT_TRUE(button("critical path (C)")->isChecked());
  EXPECT_NE(view.grab().toImage(), without);
  ASSERT_EQ(view.account().sections.size(), 3u);
  EXPECT_EQ(view.account().sections[0].rows[1].second, "8.5 µs") << "recorded against model";
  EXPECT_EQ(view.account().sections[2].rows[1].second, "7.5 µs · 88 %");
  const auto lines = chainLines(view.chart(), view.scene());
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NEAR(lines[0].front().x(), at(0, 0).x(), 1);
  EXPECT_NEAR(lines[0].back().x(), at(8500, 0).x(), 1);
  QTest::keyClick(&view, Qt::Key_C);
  EXPECT_EQ(view.grab().toImage(), without);
}

TEST_F(OwnAxisTest, AsRecordedItSaysWhyThereIsNoPath) {
  QTest::keyClick(&view, Qt::Key_C);
  EXPECT_FALSE(view.scene().chain);
  ASSERT_EQ(view.account().sections.size(), 1u);
  EXPECT_NE(view.account().sections[0].sentence.find("Own devices (O)"), std::string::npos);
}

TEST_F(OwnAxisTest, AClickMovesTheMomentOfAllViews) {
  QTest::keyClick(&view, Qt::Key_O);
  replayOn(test::OwnClockCase::link());
  // Rank 2 attends its third block from 5,000 to 6,000; the block was recorded from 200 to 250.
  QTest::mouseClick(&view, Qt::LeftButton, {}, at(5500, 2));
  EXPECT_EQ(viewing.navigator.cursor().rank, WorldRank::of(2));
  EXPECT_EQ(view.scene().selected.span.begin_ns, 5000);
  EXPECT_NEAR(static_cast<double>(viewing.navigator.instant()), 225, 5);
  EXPECT_NEAR(view.scene().instant_ns, 5500, 100);
}

TEST_F(OwnAxisTest, TheSelectionStaysOnAnotherLink) {
  QTest::keyClick(&view, Qt::Key_O);
  replayOn(test::OwnClockCase::link());
  QTest::mouseClick(&view, Qt::LeftButton, {}, at(5500, 2));
  traces::Hardware slower = test::OwnClockCase::link();
  slower.link.latency_us = 1.5;  // a hop takes 3,500
  replayOn(slower);
  EXPECT_EQ(view.scene().selected.span.begin_ns, 7000);
  EXPECT_EQ(view.scene().selected.span.end_ns, 8000);
}

TEST_F(OwnAxisTest, AMeasuredRangeIsLabelledAsAModel) {
  QTest::keyClick(&view, Qt::Key_O);
  replayOn(test::OwnClockCase::link());
  QTest::mousePress(&view, Qt::LeftButton, Qt::ShiftModifier, at(0, 1));
  QTest::mouseMove(&view, at(8500, 1));
  QTest::mouseRelease(&view, Qt::LeftButton, Qt::ShiftModifier, at(8500, 1));
  ASSERT_TRUE(view.scene().range);
  EXPECT_TRUE(view.scene().range_words.ends_with(" · model")) << view.scene().range_words;
}

TEST_F(OwnAxisTest, AnotherTrainingStepIsReplayedByItself) {
  std::string text = test::OwnClockCase::ring(1000);
  for (const char* rank : {"0", "1", "2", "3"})
    text += std::string("attend step=1 layer=0 stage=0 source=0 cpu=700 time=1000-1100 rank=") +
            rank +
            "\ncollective step=1 payload=grads flow=900 group=0 time=1100-1110 rank=" + rank + "\n";
  open(text);
  QTest::keyClick(&view, Qt::Key_O);
  ASSERT_TRUE(view.clock());
  EXPECT_EQ(view.clock()->train_step, 0);
  viewing.navigator.moveTrainStep(1);
  QApplication::processEvents();
  ASSERT_TRUE(view.clock());
  EXPECT_EQ(view.clock()->train_step, 1);
  EXPECT_EQ(view.account().train_step, 1);
  EXPECT_EQ(view.clock()->tracks->of(WorldRank::of(0))->lane(LaneKind::kCompute)[0].length(), 700);
}

TEST_F(OwnAxisTest, ASearchFindsByTheModelsLengths) {
  QTest::keyClick(&view, Qt::Key_O);
  replayOn(test::OwnClockCase::link());
  auto* field = view.findChild<QLineEdit*>();
  field->setFocus();
  QTest::keyClicks(field, "wait rank 3 layer 0 > 1.4 us");
  QTest::keyClick(field, Qt::Key_Return);
  ASSERT_TRUE(view.scene().selected.exists());
  EXPECT_EQ(view.scene().selected.rank, WorldRank::of(3));
  EXPECT_EQ(view.scene().selected.span.length(), 1500);
}

TEST_F(OwnAxisTest, ALongPathHasAFewPointsAPixelColumn) {
  auto chain = std::make_shared<CriticalChain>();
  for (int i = 0; i < 100'000; ++i)
    chain->links.push_back({WorldRank::of(i % 4), LaneKind::kCompute, i, i + 1, {}});
  ChartScene scene = view.scene();
  scene.chain = chain;
  scene.window = {0, 100'000};
  const ChartLayout layout = view.chart();
  const auto lines = chainLines(layout, scene);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_LE(lines[0].size(), static_cast<int>(4 * (layout.lanes.width() + 4)));
  EXPECT_NEAR(lines[0].boundingRect().height(), 3 * layout.ranks[0].height(),
              layout.ranks[0].height())
      << "from the first rank to the last";
}

TEST_F(OwnAxisTest, ReportsMissingTimesInsteadOfDrawing) {
  std::string text = test::OwnClockCase::ring(1000);
  for (std::size_t found; (found = text.find(" cpu=1000")) != std::string::npos;)
    text.erase(found, 9);
  open(text);
  QTest::keyClick(&view, Qt::Key_O);
  EXPECT_FALSE(view.clock());
  EXPECT_TRUE(view.scene().empty());
  EXPECT_TRUE(view.accessibleDescription().contains("no CPU time was recorded"))
      << view.accessibleDescription().toStdString();
  view.grab();
  for (const auto key : {Qt::Key_C, Qt::Key_F, Qt::Key_W, Qt::Key_M, Qt::Key_Slash})
    QTest::keyClick(&view, key);
  view.setFocus();
  QTest::keyClick(&view, Qt::Key_O);
  EXPECT_FALSE(view.scene().empty());
}

}  // namespace
}  // namespace ringscope::viz
