// SPDX-License-Identifier: GPL-3.0-or-later
// The lessons with runs of the engine, by mouse and keys.
#include "tests/viz/lesson_learner.h"

namespace ringscope::viz {
namespace {

TEST_F(WindowTest, EveryLessonIsPlayedToItsEndOverItsOwnRuns) {
  LessonLearner learner(window);
  window.page().showStart(true);
  for (auto* door : window.page().start()->findChildren<QToolButton*>())
    if (door->text() == "Lessons") QTest::mouseClick(door, Qt::LeftButton);
  while (true) {
    learner.awaitStep();
    if (HasFatalFailure()) return;
    const LessonStep step = learner.progress().step();
    ASSERT_FALSE(learner.isDone()) << step.title;
    if (step.task.isQuestion())
      learner.answer(
          QString::fromStdString(askedFact(step, window.session().trace()).value().word));
    else if (step.task.kind == LessonTask::Kind::kRun)
      learner.runWith(step.task);
    else
      learner.select(step.task);
    ASSERT_TRUE(learner.isDone()) << step.title << ": " << learner.words().toStdString();
    if (step.task.fact == "balance_efficiency") {
      EXPECT_TRUE(learner.words().contains("Right: 100 %")) << learner.words().toStdString();
    }
    if (learner.progress().isLast()) break;
    learner.goOn();
  }
  for (std::size_t lesson = 0; lesson < 6; ++lesson)
    EXPECT_TRUE(learner.progress().isLessonDone(lesson)) << lesson;
}

}  // namespace
}  // namespace ringscope::viz
