// SPDX-License-Identifier: GPL-3.0-or-later
// Each view's picture of one committed recording, compared with a picture that was inspected and
// approved. RINGSCOPE_WRITE_GOLDEN=1 writes new pictures, which must be inspected before they are
// committed.
#include <gtest/gtest.h>

#include <QApplication>
#include <QImage>
#include <QTest>
#include <cmath>

#include "tests/support/files.h"
#include "tests/support/places.h"
#include "tests/viz/recorded_ring.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/trace/trace.h"
#include "viz/views/base/view.h"

namespace ringscope::viz {
namespace {

using test::sampleRecording;

const std::string kFolder = test::inSources("tests/golden/");

/// Returns the share of pixels whose colour differs by more than the antialiasing of an edge.
double difference(const QImage& a, const QImage& b) {
  if (a.size() != b.size()) return 1;
  constexpr int kEdge = 48;
  int off = 0;
  for (int y = 0; y < a.height(); ++y)
    for (int x = 0; x < a.width(); ++x) {
      const QRgb p = a.pixel(x, y), q = b.pixel(x, y);
      off += std::abs(qRed(p) - qRed(q)) > kEdge || std::abs(qGreen(p) - qGreen(q)) > kEdge ||
             std::abs(qBlue(p) - qBlue(q)) > kEdge;
    }
  return off / static_cast<double>(a.width() * a.height());
}

/// Adds a second recording with as many tokens, for the view that shows two.
void compareWithAnother(Viewing& viewing, const test::TempDir& folder) {
  test::RingRun run;
  run.seq_len = 64;
  run.balance = traces::Balance::kNone;
  const std::string other = folder.file("contiguous.rscope");
  test::recordFile(run, other);
  viewing.session.diagnose(QString::fromStdString(sampleRecording()));
  viewing.comparison.with(QString::fromStdString(other));
  ASSERT_TRUE(QTest::qWaitFor([&] { return viewing.comparison.runs() != nullptr; }, 20000));
  viewing.navigator.selectTensor("lse");
}

/// Returns the view of the recording in the middle of its third ring step.
QImage picture(const ViewEntry& entry, const Theme& theme) {
  Viewing viewing;
  viewing.session.open(traces::openTrace(sampleRecording()), "recording", false);
  if (entry.name == "tokens") {
    test::RingRun run;
    run.keeps_logits = true;  // which the sample has no room for
    viewing.session.open(test::recordedTrace(run), "recording", false);
  }
  const std::unique_ptr<View> view(entry.make(viewing, nullptr));
  view->setStyleSheet(themeStyleSheet(theme));
  view->setTheme(theme);
  view->resize(900, 560);
  viewing.session.setDiagnosis(traces::diagnose(viewing.session.trace()));
  const test::TempDir folder;
  if (entry.name == "compare") compareWithAnother(viewing, folder);
  viewing.navigator.selectRank(traces::WorldRank::of(1));
  viewing.navigator.setMoment(2, 0.5);
  view->show();
  QApplication::processEvents();
  EXPECT_TRUE(QTest::qWaitFor([&] { return !viewing.comparison.makesMap(); }, 10000));
  EXPECT_TRUE(QTest::qWaitFor([&] { return !view->isMaking(); }, 10000));
  QImage image(view->size(), QImage::Format_RGB32);
  view->render(&image);
  QApplication::processEvents();
  view->render(&image);
  return image;
}

class GoldenTest : public testing::TestWithParam<std::string> {};

TEST_P(GoldenTest, LooksAsItDidWhenItWasFoundGood) {
  constexpr double kTolerance = 0.002;
  for (const char* theme : {"dark", "light"})
    for (const ViewEntry& entry : viewRegistry()) {
      if (entry.name.toStdString() != GetParam()) continue;
      if (std::string(theme) == "light" && entry.name != "ring") continue;
      const QImage now = picture(entry, Theme::named(theme));
      const QString file = QString::fromStdString(kFolder) + entry.name + "-" + theme + ".png";
      if (qEnvironmentVariableIsSet("RINGSCOPE_WRITE_GOLDEN")) now.save(file);
      const QImage good = QImage(file).convertToFormat(QImage::Format_RGB32);
      ASSERT_FALSE(good.isNull()) << file.toStdString();
      const double off = difference(now, good);
      if (off > kTolerance)
        now.save(QString::fromStdString(testing::TempDir()) + entry.name + "-now.png");
      EXPECT_LE(off, kTolerance) << file.toStdString() << "; the picture is in "
                                 << testing::TempDir();
    }
}

INSTANTIATE_TEST_SUITE_P(Views, GoldenTest,
                         testing::Values("ring", "coverage", "positions", "merge", "memory",
                                         "timeline", "diff", "tensor", "doctor", "now", "curves",
                                         "query", "compare", "tokens"),
                         [](const auto& view) { return view.param; });

TEST(GoldenSetTest, HasAPictureOfEveryView) {
  for (const ViewEntry& entry : viewRegistry())
    EXPECT_FALSE(QImage(QString::fromStdString(kFolder) + entry.name + "-dark.png").isNull())
        << entry.name.toStdString();
}

}  // namespace
}  // namespace ringscope::viz
