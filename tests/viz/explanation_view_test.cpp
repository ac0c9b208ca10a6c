// SPDX-License-Identifier: GPL-3.0-or-later
// The explanation beside a finding, and the page that is made from it.
#include <QFileDialog>
#include <QLineEdit>
#include <QListView>
#include <QScrollBar>
#include <QTimer>
#include <filesystem>

#include "tests/support/run_program.h"
#include "tests/viz/window_fixture.h"
#include "viz/views/doctor/explanation_pane.h"
#include "viz/window/application.h"

namespace ringscope::viz {
namespace {

namespace fs = std::filesystem;

class ExplanationViewTest : public WindowTest {
 protected:
  void openDoctor(const test::RingRun& run = restartingPositions()) {
    open(run);
    window.showView("doctor");
    QTest::qWait(20);
    list = window.findChild<QListView*>("cards");
    pane = window.findChild<ExplanationPane*>();
    text = pane->findChild<QTextBrowser*>();
  }
  /// Answers the next file dialog.
  static void answerWith(const std::string& path) {
    QTimer::singleShot(200, [path] {
      auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
      ASSERT_NE(dialog, nullptr);
      dialog->findChild<QLineEdit*>()->setText(QString::fromStdString(path));
      QMetaObject::invokeMethod(dialog, "accept");
    });
  }

  QListView* list = nullptr;
  ExplanationPane* pane = nullptr;
  QTextBrowser* text = nullptr;
};

TEST_F(ExplanationViewTest, AFindingIsExplainedUnderTheListOrBesideIt) {
  openDoctor();
  for (const auto& [size, beside] :
       {std::pair(QSize(1280, 720), false), {QSize(2000, 1100), true}}) {
    window.resize(size);
    QTest::qWait(30);
    ASSERT_TRUE(pane->isVisible());
    const QRect a = list->geometry(), b = pane->geometry();
    EXPECT_FALSE(a.intersects(b));
    EXPECT_EQ(b.left() > a.right(), beside);
    EXPECT_EQ(b.top() > a.bottom(), !beside);
    EXPECT_TRUE(pane->parentWidget()->rect().contains(b));
  }
  const QString words = text->toPlainText();
  for (const char* part :
       {"What happens", "Each rank numbers its own tokens", "Positions at step 0", "How to fix it",
        "PyTorch", "context_parallel", "Reported in"})
    EXPECT_TRUE(words.contains(part)) << part;
  EXPECT_EQ(text->horizontalScrollBar()->maximum(), 0) << "nothing lies outside";
}

TEST_F(ExplanationViewTest, CardsKeepTheirHeightForAnyRoom) {
  openDoctor();
  for (const int width : {1280, 2000, 1500, 2400}) {
    window.resize(width, 900);
    QTest::qWait(30);
    const auto rect = [&](int row) { return list->visualRect(list->model()->index(row, 0)); };
    for (int row = 0; row + 1 < list->model()->rowCount(); ++row) {
      EXPECT_EQ(rect(row).bottom() + 1, rect(row + 1).top()) << width << " row " << row;
      EXPECT_EQ(rect(row).height(), list->sizeHintForIndex(list->model()->index(row, 0)).height())
          << width << " row " << row;
    }
  }
}

TEST_F(ExplanationViewTest, AClearRuleHasNoExplanation) {
  openDoctor();
  const int height = list->height();
  QTest::keyClick(list, Qt::Key_Down);
  QTest::qWait(20);
  EXPECT_FALSE(pane->isVisible());
  EXPECT_GT(list->height(), height) << "the list has all the room";
  QTest::keyClick(list, Qt::Key_Up);
  QTest::qWait(20);
  EXPECT_TRUE(pane->isVisible());
  open();
  QTest::qWait(20);
  EXPECT_FALSE(pane->isVisible()) << "a run without a mistake";
}

TEST_F(ExplanationViewTest, KeysReachItScrollItAndAreElseTheWindows) {
  openDoctor();
  window.resize(1280, 720);
  QTest::qWait(30);
  list->setFocus();
  QTest::keyClick(list, Qt::Key_Tab);
  for (const char* name : {"Copy finding", "Save as PDF …"}) {
    EXPECT_TRUE(button(name)->hasFocus()) << name;
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
  }
  ASSERT_TRUE(text->hasFocus());
  const int before = text->verticalScrollBar()->value();
  QTest::keyClick(text, Qt::Key_PageDown);
  const int page = text->verticalScrollBar()->value();
  EXPECT_GT(page, before);
  QTest::keyClick(text, Qt::Key_Down);
  EXPECT_GT(text->verticalScrollBar()->value(), page);
  window.player().setPlaying(false);
  QTest::keyClick(text, Qt::Key_Space);
  EXPECT_TRUE(window.player().playing());
  window.player().setPlaying(false);
}

TEST_F(ExplanationViewTest, ItsPictureFollowsTheTheme) {
  openDoctor();
  const auto picture = [&] {
    return text->document()
        ->resource(QTextDocument::ImageResource, QUrl("picture:view"))
        .value<QImage>()
        .pixelColor(4, 4);
  };
  for (const char* theme : {"light", "dark"}) {
    window.setTheme(Theme::named(theme));
    QTest::qWait(20);
    EXPECT_EQ(picture(), Theme::named(theme).background) << theme;
  }
  window.showView("ring");
  window.setTheme(Theme::named("light"));
  window.showView("doctor");
  QTest::qWait(20);
  EXPECT_EQ(picture(), Theme::named("light").background) << "changed while another view was shown";
}

TEST_F(ExplanationViewTest, ItIsSavedAsAPageOrSaidWhyNot) {
  openDoctor();
  auto* save = pane->findChild<QPushButton*>();
  const std::string path = dir.file("page.pdf");
  answerWith(path);
  QTest::mouseClick(save, Qt::LeftButton);
  QApplication::processEvents();
  EXPECT_NE(test::readContent(path).find("/Count 1\n"), std::string::npos);
  QString problem;
  auto& app = *static_cast<Application*>(QApplication::instance());
  app.show_problem = [&](const QString& said) { problem = said; };
  answerWith("/proc/page.pdf");
  QTest::mouseClick(save, Qt::LeftButton);
  QApplication::processEvents();
  app.show_problem = {};
  EXPECT_TRUE(problem.contains("cannot be written")) << problem.toStdString();
}

}  // namespace
}  // namespace ringscope::viz
