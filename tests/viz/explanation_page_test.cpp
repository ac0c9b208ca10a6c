// SPDX-License-Identifier: GPL-3.0-or-later
// How an explanation is set: its headings, code, links and picture, on a page and in every theme.
#include "viz/views/doctor/explanation_page.h"

#include <gtest/gtest.h>

#include <QAbstractTextDocumentLayout>
#include <QTextBlock>

#include "tests/support/expect_error.h"
#include "tests/support/places.h"
#include "tests/support/run_program.h"
#include "tests/viz/drawn.h"
#include "traces/analysis/mistakes/catalogue.h"
#include "traces/exchange/import/open_trace.h"
#include "viz/views/base/view.h"
#include "viz/views/doctor/view_picture.h"

namespace ringscope::viz {
namespace {

const QString kSample = QString::fromStdString(test::sampleRecording());

traces::Explanation small() {
  return {
      .id = "x",
      .title = "A title",
      .what_happens = "Positions restart in `position_ids`.",
      .how_to_see = "```\nringscope doctor wrong.rscope\n```",
      .remedies = {{"PyTorch", "Do <b>this</b>:\n\n```python\nwith context():\n    run()\n```"}},
      .reported_in = "- [a/b#1](https://github.com/a/b/issues/1)",
      .links = {}};
}

ExplanationPicture blank(const QString& caption = "Positions at step 0") {
  QImage image(760, 460, QImage::Format_RGB32);
  image.fill(Qt::white);
  return {image, caption, ""};
}

/// Returns what a reader sees of an explanation in a theme.
std::unique_ptr<test::Drawn> drawnPage(const traces::Explanation& explanation,
                                       const ExplanationPicture& picture, const Theme& theme) {
  QTextDocument document;
  fillExplanation(document, explanation, picture, {}, theme);
  return test::drawn({600, 1200}, [&](QPainter& p, const QRectF&) {
    QAbstractTextDocumentLayout::PaintContext context;
    document.documentLayout()->draw(&p, context);
  });
}

QTextCharFormat formatOf(const QTextDocument& document, const QString& words) {
  QTextCursor at = document.find(words);
  EXPECT_FALSE(at.isNull()) << words.toStdString();
  return at.charFormat();
}

TEST(ExplanationDocumentTest, SectionsCodeAndLinksFollowEachOther) {
  QTextDocument document;
  fillExplanation(document, small(), {}, {}, Theme::named("light"));
  EXPECT_EQ(
      document.toPlainText().toStdString(),
      "A title\nWhat happens\nPositions restart in position_ids.\nHow to fix it\nPyTorch\n"
      "Do <b>this</b>:\nwith context():\n    run()\nHow to see it in RingScope's sample run\n" +
          std::string(traces::kFiguresOfSample) +
          "\nringscope doctor wrong.rscope\nReported in\na/b#1")
      << "and nothing in it is HTML";
  EXPECT_EQ(formatOf(document, "run()").font().family(), "JetBrains Mono");
  EXPECT_EQ(formatOf(document, "position_ids").font().family(), "JetBrains Mono");
  EXPECT_EQ(formatOf(document, "Positions restart").font().family(), "Inter");
  EXPECT_EQ(formatOf(document, "a/b#1").anchorHref(), "https://github.com/a/b/issues/1");
  EXPECT_GT(formatOf(document, "A title").font().pixelSize(),
            formatOf(document, "What happens").font().pixelSize());
}

TEST(ExplanationDocumentTest, PagesOfInjectableMistakesHaveFiguresOfTheSampleRun) {
  for (const traces::Mistake& mistake : traces::mistakeCatalogue()) {
    QTextDocument document;
    fillExplanation(document, traces::readExplanation(mistake.id), blank(), {},
                    Theme::named("light"));
    const std::string words = document.toPlainText().toStdString();
    if (!mistake.injectable) {
      EXPECT_EQ(words.find(traces::kFiguresOfSample), std::string::npos) << mistake.id;
      continue;
    }
    const auto heading = words.find("How to see it in RingScope's sample run\n");
    ASSERT_NE(heading, std::string::npos) << mistake.id;
    EXPECT_EQ(words.find(traces::kFiguresOfSample), words.find('\n', heading) + 1) << mistake.id;
  }
}

TEST(ExplanationDocumentTest, APageOfARecordingHasItsOwnNumbersBeforeThoseOfTheSample) {
  ExplanationPicture picture = blank();
  picture.evidence = "12 of 32 position ids of rank 1 *differ*";
  QTextDocument document;
  fillExplanation(document, small(), picture, {}, Theme::named("light"));
  const std::string words = document.toPlainText().toStdString();
  const auto own = words.find("In this recording\n" + picture.evidence);
  ASSERT_NE(own, std::string::npos) << words;
  EXPECT_LT(own, words.find(traces::kFiguresOfSample));
}

TEST(ExplanationDocumentTest, WordsCanBeReadInEveryTheme) {
  for (const Theme& theme : Theme::all()) {
    const auto page = drawnPage(small(), blank(), theme);
    ASSERT_GT(page->texts().size(), 8u);
    for (const auto& text : page->texts())
      for (const QColor& ground : {theme.panel, theme.raised})
        EXPECT_GE(contrast(text.color, ground), 4.5)
            << theme.name.toStdString() << ": " << text.words.toStdString();
  }
}

TEST(ExplanationDocumentTest, ThePictureStandsAboveItsCaptionWhateverTheFileIsCalled) {
  for (const char* caption :
       {"Positions at step 0", "Ring at step 1, from a*b_[c](d)`e`<f>.rscope"}) {
    const auto page = drawnPage(small(), blank(caption), Theme::named("light"));
    ASSERT_EQ(page->images().size(), 1u) << caption;
    EXPECT_NE(page->words().find(caption), std::string::npos) << page->words();
    const auto* words = page->find(QString(caption).left(12));
    ASSERT_NE(words, nullptr);
    EXPECT_GT(words->at.y(), page->images()[0].bottom());
    EXPECT_LT(words->at.y(), page->images()[0].bottom() + 40);
    EXPECT_LE(page->images()[0].width(), 600);
  }
  EXPECT_TRUE(drawnPage(small(), {}, Theme::named("light"))->images().empty());
}

TEST(ExplanationDocumentTest, LargerTypeIsLargerThroughout) {
  QTextDocument document;
  fillExplanation(document, small(), {}, {.zoom = 1.6}, Theme::named("dark"));
  EXPECT_EQ(formatOf(document, "Positions restart").font().pixelSize(), 21);
  EXPECT_EQ(formatOf(document, "run()").font().pixelSize(), 19);
}

TEST(ExplanationDocumentTest, EachFitsAPageInTypeThatCanBeRead) {
  const QSizeF a4(672, 1016);  // without its margins, at 96 dots per inch
  for (const auto& mistake : traces::mistakeCatalogue()) {
    QTextDocument document;
    const double scale = fitExplanation(document, traces::readExplanation(mistake.id), blank(), a4);
    EXPECT_LE(document.size().height() * scale, a4.height()) << mistake.id;
    EXPECT_LE(document.idealWidth() * scale, a4.width() + 1) << mistake.id;
    EXPECT_GE(scale, 0.85) << mistake.id << ": 13 pixels of type are 8 points then";
  }
}

TEST(ExplanationPageTest, IsOnePageOfPdfWithItsTitle) {
  const test::TempDir dir;
  const std::string path = dir.file("page.pdf");
  for (const char* id : {"missing_position_ids", "wrong_process_group"}) {
    const auto explanation = traces::readExplanation(id);
    writeExplanationPage(QString::fromStdString(path), explanation, blank());
    const std::string pdf = test::readContent(path);
    EXPECT_TRUE(pdf.starts_with("%PDF-1."));
    EXPECT_NE(pdf.find("/Count 1\n"), std::string::npos);
    EXPECT_NE(pdf.find("/Subtype /Image"), std::string::npos);
    EXPECT_NE(pdf.find("/FontFile"), std::string::npos) << "words are words, not a picture";
    std::string title;  // as in PDF: two bytes per letter
    for (const char c : explanation.title.substr(0, 8)) title += std::string(1, '\0') + c;
    EXPECT_NE(pdf.find(title), std::string::npos) << id;
  }
}

TEST(ExplanationPageTest, SaysWhereItCannotBeWritten) {
  const test::TempDir dir;
  const QString path = QString::fromStdString(dir.file("missing/page.pdf"));
  EXPECT_ERROR(writeExplanationPage(path, small(), {}), ErrorCode::kInput,
               "missing/page.pdf cannot be written: ");
}

TEST(ViewPictureTest, IsThatOfTheViewAtThePlaceAndMovesNothing) {
  Viewing viewing;
  viewing.session.open(traces::openTrace(kSample.toStdString()), "recording", false);
  const Cursor before = viewing.navigator.cursor();
  Cursor at = before;
  at.rank = traces::WorldRank::of(3);
  const Theme& theme = Theme::named("light");
  for (const ViewEntry& entry : viewRegistry()) {
    const QImage picture = drawPicture(viewing.session, entry.name, at, theme, 2);
    EXPECT_EQ(picture.size(), QSize(1520, 920)) << entry.name.toStdString();
    EXPECT_EQ(picture.devicePixelRatio(), 2);
  }
  EXPECT_NE(drawPicture(viewing.session, "positions", at, theme, 1),
            drawPicture(viewing.session, "positions", before, theme, 1));
  EXPECT_EQ(viewing.navigator.cursor(), before);
  EXPECT_ERROR(drawPicture(viewing.session, "rings", at, theme, 1), ErrorCode::kUsage,
               "there is no view rings");
}

TEST(ViewPictureTest, ThePictureOfAFindingIsOfItsPlaceAndNamesIt) {
  Session session;
  session.open(traces::openTrace(kSample.toStdString()), "a.rscope", false);
  const auto cards = findingCards(traces::diagnose(session.trace()));
  ASSERT_FALSE(cards.empty());
  const ExplanationPicture picture = drawPicture(session, cards[0], {}, Theme::named("light"), 1);
  EXPECT_EQ(picture.caption.toStdString(),
            "Positions at step 0 › layer 0 › forward › ring step 0, from a.rscope");
  Cursor cursor;
  cursor = cursorAt(cards[0], cursor);
  cursor.phase = 0.5;
  EXPECT_EQ(picture.image, drawPicture(session, "positions", cursor, Theme::named("light"), 1));
}

}  // namespace
}  // namespace ringscope::viz
