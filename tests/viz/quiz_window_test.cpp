// SPDX-License-Identifier: GPL-3.0-or-later
// A quiz in the window, by mouse and keys: what a round hides, what it reveals, what it saves.
#include <unistd.h>

#include <QAbstractItemView>
#include <QLineEdit>
#include <QListWidget>
#include <QRadioButton>
#include <QTextEdit>
#include <QToolButton>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/viz/drawn.h"
#include "tests/viz/window_fixture.h"
#include "traces/analysis/mistakes/catalogue.h"
#include "viz/scene/memory_estimate.h"
#include "viz/window/quiz_control.h"

namespace ringscope::viz {
namespace {

class QuizWindowTest : public WindowTest {
 protected:
  QuizControl& quiz() { return *window.findChild<QuizControl*>(); }
  AnswerPanel& answers() { return *window.page().quiz().answers; }
  /// Returns what the seed's rounds are, as the window draws them.
  std::vector<QuizRound> roundsOf(int seed, int count) {
    traces::RunSpec base = RunConfig().spec();
    base.model.heads = ModelShape().heads;
    return drawRounds(base, static_cast<std::uint32_t>(seed), count);
  }
  /// Begins a quiz by its door, and waits until the run of the first round has ended.
  void begin(int seed, int count) {
    window.page().showStart(true);
    for (const auto& [name, value] :
         {std::pair("Seed of the quiz", seed), {"Rounds of the quiz", count}})
      for (auto* box : window.page().start()->findChildren<QSpinBox*>())
        if (box->accessibleName() == name) box->setValue(value);
    QTest::mouseClick(button("Start a quiz"), Qt::LeftButton);
    waitForRun();
  }
  void waitForRun() {
    ASSERT_TRUE(QTest::qWaitFor([&] { return !window.engine().active(); }, 40000));
    ASSERT_GT(window.session().trace().moments().size(), 4u) << status().toStdString();
    window.player().setPlaying(false);
  }
  void choose(const std::string& mistake) {
    const auto* known = traces::findMistake(mistake);
    for (auto* box : answers().findChildren<QRadioButton*>())
      if (box->text() == QString::fromStdString(known->label))
        QTest::mouseClick(box, Qt::LeftButton, {}, {12, box->height() / 2});
  }
  void reveal() {
    QTest::mouseClick(button("Reveal with the proof"), Qt::LeftButton);
    ASSERT_TRUE(QTest::qWaitFor([&] { return window.session().diagnosis().has_value(); }, 30000));
    QCoreApplication::processEvents();
  }
  QString panelWords() {
    QStringList all;
    for (auto* label : answers().findChildren<QLabel*>())
      if (label->isVisible()) all << label->text();
    return all.join("\n");
  }
  std::string csv() {
    std::stringstream text;
    text << std::ifstream(quiz().file().toStdString(), std::ios::binary).rdbuf();
    return text.str();
  }

