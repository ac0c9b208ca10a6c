// SPDX-License-Identifier: GPL-3.0-or-later
// Entries of the glossary behind the words of the window.
#include <QCursor>
#include <QDialog>
#include <QHelpEvent>
#include <QLineEdit>
#include <QTextBrowser>
#include <QTimer>
#include <QToolTip>

#include "tests/viz/drawn.h"
#include "tests/viz/window_fixture.h"

namespace ringscope::viz {
namespace {

class GlossaryWindowTest : public WindowTest {
 protected:
  /// Returns the middle of words that a widget paints.
  static QPoint placeOf(QWidget& widget, const QString& words) {
    test::Drawn picture(widget.size());
    widget.render(&picture);
    const test::DrawnText* text = picture.find(words);
    EXPECT_NE(text, nullptr) << picture.words();
    if (!text) return {};
    const double letter = text->width / static_cast<double>(text->words.size());
    const double begin = letter * static_cast<double>(text->words.indexOf(words) + 1);
    return QPointF(text->at.x() + begin, text->ink.center().y()).toPoint();
  }
};

TEST_F(GlossaryWindowTest, F1ExplainsThePaintedWordUnderTheMouse) {
  open();
  window.page().stage()->show("ring");
  QWidget& view = *window.page().stage()->current();
  QCursor::setPos(view.mapToGlobal(placeOf(view, "rank")));
  QTest::keyClick(&window, Qt::Key_F1);
  EXPECT_TRUE(QToolTip::text().contains("one participant of a run"))
      << QToolTip::text().toStdString();
}

TEST_F(GlossaryWindowTest, F1ElsewhereListsTheKeys) {
  QCursor::setPos(window.mapToGlobal(QPoint(-40, -40)));
  QString title;
  QTimer::singleShot(0, &window, [&] {
    if (auto* dialog = qobject_cast<QDialog*>(QApplication::activeModalWidget())) {
      title = dialog->windowTitle();
      dialog->reject();
    }
  });
  QTest::keyClick(&window, Qt::Key_F1);
  EXPECT_EQ(title, "Keys");
}

TEST_F(GlossaryWindowTest, TheMouseThatRestsOnALabelShowsItsEntry) {
  QLabel label("exposed", &window);
  label.show();
  label.adjustSize();
  const QPoint middle = label.rect().center();
  QHelpEvent rests(QEvent::ToolTip, middle, label.mapToGlobal(middle));
  QCoreApplication::sendEvent(&label, &rests);
  EXPECT_TRUE(QToolTip::text().contains("waits for a message")) << QToolTip::text().toStdString();
}

TEST_F(GlossaryWindowTest, ATipOfItsOwnIsKept) {
  QLabel label("exposed", &window);
  label.setToolTip("time of this rank");
  label.show();
  label.adjustSize();
  const QPoint middle = label.rect().center();
  QHelpEvent rests(QEvent::ToolTip, middle, label.mapToGlobal(middle));
  QCoreApplication::sendEvent(&label, &rests);
  EXPECT_EQ(QToolTip::text(), "time of this rank");
}

TEST_F(GlossaryWindowTest, ShiftF1ShowsTheEntriesThatContainTheTypedWords) {
  QString all, some, none;
  QTimer::singleShot(0, &window, [&] {
    auto* dialog = qobject_cast<QDialog*>(QApplication::activeModalWidget());
    ASSERT_TRUE(dialog);
    const auto* page = dialog->findChild<QTextBrowser*>();
    auto* field = dialog->findChild<QLineEdit*>();
    all = page->toPlainText();
    QTest::keyClicks(field, "striped");
    some = page->toPlainText();
    QTest::keyClicks(field, " nowhere");
    none = page->toPlainText();
    dialog->reject();
  });
  QTest::keyClick(&window, Qt::Key_F1, Qt::ShiftModifier);
  EXPECT_TRUE(all.contains("neutral element"));
  EXPECT_TRUE(some.contains("every cp-th token"));
  EXPECT_FALSE(some.contains("neutral element"));
  EXPECT_TRUE(none.contains("No entry contains"));
}

}  // namespace
}  // namespace ringscope::viz
