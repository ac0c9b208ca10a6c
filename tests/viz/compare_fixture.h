// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QFileDialog>
#include <QLineEdit>
#include <QPushButton>
#include <QTimer>
#include <filesystem>

#include "tests/viz/drawn.h"
#include "tests/viz/indexed_trace.h"
#include "tests/viz/ring_runs.h"
#include "tests/viz/window_fixture.h"
#include "viz/views/compare/compare_cards.h"
#include "viz/views/compare/compare_painter.h"

namespace ringscope::viz {

/// The window with a recording of restarting position ids in the Compare view.
class CompareViewTest : public WindowTest {
 protected:
  CompareViewTest() {
    window.resize(1280, 1900);
    open(restartingPositions());
    window.showView("compare");
    view = qobject_cast<View*>(window.findChild<Stage*>()->currentWidget());
  }
  std::string recorded(const test::RingRun& run) {
    const std::string path = dir.file("other.rscope");
    test::recordFile(run, path);
    return path;
  }
  Comparison& comparison() { return window.viewing().comparison; }
  bool isDone() {
    return QTest::qWaitFor([&] { return comparison().state() == Comparison::State::kDone; }, 20000);
  }
  void compare(const test::RingRun& run = {}) {
    window.compareWith(QString::fromStdString(recorded(run)), {});
    ASSERT_TRUE(isDone());
    QTest::qWait(20);
    ASSERT_TRUE(shows("out", 0)) << "of the cursor's tensor, before one is chosen";
  }
  CompareScene scene() {
    CompareScene scene = makeCompareScene(*comparison().runs(), false,
                                          window.navigator().cursor().place.train_step, turned);
    scene.map = makeComparedMap(subject, comparison().map(), "", comparison().runs()->comparison);
    return scene;
  }
  /// Waits until the map of this tensor has been read and is shown.
  bool shows(const std::string& tensor, int layer) {
    subject = mapSubject({window.navigator().cursor().place.train_step, traces::Layer::of(layer)},
                         tensor);
    return QTest::qWaitFor(
        [&] {
          const auto& map = comparison().map();
          return map && map->tensor == tensor && map->place == subject.place;
        },
        10000);
  }
  /// Returns the middle of the points of the map that belong to a row.
  QPointF onMap(std::size_t line, std::size_t token) {
    const QRectF box = compareMap(page(), scene());
    ComparedMapPainter painter;
    const auto map = scene().map;
    const std::size_t row = line * map.map->tokens.size() + token;
    QRectF there;
    for (double y = box.top(); y < box.bottom(); y += 2)
      for (double x = box.left(); x < box.right(); x += 1) {
        const auto hit = painter.hit({x, y}, box, map);
        if (hit && hit->row == row) there |= QRectF(x, y, 1, 1);
      }
    EXPECT_FALSE(there.isEmpty()) << "no point has line " << line << ", token " << token;
    return there.center();
  }
  void pointAt(const QPointF& point) {
    QTest::mouseMove(view, point.toPoint());
    QTest::qWait(10);
  }
  std::string painted() {
    test::Drawn picture(view->size());
    view->render(&picture);
    return picture.words();
  }
  double cardsHead() { return CompareCards(view->QWidget::width(), scene().a, scene().b).head; }
  std::size_t rowFor(const std::string& name) {
    const auto places = scene().places;
    return static_cast<std::size_t>(std::ranges::find(places, name, &PlaceRow::name) -
                                    places.begin());
  }
  QRectF page() {
    const double height = compareHeight(view->QWidget::width(), scene());
    return {0, 0, double(view->QWidget::width()),
            std::max(height, double(view->QWidget::height()))};
  }
  void click(const QPointF& point) {
    QTest::mouseClick(view, Qt::LeftButton, {}, point.toPoint());
    QTest::qWait(10);
  }
  void clickRow(const std::string& name, double from_left = 200) {
    const QRectF box = compareRow(page(), scene(), rowFor(name));
    ASSERT_LT(box.bottom(), view->QWidget::height()) << "it is in sight";
    click({box.left() + from_left, box.center().y()});
  }
  void press(const QString& text) {
    for (auto* b : view->findChildren<QPushButton*>())
      if (b->text() == text && b->isVisible()) return QTest::mouseClick(b, Qt::LeftButton);
    ADD_FAILURE() << "no button " << text.toStdString();
  }
  /// Answers the next file dialog with this file.
  void answerDialog(const std::string& path) {
    QTimer::singleShot(0, &window, [path] {
      auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
      ASSERT_NE(dialog, nullptr);
      dialog->findChild<QLineEdit*>()->setText(QString::fromStdString(path));
      QMetaObject::invokeMethod(dialog, "accept");
    });
  }
  QString said() const { return view->accessibleDescription(); }

  View* view = nullptr;
  std::set<std::string> turned;
  MapSubject subject;
};

}  // namespace ringscope::viz
