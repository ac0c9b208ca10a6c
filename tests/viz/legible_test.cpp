// SPDX-License-Identifier: GPL-3.0-or-later
// Every word in a window of 1280 × 720 is legible: none is cut, covered, or overlaps another.
#include "tests/viz/legible.h"

#include <filesystem>
#include <fstream>

#include "tests/support/places.h"
#include "tests/viz/ring_runs.h"
#include "tests/viz/window_fixture.h"
#include "viz/kit/elided_label.h"
#include "viz/views/compare/compare_cards.h"
#include "viz/views/compare/compare_scene.h"

namespace ringscope::viz {
namespace {

class LegibleTest : public WindowTest {
 protected:
  LegibleTest() { window.resize(1280, 720); }

  void expectLegible(const std::string& what) {
    QCoreApplication::processEvents();
    test::Drawn picture(window.size());
    window.render(&picture);
    EXPECT_GT(picture.texts().size(), 40u) << what;
    for (const std::string& sentence : test::illegible(picture))
      ADD_FAILURE() << what << ": " << sentence;
  }
  void expectAllViewsLegible(const std::string& what) {
    for (const ViewEntry& entry : viewRegistry()) {
      window.showView(entry.name);
      expectLegible(what + ", " + entry.name.toStdString());
    }
  }
  /// Writes an imported job without position ids, memory and values, and with an unknown mask.
  std::string bareJob() {
    const std::string from = test::inSources("tests/reference/hand_recording");
    const std::string to = dir.file("bare");
    std::filesystem::create_directory(to);
    for (const std::string rank : {"/rank-00000.jsonl", "/rank-00001.jsonl"}) {
      std::ifstream read(from + rank);
      std::ofstream write(to + rank);
      for (std::string line; std::getline(read, line);) {
        if (line.find("position_ids") != std::string::npos) continue;
        if (line.find(R"("line":"declared")") != std::string::npos) continue;
        const auto causal = line.find(R"("causal":true)");
        if (causal != std::string::npos && line.find(R"("layer":0)") != std::string::npos)
          line.replace(causal, 13, R"("causal":false)");
        write << line << "\n";
      }
    }
    return to;
  }
  /// Checks the first moments of forward and of backward in which a rank may have nothing to
  /// attend.
  void expectMomentsLegible(const std::string& what) {
    const auto& moments = window.session().trace().moments();
    std::int64_t backward = 0;
    while (moments[static_cast<std::size_t>(backward)].direction != traces::Direction::kBackward)
      ++backward;
    for (const std::int64_t moment : {std::int64_t{1}, backward + 1}) {
      window.navigator().setMoment(moment, 0.55);
      expectAllViewsLegible(what + ", moment " + std::to_string(moment));
    }
  }
};

TEST_F(LegibleTest, WordsOfRunsOfTwoToSixteenRanks) {
  for (const int ranks : {2, 4, 8, 16})
    for (const auto balance : {traces::Balance::kHeadTail, traces::Balance::kNone}) {
      if (ranks == 8 && balance == traces::Balance::kNone) continue;
      test::RingRun run;
      run.cp = ranks;
      run.balance = balance;
      run.steps = run.layers = 1;
      open(run);
      expectMomentsLegible(std::to_string(ranks) + " ranks, " + traces::name(balance));
    }
}

TEST_F(LegibleTest, WordsOfEveryKindOfRun) {
  for (const auto& [name, kind] : test::allKindsOfRuns()) {
    test::RingRun run = kind;
    run.steps = run.layers = 1;
    open(run);
    window.navigator().setMoment(1, 0.55);
    for (const char* view : {"ring", "coverage", "positions", "merge", "now"}) {
      window.showView(view);
      expectLegible(std::string(name) + ", " + view);
    }
  }
}

TEST_F(LegibleTest, WordsOfWhatIsNotRecorded) {
  test::RingRun run;
  run.keeps_tensors = false;
  open(run);
  expectAllViewsLegible("events alone");
  openFile(bareJob());
  window.navigator().setMoment(1, 0.55);
  expectAllViewsLegible("a job of which little is known");
}

TEST_F(LegibleTest, ALongWarningKeepsTheWindowAsWideAsItIs) {
  open();
  window.page().status()->setProblem(
      "rank 3 ended its recording in the middle of a line; " +
      QString("what came before is shown, and this sentence goes on. ").repeated(4));
  expectLegible("a warning");
  EXPECT_EQ(window.width(), 1280);
  EXPECT_TRUE(status().contains("this sentence goes on.")) << "the tooltip has it whole";
}

TEST_F(LegibleTest, WordsOfTwoRunsSideBySide) {
  const std::string other = dir.file("other.rscope");
  test::recordFile(test::contiguous(), other);
  open(restartingPositions());
  window.showView("compare");
  window.compareWith(QString::fromStdString(other), {});
  ASSERT_TRUE(
      QTest::qWaitFor([&] { return window.viewing().comparison.runs() != nullptr; }, 20000));
  for (const QSize size : {QSize(1280, 720), QSize(1920, 1080), QSize(2600, 1080)}) {
    window.resize(size);
    expectLegible("at " + std::to_string(size.width()));
  }
}

/// The words are beside the buttons, beside the name alone, or under them.
TEST_F(LegibleTest, TheCardsOfTwoRunsHaveAllTheirWordsBesideTheirButtons) {
  open(restartingPositions());
  window.showView("compare");
  for (const std::string name : {"b", "missing_position_ids"}) {
    const std::string other = dir.file(name + ".rscope");
    test::recordFile(test::contiguous(), other);
    window.compareWith(QString::fromStdString(other), {});
    ASSERT_TRUE(
        QTest::qWaitFor([&] { return window.viewing().comparison.runs() != nullptr; }, 20000));
    const CompareScene scene = makeCompareScene(*window.viewing().comparison.runs(), false, 0, {});
    for (const char* theme : {"dark", "light"})
      for (const QSize size : {QSize(1280, 720), QSize(1920, 1080), QSize(3840, 2160)}) {
        window.setTheme(Theme::named(theme));
        window.resize(size);
        const std::string what = name + ", " + theme + " " + std::to_string(size.width());
        expectLegible(what);
        test::Drawn picture(window.size());
        window.render(&picture);
        const auto* view = window.findChild<Stage*>()->currentWidget();
        const CompareCards cards(view->width(), scene.a, scene.b);
        const QPointF corner = view->mapTo(&window, QPoint(0, 0));
        for (const auto& [box, card] :
             {std::pair(cards.first, scene.a), std::pair(cards.second, scene.b)}) {
          const std::string words = test::wordsIn(picture, box.translated(corner));
          for (const std::string& line :
               {card.letter + " " + card.name, card.headline, card.numbers})
            EXPECT_NE(words.find(line), std::string::npos)
                << what << ": " << line << " in " << words;
        }
        EXPECT_GE(cards.buttonCount(), size.width() > 1280 ? 3 : 2) << what;
      }
  }
}

TEST_F(LegibleTest, WordsOfAnImportedJob) {
  for (const char* job : {"hand_recording", "recording"}) {
    openFile(test::inSources("tests/reference/") + job);
    window.navigator().setMoment(1, 0.55);
    expectAllViewsLegible(job);
  }
}

TEST(ElidedLabelTest, ACutTextEndsInDotsAndIsKept) {
  ElidedLabel label;
  label.setText("a sentence that is longer than its label");
  const auto drawn = [&](const QSize& size) {
    label.resize(size);
    auto picture = std::make_unique<test::Drawn>(size);
    label.render(picture.get());
    EXPECT_EQ(test::illegible(*picture), std::vector<std::string>());
    return picture->words();
  };
  EXPECT_LT(label.minimumSizeHint().width(), 80);
  EXPECT_EQ(drawn({600, 30}), label.text().toStdString());
  EXPECT_FALSE(label.isElided());
  const std::string said = drawn({120, 30});
  EXPECT_TRUE(said.starts_with("a sentence") && said.find("…") != std::string::npos) << said;
  EXPECT_TRUE(label.isElided());
}

TEST(ElidedLabelTest, ShowsSomeOfManyLinesAndCountsTheRest) {
  ElidedLabel label;
  label.setMostLines(2);
  label.setText("one\ntwo\nthree\nfour");
  EXPECT_LT(label.sizeHint().height(), 3 * label.fontMetrics().lineSpacing());
  label.resize(300, label.sizeHint().height());
  test::Drawn picture(label.size());
  label.render(&picture);
  EXPECT_EQ(test::illegible(picture), std::vector<std::string>());
  EXPECT_TRUE(test::has(picture, "two … and 2 more")) << picture.words();
  EXPECT_FALSE(test::has(picture, "three"));
}

}  // namespace
}  // namespace ringscope::viz
