// SPDX-License-Identifier: GPL-3.0-or-later
// Colours, the places of cards, and a run's settings: tests that need Qt and no window.
#include <gtest/gtest.h>

#include <QFile>
#include <QRegularExpression>
#include <QSet>
#include <cmath>

#include "traces/format/core/error.h"
#include "viz/style/colormap.h"
#include "viz/style/elide.h"
#include "viz/style/face.h"
#include "viz/style/theme.h"
#include "viz/views/ring/ring_layout.h"
#include "viz/window/run_config.h"

namespace ringscope::viz {
namespace {

/// Text must reach a contrast of 4.5 : 1 on its ground; faint text may be missed.
TEST(ThemeTest, EveryTextTokenIsReadableOnEveryGround) {
  for (const Theme& theme : Theme::all()) {
    for (const QColor& ground : {theme.background, theme.panel, theme.raised})
      for (const QColor& ink :
           {theme.text, theme.dim, theme.accent, theme.right, theme.wait, theme.wrong})
        EXPECT_GE(contrast(ink, ground), 4.5)
            << theme.name.toStdString() << " " << ink.name().toStdString() << " on "
            << ground.name().toStdString();
    EXPECT_GE(contrast(theme.on_accent, theme.accent), 4.5) << theme.name.toStdString();
    EXPECT_GE(contrast(theme.on_plate, theme.plate), 4.5);
  }
}

/// A cut text is a beginning of the whole text for every width, and no number in it is cut.
TEST(ElideTest, ANumberIsNeverCut) {
  const QFontMetrics metrics(textFont(13));
  const QString words = "keys 0–2, 4–6, 8–105 and 1.5 M×, 2,480 of 9";
  const QSet<QString> numbers{"0", "2", "4", "6", "8", "105", "1.5", "2,480", "9"};
  const QRegularExpression number("\\d[\\d.,]*\\d|\\d");
  EXPECT_EQ(elided(metrics, words, metrics.horizontalAdvance(words) + 2), words);
  for (int width = 10; width < metrics.horizontalAdvance(words); ++width) {
    const QString shown = elided(metrics, words, width);
    ASSERT_TRUE(shown.endsWith(u'…') || shown.isEmpty()) << shown.toStdString();
    EXPECT_TRUE(words.startsWith(shown.chopped(shown.isEmpty() ? 0 : 1)));
    EXPECT_LE(metrics.horizontalAdvance(shown), width);
    EXPECT_FALSE(shown.endsWith("1.5…")) << "of 1.5 M×";
    for (auto found = number.globalMatch(shown); found.hasNext();) {
      const QString said = found.next().captured();
      EXPECT_TRUE(numbers.contains(said)) << said.toStdString() << " in " << shown.toStdString();
    }
  }
}

TEST(ColormapTest, MagnitudeRisesInBrightnessAndTheSignedMapIsSymmetric) {
  double last = -1;
  for (int i = 0; i <= 20; ++i) {
    const QColor color = magnitudeColor(i / 20.0);
    const double brightness = 0.3 * color.redF() + 0.59 * color.greenF() + 0.11 * color.blueF();
    EXPECT_GT(brightness, last - 0.02);
    last = brightness;
  }
  EXPECT_EQ(signedColor(0), signedColor(0.1, 0.2));
  EXPECT_GT(signedColor(-1).blue(), signedColor(-1).red());
  EXPECT_GT(signedColor(1).red(), signedColor(1).blue());
  EXPECT_FALSE(magnitudeColor(NAN).isValid());
}

TEST(RunConfigTest, EveryKeyIsReadAndWhatChangedIsSaid) {
  const RunConfig before;
  RunConfig after = RunConfig::fromJson(
      {{"cp", 2}, {"balance", "none"}, {"mistakes", {"naive_sum_merge"}}, {"steps", 3}}, "test");
  EXPECT_EQ(after.cp, 2);
  EXPECT_TRUE(after.arguments().join(' ').contains("--mistake naive_sum_merge"));
  EXPECT_EQ(changes(before, after),
            "cp: 4 → 2 · balance: head_tail → none · mistakes: none → naive_sum_merge");
  EXPECT_THROW(RunConfig::fromJson({{"cp", "two"}}, "test"), Error);
  EXPECT_THROW(RunConfig::fromJson({{"color", 1}}, "test"), Error);
  after.seq_len = 63;
  EXPECT_TRUE(refusal(after, 4).contains("a length of 63 does not divide into cp = 2 shards"))
      << "the engine's own sentence";
}

TEST(RingLayoutTest, CardsOfUpToSixteenRanksDoNotOverlapAndLieInTheArea) {
  for (const QSizeF size : {QSizeF(708, 313), QSizeF(1212, 562), QSizeF(2400, 1300)})
    for (const int ranks : {1, 2, 4, 8, 16}) {
      const QRectF area(QPointF(0, 0), size);
      const RingLayout layout(area, ranks);
      auto card = [&](int seat) { return layout.card(traces::GroupRank::of(seat)); };
      for (int a = 0; a < ranks; ++a) {
        EXPECT_TRUE(area.contains(card(a))) << ranks << " ranks on " << size.width();
        for (int b = 0; b < a; ++b)
          EXPECT_FALSE(card(a).intersects(card(b)))
              << ranks << ": " << a << " and " << b << " on " << size.width();
      }
    }
}

TEST(ThemeTest, TheFontsComeWithTheProgram) {
  loadFonts();
  for (const char* font : {"Inter-Regular.otf", "Inter-Bold.otf", "JetBrainsMono-Regular.ttf"})
    EXPECT_TRUE(QFile::exists(QString(":/fonts/") + font)) << font;
}

}  // namespace
}  // namespace ringscope::viz
