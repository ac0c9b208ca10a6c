// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLineEdit>
#include <QRadioButton>
#include <QToolButton>

#include "tests/viz/window_fixture.h"
#include "viz/window/lesson_control.h"

namespace ringscope::viz {

/// A learner who does the tasks of lessons by mouse and keys.
class LessonLearner {
 public:
  explicit LessonLearner(MainWindow& window) : window_(window) {}

  LessonControl& control() { return *window_.findChild<LessonControl*>(); }
  LessonPanel& panel() { return *window_.page().lesson(); }
  const LessonProgress& progress() { return control().progress(); }
  bool isDone() { return progress().isDone(progress().stepIndex()); }

  template <typename Button>
  Button* button(const QString& text) {
    for (auto* each : panel().findChildren<Button*>())
      if (each->text() == text) return each;
    return nullptr;
  }
  QString words() {
    QStringList all;
    for (auto* label : panel().findChildren<QLabel*>())
      if (label->isVisible()) all << label->text();
    return all.join("\n");
  }

  /// Waits until the recording of the step is complete, and its view is on show.
  void awaitStep() {
    const LessonStep& step = progress().step();
    ASSERT_TRUE(QTest::qWaitFor(
        [&] {
          return !window_.session().live() && !window_.session().trace().moments().empty() &&
                 !words().contains("under way") && !words().contains("being opened") &&
                 !window_.player().playing();
        },
        60000))
        << step.title << ": " << words().toStdString();
    ASSERT_EQ(window_.page().stage()->shown().toStdString(), step.view) << step.title;
  }

  void select(const LessonTask& task) {
    const auto& settings = task.settings;
    if (settings.contains("view"))
      for (auto* tab : window_.page().stage()->findChildren<QToolButton*>("tab"))
        if (tab->text().toLower().toStdString() == settings.at("view"))
          QTest::mouseClick(tab, Qt::LeftButton);
    for (int moves = 0; moves < 40 && !isThere(settings); ++moves)
      QTest::keyClick(&window_, Qt::Key_Right);
    if (!settings.contains("rank")) return;
    const std::string& asked = settings.at("rank");
    const auto fact = asked.size() == 1 ? std::nullopt
                                        : readFact(asked, window_.session().trace(),
                                                   window_.navigator().cursor());
    const int rank = fact ? static_cast<int>(fact->number) : std::stoi(asked);
    QTest::keyClick(&window_, static_cast<Qt::Key>(Qt::Key_1 + rank));
  }

  /// Gives an answer: types a number, or clicks a word.
  void answer(const QString& answer) {
    if (progress().step().task.kind == LessonTask::Kind::kNumber) {
      auto* field = panel().findChild<QLineEdit*>();
      field->setFocus();
      field->selectAll();
      QTest::keyClicks(field, answer);
      QTest::keyClick(field, Qt::Key_Return);
      return;
    }
    auto* box = button<QRadioButton>(answer);
    ASSERT_NE(box, nullptr) << answer.toStdString();
    QTest::mouseClick(box, Qt::LeftButton, {}, {12, box->height() / 2});
    QTest::mouseClick(button<QPushButton>("Check"), Qt::LeftButton);
  }

  /// Chooses a setting in the run panel and runs again.
  void runWith(const LessonTask& task) {
    for (const auto& [key, value] : task.settings)
      for (auto* box : window_.findChildren<QComboBox*>())
        if (box->accessibleName().toLower().toStdString() == key)
          QTest::keyClicks(box, QString::fromStdString(value));
    QTest::keyClick(&window_, Qt::Key_F5);
    ASSERT_TRUE(QTest::qWaitFor([&] { return isDone(); }, 60000)) << words().toStdString();
  }

  void goOn() {
    const bool lesson_ends =
        progress().stepIndex() + 1 == progress().lesson().steps.size() && !progress().isLast();
    QTest::mouseClick(button<QPushButton>(lesson_ends ? "Next lesson" : "Next"), Qt::LeftButton);
  }

 private:
  bool isThere(const LessonSettings& settings) {
    const Place& place = window_.navigator().cursor().place;
    return (!settings.contains("ring_step") ||
            std::to_string(place.stage.value()) == settings.at("ring_step")) &&
           (!settings.contains("direction") ||
            traces::name(place.direction) == settings.at("direction"));
  }

  MainWindow& window_;
};

}  // namespace ringscope::viz
