// SPDX-License-Identifier: GPL-3.0-or-later
// The lessons: their files, their facts, and a learner who plays them over the sample recording.
#include "viz/lessons/lesson.h"

#include "tests/support/expect_error.h"
#include "tests/viz/lesson_learner.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/core/resources.h"

namespace ringscope::viz {
namespace {

const std::string kWhole =
    "# Title\n\nA sentence.\n\n## Step\n\nText.\n\n<!-- view: ring rank=1 -->\n"
    "<!-- expect: selected rank=2 -->\n<!-- hint: Press 3. -->\n";

/// Returns the message about a lesson in which one text is replaced.
std::string problem(const std::string& from, const std::string& to) {
  std::string text = kWhole;
  text.replace(text.find(from), from.size(), to);
  try {
    parseLesson("x", text, "x.md");
  } catch (const Error& error) {
    return error.what();
  }
  return "no problem";
}

TEST(LessonFile, HasATitleASentenceAndSteps) {
  const Lesson lesson = parseLesson("x", kWhole, "x.md");
  EXPECT_EQ(lesson.title, "Title");
  EXPECT_EQ(lesson.sentence, "A sentence.");
  ASSERT_EQ(lesson.steps.size(), 1u);
  const LessonStep& step = lesson.steps.front();
  EXPECT_EQ(step.text, "Text.");
  EXPECT_EQ(step.hint, "Press 3.");
  EXPECT_EQ(step.view, "ring");
  EXPECT_EQ(step.place.at("rank"), "1");
  EXPECT_EQ(step.task.settings.at("rank"), "2");
  EXPECT_EQ(step.line, 5);
}

TEST(LessonFile, ABrokenLineIsReportedWithItsNumber) {
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {"# Title", "", "x.md:1: the title is missing"},
      {"A sentence.", "", "x.md:1: the sentence under the title is missing"},
      {"Text.", "", "x.md:5: the step has no text"},
      {"<!-- view: ring rank=1 -->", "", "x.md:5: the step has no view"},
      {"<!-- hint: Press 3. -->", "", "x.md:5: the step has no hint"},
      {"<!-- expect: selected rank=2 -->", "", "x.md:5: the step has no task"},
      {"view: ring", "vew: ring", "x.md:9: there is no key 'vew'"},
      {"rank=1 -->", "rank=1", "x.md:9: a comment must have the form"},
      {"rank=1", "rank", "x.md:9: 'rank' must have the form KEY=VALUE"},
      {"rank=1", "seat=1", "x.md:9: there is no part of a place 'seat'"},
      {"rank=2", "rank=two", "x.md:10: 'rank=two' is neither a number nor a fact"},
      {"selected rank=2", "picked rank=2", "x.md:10: there is no task 'picked'"},
      {"selected rank=2", "selected", "x.md:10: 'selected' needs a setting or a fact"},
      {"selected rank=2", "number of_pages", "x.md:10: there is no fact 'of_pages'"},
      {"selected rank=2", "choice largest_memory kv", "x.md:10: a choice needs at least two"},
  };
  for (const auto& [from, to, message] : cases)
    EXPECT_TRUE(problem(from, to).starts_with(message)) << problem(from, to);
  EXPECT_TRUE(problem("## Step\n", "").find("below the heading of a step") != std::string::npos);
}

TEST(LessonFile, AllSixParseAndAskEightQuestions) {
  const auto& lessons = allLessons();
  ASSERT_EQ(lessons.size(), 6u);
  int questions = 0;
  for (const Lesson& lesson : lessons) {
    EXPECT_TRUE(lesson.steps.back().task.isQuestion()) << lesson.id;
    EXPECT_TRUE(lesson.steps.front().run || lesson.steps.front().opens_sample) << lesson.id;
    for (const LessonStep& step : lesson.steps) {
      questions += step.task.isQuestion();
      const auto& views = viewRegistry();
      EXPECT_TRUE(std::ranges::any_of(views, [&](const ViewEntry& view) {
        return view.name.toStdString() == step.view;
      })) << step.view;
    }
  }
  EXPECT_EQ(questions, 8);
}

TEST(LessonFacts, HaveTheNumbersThatTheViewsOfTheSampleShow) {
  const auto trace = traces::openTrace(traces::resourcePath("sample/missing_position_ids.rscope"));
  Cursor cursor;
  cursor.place = {0, Layer::of(0), traces::Direction::kForward, RingStep::of(1)};
  cursor.rank = WorldRank::of(2);
  const std::pair<const char*, const char*> cases[] = {{"ring_steps", "4"},
                                                       {"kv_block_kib", "8 KiB"},
                                                       {"first_position", "0"},
                                                       {"expected_first_position", "16"},
                                                       {"balance_efficiency", "100 %"},
                                                       {"longest_waiting_rank", "1"},
                                                       {"largest_memory", "optimizer"}};
  for (const auto& [name, word] : cases) {
    const auto fact = readFact(name, *trace, cursor);
    ASSERT_TRUE(fact) << name;
    EXPECT_EQ(fact->word, word) << name;
  }
  EXPECT_THROW(readFact("of_pages", *trace, cursor), Error);
  for (const std::string& name : factNames())
    EXPECT_FALSE(readFact(name, traces::Trace(), cursor)) << name;
}

TEST(LessonFacts, AnAnswerMayHaveAUnitAndTheRoundingOfTheView) {
  LessonTask number;
  number.kind = LessonTask::Kind::kNumber;
  const LessonFact size{5.83, 0.1, "5.8 MiB"};
  for (const char* right : {"5.8", "5,8", "5.83", "5.8 MiB"})
    EXPECT_TRUE(isRight(number, size, right)) << right;
  for (const char* wrong : {"", "MiB", "6", "58"}) EXPECT_FALSE(isRight(number, size, wrong));
  LessonTask choice;
  choice.kind = LessonTask::Kind::kChoice;
  EXPECT_TRUE(isRight(choice, {0, 0, "kv"}, "kv"));
  EXPECT_FALSE(isRight(choice, {0, 0, "kv"}, "q"));
}

/// A window without an engine, in which lessons open the sample recording.
class LessonWindowTest : public testing::Test {
 protected:
  LessonWindowTest() : window(""), learner(window) {
    window.resize(1280, 720);
    window.page().showStart(true);
    window.show();
    EXPECT_TRUE(QTest::qWaitForWindowExposed(&window));
    QApplication::setActiveWindow(&window);
    for (auto* door : window.page().start()->findChildren<QToolButton*>())
      if (door->text() == "Lessons") QTest::mouseClick(door, Qt::LeftButton);
  }
  MainWindow window;
  LessonLearner learner;
};

TEST_F(LessonWindowTest, TicksAStepOnlyWhenItIsDone) {
  learner.awaitStep();
  EXPECT_TRUE(learner.panel().isVisible());
  EXPECT_FALSE(learner.isDone());
  QTest::keyClick(&window, Qt::Key_2);
  EXPECT_FALSE(learner.isDone()) << "another rank was asked for";
  window.player().setPlaying(true);
  QTest::keyClick(&window, Qt::Key_3);
  EXPECT_FALSE(learner.isDone()) << "the player moves the cursor";
  window.player().setPlaying(false);
  window.navigator().setMoment(0, 0.5);
  EXPECT_TRUE(learner.isDone());
  EXPECT_TRUE(learner.words().contains("✓  Look at another rank")) << learner.words().toStdString();
}

TEST_F(LessonWindowTest, AHintIsShownWhenItIsAskedFor) {
  learner.awaitStep();
  EXPECT_FALSE(learner.words().contains("Hint:"));
  QTest::mouseClick(learner.button<QToolButton>("Hint"), Qt::LeftButton);
  EXPECT_TRUE(learner.words().contains("Hint: Click the card of rank 2"));
  learner.goOn();
  EXPECT_FALSE(learner.words().contains("Hint:"));
}

TEST_F(LessonWindowTest, EveryLessonThatNeedsNoEngineIsPlayedToItsEnd) {
  const std::map<std::string, const char*> answers = {{"ring_steps", "4"},
                                                      {"kv_block_kib", "8"},
                                                      {"expected_first_position", "24"},
                                                      {"largest_memory", "optimizer"},
                                                      {"peak_memory_mib", "5.8"}};
  for (std::size_t lesson = 0; lesson < 6; ++lesson) {
    if (lesson == 3) {  // its runs need the engine
      EXPECT_TRUE(learner.words().contains("needs the engine")) << learner.words().toStdString();
      while (learner.progress().lessonIndex() == 3) learner.goOn();
      continue;
    }
    while (learner.progress().lessonIndex() == lesson) {
      learner.awaitStep();
      if (HasFatalFailure()) return;
      const LessonStep& now = learner.progress().step();
      ASSERT_FALSE(learner.isDone()) << now.title;
      if (now.task.isQuestion()) {
        learner.answer(now.task.fact == "largest_memory" ? "weights" : "977");
        EXPECT_FALSE(learner.isDone()) << now.title;
        EXPECT_TRUE(learner.words().contains("Look again")) << now.title;
        const auto known = answers.find(now.task.fact);
        learner.answer(
            known == answers.end()
                ? QString::fromStdString(askedFact(now, window.session().trace()).value().word)
                : QString(known->second));
      } else {
        learner.select(now.task);
      }
      ASSERT_TRUE(learner.isDone()) << now.title << ": " << learner.words().toStdString();
      if (learner.progress().isLast()) break;
      learner.goOn();
    }
  }
  EXPECT_TRUE(learner.progress().isLast());
  EXPECT_FALSE(learner.button<QPushButton>("Next")->isEnabled());
}

TEST_F(LessonWindowTest, ClosingBringsTheInspectorBack) {
  learner.awaitStep();
  QTest::mouseClick(learner.button<QToolButton>("Close"), Qt::LeftButton);
  EXPECT_FALSE(learner.panel().isVisible());
  EXPECT_FALSE(window.session().trace().moments().empty());
  QTest::keyClick(&window, Qt::Key_3);
  EXPECT_FALSE(learner.isDone());
}

}  // namespace
}  // namespace ringscope::viz