  /// Returns everything that the window says to eyes and to screen readers, except the answers.
  QStringList allWords() {
    QStringList all{window.windowTitle()};
    for (QWidget* widget : window.findChildren<QWidget*>()) {
      if (!widget->isVisible() || qobject_cast<QRadioButton*>(widget)) continue;
      all << widget->accessibleName() << widget->accessibleDescription() << widget->toolTip();
      for (const char* property : {"text", "plainText", "placeholderText", "currentText"})
        all << widget->property(property).toString();
      const auto* items = qobject_cast<QAbstractItemView*>(widget);
      for (int row = 0; items && items->model() && row < items->model()->rowCount(); ++row)
        for (const int role : {Qt::DisplayRole, Qt::ToolTipRole, Qt::AccessibleTextRole})
          all << items->model()->index(row, 0).data(role).toString();
    }
    for (const QAction* action : window.actions()) all << action->text() << action->toolTip();
    test::Drawn picture(window.size());
    window.render(&picture, {}, {}, QWidget::DrawChildren);
    all << QString::fromStdString(picture.words());
    return all;
  }
  /// Removes the answers, which are painted too.
  void expectSilence(const QuizRound& round, const std::string& where) {
    for (auto* box : answers().findChildren<QRadioButton*>()) box->hide();
    // The results of earlier rounds are known.
    const QString words = allWords().join("\n").replace("✓ right", "").replace("✗ wrong", "");
    const auto* mistake = traces::findMistake(round.mistake);
    for (const std::string& name : {mistake->id, mistake->title, mistake->label, mistake->look_for})
      EXPECT_FALSE(words.contains(QString::fromStdString(name), Qt::CaseInsensitive))
          << where << " says " << name;
    for (const char* verdict : {"✓", "✗", "should be 0", "▲ "})
      EXPECT_FALSE(words.contains(verdict))
          << where << " has " << verdict << " in "
          << words.mid(std::max<qsizetype>(0, words.indexOf(verdict) - 40), 90).toStdString();
    for (auto* box : answers().findChildren<QRadioButton*>()) box->show();
  }
  /// Every view must hide what is wrong, one after another, in forward and in backward.
  void expectSilentViews(const QuizRound& round) {
    const auto& moments = window.session().trace().moments();
    for (const int moment : {1, static_cast<int>(moments.size()) / 2})
      for (const ViewEntry& entry : viewRegistry()) {
        window.navigator().setMoment(moment, 0.5);
        window.showView(entry.name);
        QTest::qWait(30);
        expectSilence(round, round.mistake + ", " + entry.name.toStdString());
        if (entry.judges) {
          EXPECT_NE(window.page().stage()->shown(), entry.name);
        }
      }
    QTest::keyClick(&window, Qt::Key_N);
    expectSilence(round, round.mistake + ", next divergence");
  }
};

TEST_F(QuizWindowTest, NothingInTheWindowNamesTheMistakeOfARound) {
  std::set<std::string> had;
  for (const int seed : {1, 2, 5, 9}) {
    const QuizRound round = roundsOf(seed, 1).front();
    had.insert(round.mistake);
    begin(seed, 1);
    if (HasFatalFailure()) return;
    EXPECT_FALSE(window.session().diagnosis());
    expectSilentViews(round);
    quiz().leave();
  }
  EXPECT_GE(had.size(), 3u);
}

TEST_F(QuizWindowTest, AnAnswerIsRevealedWithTheProofAndTheNextRoundIsSealedAgain) {
  const auto rounds = roundsOf(3, 2);
  begin(3, 2);
  EXPECT_FALSE(button("Answer")->isEnabled()) << "nothing is chosen";
  EXPECT_FALSE(button("Reveal with the proof")->isEnabled());
  choose(rounds[0].mistake);
  QTest::mouseClick(button("Answer"), Qt::LeftButton);
  expectSilence(rounds[0], "before the reveal");
  reveal();
  EXPECT_EQ(window.page().stage()->shown(), "doctor");
  const QString title = QString::fromStdString(traces::findMistake(rounds[0].mistake)->title);
  EXPECT_TRUE(panelWords().contains("✓ Right")) << panelWords().toStdString();
  EXPECT_TRUE(panelWords().contains(title));
  EXPECT_TRUE(allWords().join(" ").contains(QString::fromStdString(rounds[0].mistake)))
      << "the search finds the name where it is";
  ASSERT_FALSE(window.session().diagnosis()->findings().empty());
  EXPECT_TRUE(panelWords().contains(
      QString::fromStdString(window.session().diagnosis()->findings().front().evidence)))
      << panelWords().toStdString();
  QTest::mouseClick(button("Next round"), Qt::LeftButton);
  waitForRun();
  EXPECT_EQ(window.page().stage()->shown(), "ring");
  expectSilence(rounds[1], "the second round");
  QTest::keyClick(&window, Qt::Key_F3);
  EXPECT_TRUE(answers().isVisible());
}

/// Returns the arguments of all processes below this one, as `ps` shows them.
std::string argumentsOfChildren() {
  std::string all;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream stat(entry.path() / "stat");
    std::string pid, name, state, parent;
    if (!(stat >> pid >> name >> state >> parent) || parent != std::to_string(::getpid())) continue;
    for (const char* file : {"cmdline", "environ"}) {
      std::stringstream text;
      text << std::ifstream(entry.path() / file, std::ios::binary).rdbuf();
      all += text.str() + "\n";
    }
  }
  std::ranges::replace(all, '\0', ' ');
  return all;
}

TEST_F(QuizWindowTest, NoListOfProcessesShowsTheMistake) {
  const QuizRound round = roundsOf(3, 1).front();
  std::string seen;
  QObject::connect(&window.engine(), &EngineLink::started, &window,
                   [&] { seen = argumentsOfChildren(); });
  begin(3, 1);
  EXPECT_NE(seen.find(" train "), std::string::npos) << "the engine was seen";
  EXPECT_EQ(seen.find(round.mistake), std::string::npos) << seen;
  EXPECT_EQ(seen.find("--mistake"), std::string::npos);
}

TEST_F(QuizWindowTest, HintsWhereAndBecauseStandInTheSheet) {
  const auto rounds = roundsOf(3, 1);
  begin(3, 1);
  const auto tool = [&](const QString& text) {
    for (auto* each : window.page().quiz().panel->findChildren<QToolButton*>())
      if (each->text() == text) QTest::mouseClick(each, Qt::LeftButton);
  };
  tool("Show hint 1");
  tool("Show hint 2");
  expectSilence(rounds[0], "after two hints");
  for (auto* box : answers().findChildren<QComboBox*>())
    if (box->accessibleName() == "Where? Rank") QTest::keyClicks(box, "0");
  QTest::keyClicks(answers().findChild<QLineEdit*>(), "the norm, I think");
  choose(rounds[0].mistake);
  QTest::mouseClick(button("Answer"), Qt::LeftButton);
  EXPECT_NE(csv().find(",2,rank 0,,\"the norm, I think\",2"), std::string::npos) << csv();
  reveal();
  ASSERT_FALSE(window.session().diagnosis()->findings().empty());
  const bool right = window.session().diagnosis()->findings().front().rank == WorldRank::of(0);
  EXPECT_NE(csv().find(right ? ",rank 0,right," : ",rank 0,wrong,"), std::string::npos) << csv();
  EXPECT_TRUE(panelWords().contains(right ? "right place" : "another place"));
}

TEST_F(QuizWindowTest, ARoundEndsWithoutAnAnswerWhenItsTimeIsOverOrItIsSkipped) {
  quiz().start(3, 2, 1);
  waitForRun();
  ASSERT_TRUE(QTest::qWaitFor([&] { return csv().find("no answer") != std::string::npos; }, 20000));
  ASSERT_NE(button("Answered"), nullptr) << "no answer is taken any more";
  EXPECT_TRUE(button("Reveal with the proof")->isEnabled());
  quiz().start(3, 1, 0);
  waitForRun();
  for (auto* each : window.page().quiz().panel->findChildren<QToolButton*>())
    if (each->text() == "Skip") QTest::mouseClick(each, Qt::LeftButton);
  EXPECT_NE(csv().find("no answer"), std::string::npos);
  EXPECT_TRUE(quiz().isRunning());
}

TEST_F(QuizWindowTest, KeysAloneAnswerARound) {
  begin(4, 1);
  auto boxes = answers().findChildren<QRadioButton*>();
  boxes.front()->setFocus();
  QTest::keyClick(boxes.front(), Qt::Key_Return);
  QTest::keyClick(boxes.front(), Qt::Key_Down);
  EXPECT_TRUE(boxes[1]->isChecked());
  ASSERT_TRUE(button("Answer")->isEnabled());
  button("Answer")->setFocus();
  QTest::keyClick(button("Answer"), Qt::Key_Return);
  button("Reveal with the proof")->setFocus();
  QTest::keyClick(button("Reveal with the proof"), Qt::Key_Return);
  ASSERT_TRUE(QTest::qWaitFor([&] { return window.session().diagnosis().has_value(); }, 30000));
  ASSERT_EQ(QApplication::focusWidget(), button("Finish the quiz"));
  QTest::keyClick(QApplication::focusWidget(), Qt::Key_Return);
  EXPECT_FALSE(quiz().isRunning());
  EXPECT_FALSE(answers().isVisible());
}

TEST_F(QuizWindowTest, EvidenceIsPinnedOnceAndLeadsBackToItsPlace) {
  begin(3, 1);
  window.showView("merge");
  window.navigator().setMoment(2, 0);
  window.navigator().selectRank(WorldRank::of(2));
  QTest::keyClick(&window, Qt::Key_D, Qt::ControlModifier);
  QTest::keyClick(&window, Qt::Key_D, Qt::ControlModifier);
  auto* list = window.page().quiz().panel->findChild<QListWidget*>();
  ASSERT_EQ(list->count(), 1);
  EXPECT_TRUE(list->item(0)->text().startsWith("Merge · ")) << list->item(0)->text().toStdString();
  EXPECT_TRUE(list->item(0)->text().contains("rank 2"));
  window.showView("memory");
  window.navigator().setMoment(0, 0);
  QTest::mouseClick(list->viewport(), Qt::LeftButton, {},
                    list->visualItemRect(list->item(0)).center());
  EXPECT_EQ(window.page().stage()->shown(), "merge");
  EXPECT_EQ(window.navigator().moment(), 2);
}

TEST_F(QuizWindowTest, EndingEarlyKeepsTheSheetAndOpensTheSeal) {
  const auto rounds = roundsOf(3, 2);
  begin(3, 2);
  for (auto* b : window.page().quiz().panel->findChildren<QToolButton*>())
    if (b->text() == "End quiz") QTest::mouseClick(b, Qt::LeftButton);
  EXPECT_FALSE(quiz().isRunning());
  EXPECT_FALSE(window.navigator().cursor().sealed);
  const std::string text = csv();
  EXPECT_NE(text.find(rounds[0].mistake + ",no answer,"), std::string::npos) << text;
  EXPECT_TRUE(QTest::qWaitFor([&] { return window.session().diagnosis().has_value(); }, 30000));
  window.showView("doctor");
  EXPECT_EQ(window.page().stage()->shown(), "doctor");
}

TEST_F(QuizWindowTest, ClosingTheWindowNotesTheRoundWithoutAnAnswer) {
  begin(3, 2);
  window.close();
  EXPECT_NE(csv().find("no answer"), std::string::npos);
}

TEST_F(QuizWindowTest, AnotherRecordingEndsTheQuiz) {
  begin(3, 2);
  open(restartingPositions());
  EXPECT_FALSE(quiz().isRunning());
  EXPECT_FALSE(window.navigator().cursor().sealed);
  EXPECT_NE(csv().find("no answer"), std::string::npos);
  EXPECT_FALSE(window.session().diagnosis()->findings().empty());
}

}  // namespace
}  // namespace ringscope::viz
