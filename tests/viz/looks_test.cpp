// SPDX-License-Identifier: GPL-3.0-or-later
// The appearance of controls: their text has room, an active control looks active, and nothing old
// remains.
#include <QCheckBox>
#include <QComboBox>
#include <QFileDialog>
#include <QLineEdit>
#include <QScreen>
#include <QSpinBox>
#include <QTreeView>

#include "tests/viz/small_run.h"
#include "tests/viz/window_fixture.h"
#include "viz/kit/tick_box.h"
#include "viz/style/palette.h"
#include "viz/window/break_box.h"

namespace ringscope::viz {
namespace {

class LooksTest : public WindowTest {
 protected:
  template <typename Widget>
  Widget* named(const QString& name) {
    for (auto* widget : window.findChildren<Widget*>())
      if (widget->accessibleName() == name) return widget;
    return nullptr;
  }
};

/// Returns the largest contrast between the ink of a picture and its ground.
double boldest(const QImage& image, const QColor& ground) {
  double most = 1;
  for (int y = 4; y < image.height() - 4; ++y)
    for (int x = 4; x < image.width() - 4; ++x)
      most = std::max(most, contrast(image.pixelColor(x, y), ground));
  return most;
}

TEST_F(LooksTest, TheNumbersOfTheMeshHaveRoom) {
  window.resize(1280, 720);
  for (const char* name : {"Ranks", "Data parallel ranks", "Tensor parallel ranks"}) {
    auto* box = named<QSpinBox>(name);
    ASSERT_NE(box, nullptr) << name;
    const auto* edit = box->findChild<QLineEdit*>();
    EXPECT_GE(edit->width(), edit->fontMetrics().horizontalAdvance("16") + 4) << name;
  }
}

TEST_F(LooksTest, PlayAndHoldMoveNothing) {
  open();
  auto* axis = named<QToolButton>("Time axis");
  auto* slider = named<QSlider>("Ring step");
  ASSERT_NE(axis, nullptr);
  window.navigator().setMoment(0, 0);
  const QRect before = axis->geometry(), slider_before = slider->geometry();
  for (const double speed : {0.25, 1.0, 8.0}) {
    window.player().setSpeed(speed);
    window.player().setPlaying(true);
    QTest::qWait(20);
    EXPECT_EQ(axis->geometry(), before);
    window.player().setPlaying(false);
  }
  window.navigator().setMoment(static_cast<int>(window.session().trace().moments().size()) - 1, 1);
  QTest::qWait(20);
  EXPECT_EQ(axis->geometry(), before);
  EXPECT_EQ(slider->geometry(), slider_before);
}

TEST_F(LooksTest, TheBreakBoxKeepsItsChoiceAcrossRuns) {
  auto* box = window.findChild<BreakBox*>();
  named<QComboBox>("Break at layer")->setCurrentIndex(2);
  named<QComboBox>("Break in direction")->setCurrentText("backward");
  named<QComboBox>("Break at ring step")->setCurrentText("3");
  for (auto* tick : box->findChildren<QCheckBox*>())
    if (tick->text() == "Break at a place") tick->setChecked(true);
  const auto wished = box->request();
  ASSERT_TRUE(wished.at && wished.at->stage == RingStep::of(3));
  // A run starts: first only its settings are known, then ring steps arrive, then it stops.
  auto trace = std::make_shared<traces::Trace>();
  traces::RunSpec run;
  run.cp = 4;
  run.model.layers = 2;
  trace->add(run);
  window.session().open(trace, "run", true);
  window.session().addChunk(test::makeChunk(test::eventsOfStep(0, 4, 2)));
  window.session().publish();
  window.session().setLive(false);
  EXPECT_EQ(box->request().at->layer, wished.at->layer);
  EXPECT_EQ(box->request().at->direction, wished.at->direction);
  EXPECT_EQ(box->request().at->stage, wished.at->stage);
  box->setRanges(1, 2);
  EXPECT_FALSE(box->request().at->stage) << "no other number in the place of one that is not there";
  box->setRanges(2, 4);
  EXPECT_EQ(box->request().at->stage, wished.at->stage);
  EXPECT_EQ(box->request().at->layer, wished.at->layer);
}

TEST_F(LooksTest, FileDialogsAreOfTheTheme) {
  for (const Theme& theme : Theme::all()) {
    window.setTheme(theme);
    QFileDialog dialog(&window, "Open a recording", QString::fromStdString(dir.file("")));
    dialog.setOption(QFileDialog::DontUseNativeDialog);
    dialog.show();
    QTest::qWait(30);
    for (auto* list : dialog.findChildren<QAbstractItemView*>()) {
      if (!list->isVisible()) continue;
      const QImage empty = list->viewport()->grab().toImage();
      const QColor ground = empty.pixelColor(empty.width() - 3, empty.height() - 3);
      EXPECT_GE(contrast(theme.text, ground), 4.5)
          << theme.name.toStdString() << " " << list->metaObject()->className() << " "
          << ground.name().toStdString();
    }
    EXPECT_GE(
        contrast(dialog.palette().color(QPalette::Text), dialog.palette().color(QPalette::Base)),
        4.5);
  }
}

TEST_F(LooksTest, ADisabledButtonLooksDisabledInEveryTheme) {
  for (const Theme& theme : Theme::all())
    for (const char* kind : {"", "primary"}) {
      QPushButton button("Ring step");
      button.setObjectName(kind);
      button.setStyleSheet(themeStyleSheet(theme));
      button.resize(110, 30);
      button.setEnabled(false);
      QToolButton checked;
      checked.setText("Follow");
      checked.setCheckable(true);
      checked.setChecked(true);
      checked.setStyleSheet(themeStyleSheet(theme));
      checked.resize(110, 30);
      checked.setEnabled(false);
      for (QWidget* off : {static_cast<QWidget*>(&button), static_cast<QWidget*>(&checked)}) {
        off->setAttribute(Qt::WA_DontShowOnScreen);
        QImage image(off->size(), QImage::Format_RGB32);
        image.fill(theme.panel);
        off->render(&image);
        EXPECT_LT(boldest(image, theme.panel), 0.5 * contrast(theme.text, theme.panel))
            << theme.name.toStdString() << " " << kind;
      }
      EXPECT_GE(contrast(disabledColor(theme), theme.panel), 2.5);
    }
}

TEST_F(LooksTest, ACheckedBoxHasATick) {
  for (const Theme& theme : Theme::all()) {
    window.setTheme(theme);
    TickBox box("Break", &window);
    box.setGeometry(0, 0, 120, 28);
    box.setChecked(true);
    box.show();
    QTest::qWait(10);
    const QImage image = box.grab().toImage();
    int ink = 0;
    for (int y = 0; y < image.height(); ++y)
      for (int x = 2; x < 13; ++x)
        ink += contrast(image.pixelColor(x, y), theme.accent) >
                   0.7 * contrast(theme.on_accent, theme.accent) &&
               contrast(image.pixelColor(x, y), theme.on_accent) < 1.6;
    EXPECT_GT(ink, 4) << theme.name.toStdString();
  }
}

/// The pixels where the screen differs from a fresh drawing of the window.
struct LeftOver {
  int pixels = 0;  ///< -1: this screen cannot be read
  QRect bounds;
};

std::ostream& operator<<(std::ostream& to, const LeftOver& of) {
  return to << of.pixels << " pixels in x " << of.bounds.left() << " to " << of.bounds.right()
            << ", y " << of.bounds.top() << " to " << of.bounds.bottom();
}

LeftOver leftOver(MainWindow& window) {
  const QImage shown = window.screen()->grabWindow(window.winId()).toImage();
  const QImage fresh = window.grab().toImage().convertToFormat(shown.format());
  if (shown.size() != fresh.size()) return {-1, {}};
  constexpr int kEdge = 24;
  LeftOver off;
  for (int y = 0; y < shown.height(); ++y)
    for (int x = 0; x < shown.width(); ++x) {
      const QRgb a = shown.pixel(x, y), b = fresh.pixel(x, y);
      const int distance = std::abs(qRed(a) - qRed(b)) + std::abs(qGreen(a) - qGreen(b)) +
                           std::abs(qBlue(a) - qBlue(b));
      if (distance <= kEdge) continue;
      ++off.pixels;
      off.bounds |= QRect(x, y, 1, 1);
    }
  return off;
}

TEST_F(LooksTest, AResizeLeavesNoOldPixels) {
  constexpr int kFew = 20;  // a packet covers more than a thousand, a line some hundreds
  open();
  Navigator& at = window.navigator();
  at.setMoment(1, 0.3);
  for (const QSize size : {QSize(1280, 720), QSize(1600, 900), QSize(1280, 800)}) {
    window.resize(size);
    QTest::qWait(50);
    at.setMoment(1, 0.3);
    QTest::qWait(50);
    at.setMoment(1, 0.35);
    if (leftOver(window).pixels < 0) GTEST_SKIP() << "this screen cannot be read";
    EXPECT_TRUE(QTest::qWaitFor([&] { return leftOver(window).pixels < kFew; }, 3000))
        << size.width() << ": " << leftOver(window);
  }
}

/// A widget that is declared opaque gets no background. A pixel that it does not draw would keep
/// its old content.
TEST_F(LooksTest, OpaqueWidgetsDrawEveryPixel) {
  open();
  window.navigator().setMoment(1, 0.3);
  int opaque = 0;
  for (const QSize size : {QSize(1280, 720), QSize(1367, 861)}) {
    window.resize(size);
    QTest::qWait(50);
    for (QWidget* widget : window.findChildren<QWidget*>()) {
      if (!widget->testAttribute(Qt::WA_OpaquePaintEvent) || !widget->isVisible()) continue;
      if (QString(widget->metaObject()->className()).startsWith('Q')) continue;
      ++opaque;
      QImage dark(widget->size(), QImage::Format_RGB32), odd(widget->size(), QImage::Format_RGB32);
      dark.fill(Qt::black);
      odd.fill(Qt::magenta);
      widget->render(&dark, {}, {}, {});
      widget->render(&odd, {}, {}, {});
      EXPECT_EQ(dark, odd) << widget->accessibleName().toStdString() << " at " << size.width();
    }
  }
  EXPECT_GE(opaque, 6);  // the ring, the inspector and the timeline, twice
}

}  // namespace
}  // namespace ringscope::viz
