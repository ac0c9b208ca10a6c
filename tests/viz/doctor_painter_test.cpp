// SPDX-License-Identifier: GPL-3.0-or-later
// The doctor's page, painted from handwritten scenes.
#include "viz/views/doctor/doctor_painter.h"

#include <gtest/gtest.h>

#include "tests/viz/drawn.h"

namespace ringscope::viz {
namespace {

using test::dark;
using test::drawn;
using test::has;

TEST(DoctorPainterTest, DrawsFindingsWithEvidenceAndRemedyInCardsThatHoldThem) {
  DoctorScene scene;
  scene.headline = "One finding";
  scene.found = 1;
  FindingCard card;
  card.verdict = traces::Verdict::kFound;
  card.title = "Position ids restart";
  card.evidence = "112 of 128 position ids differ.";
  card.remedy = "Shard position_ids like input_ids.";
  card.view = "positions";
  scene.cards = {card};
  const auto picture = drawn(
      {700, 400}, [&](QPainter& p, const QRectF& area) { paintDoctor(p, area, scene, dark()); });
  for (const char* words : {"One finding", "Position ids restart", "112 of 128", "WHAT TO CHANGE",
                            "Shard position_ids", "see it in positions"})
    EXPECT_TRUE(has(*picture, words)) << words << " in " << picture->words();
  const QRectF list = doctorCards(picture->area(), scene);
  const double bottom = list.top() + findingCardHeight(card, list.width());
  for (const auto& text : picture->texts())
    EXPECT_LT(text.at.y(), bottom) << text.words.toStdString();
  EXPECT_GT(findingCardHeight(card, 250), findingCardHeight(card, 700)) << "words wrap";
}

TEST(DoctorPainterTest, HowFarItReachesStandsAboveTheCards) {
  DoctorScene scene;
  scene.headline = "Nothing found";
  scene.reach =
      "Values of attention were kept of step 0 alone, of 3 recorded training steps: a mistake of "
      "the others shows only as far as events and statistics tell.";
  for (const double width : {300.0, 1200.0}) {
    const auto picture = drawn({width, 400}, [&](QPainter& p, const QRectF& area) {
      paintDoctor(p, area, scene, dark());
    });
    EXPECT_TRUE(has(*picture, "step 0 alone")) << picture->words();
    for (const auto& text : picture->texts())
      EXPECT_LT(text.at.y(), doctorCards(picture->area(), scene).top());
  }
}

TEST(DoctorPainterTest, ALongHeadlineWrapsAboveTheCards) {
  DoctorScene scene;
  scene.headline =
      "Nothing wrong in the 31 checks that this recording allows; 17 could not be made, at last";
  const auto picture = drawn(
      {300, 400}, [&](QPainter& p, const QRectF& area) { paintDoctor(p, area, scene, dark()); });
  EXPECT_TRUE(has(*picture, "could not be made, at last")) << picture->words();
  EXPECT_GT(doctorCards(picture->area(), scene).top(), picture->area().top() + 72);
}

TEST(DoctorPainterTest, ACardHoldsATitleOfSeveralLines) {
  FindingCard card;
  card.verdict = traces::Verdict::kNotObservable;
  card.title =
      "Cannot tell whether gradients are those of the whole sequence, neither times cp nor "
      "divided by it";
  card.evidence = "Not recorded. This needs the values of logits, labels, gradients and weights.";
  const double height = findingCardHeight(card, 300);
  const auto picture = drawn({300, height}, [&](QPainter& p, const QRectF& area) {
    paintFindingCard(p, area, card, false, dark());
  });
  EXPECT_GT(picture->texts().size(), 4u) << "title and evidence wrap";
  for (const auto& text : picture->texts())
    EXPECT_LT(text.at.y(), height - 10) << text.words.toStdString();
}

TEST(DoctorPainterTest, GreenIsForWhatIsClearAlone) {
  DoctorScene scene;
  scene.headline = "Nothing found in what could be read";
  auto color_of = [&] {
    return drawn({700, 400},
                 [&](QPainter& p, const QRectF& area) { paintDoctor(p, area, scene, dark()); })
        ->find("Nothing found")
        ->color;
  };
  EXPECT_EQ(color_of(), dark().wait);
  scene.clear = true;
  EXPECT_EQ(color_of(), dark().right);
}

}  // namespace
}  // namespace ringscope::viz
