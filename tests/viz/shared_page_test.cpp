// SPDX-License-Identifier: GPL-3.0-or-later
// Views as SVG, and the pages and reports that show them without this program.
#include <gtest/gtest.h>

#include <QPainterPath>
#include <fstream>

#include "tests/support/expect_error.h"
#include "tests/support/places.h"
#include "tests/support/run_program.h"
#include "tests/support/trace_builder.h"
#include "traces/analysis/doctor/diagnosis.h"
#include "traces/exchange/import/open_trace.h"
#include "viz/share/report_file.h"
#include "viz/share/share_page.h"

namespace ringscope::viz {
namespace {

constexpr const char* kHostile = "</script><img src=x onerror=alert(1)>";

/// Returns what `paint` draws, as elements.
template <typename Paint>
std::string drawnElements(Paint paint, Definitions& definitions) {
  ShapeRecorder recorder({100, 80}, definitions);
  QPainter painter(&recorder);
  paint(painter);
  painter.end();
  std::string all;
  for (const Shape& shape : recorder.shapes())
    all += elementMarkup(shape, {}).toStdString() + " " + shape.style.toStdString() + "\n";
  return all;
}

template <typename Paint>
std::string drawnElements(Paint paint) {
  Definitions definitions;
  return drawnElements(paint, definitions);
}

TEST(ShapeRecorderTest, KeepsShapesAtTheirPlaceOnTheDevice) {
  const std::string drawn = drawnElements([](QPainter& p) {
    p.translate(10, 20);
    p.scale(2, 2);
    p.fillRect(QRectF(1, 2, 3, 4), QColor("#102030"));
    p.setPen(QPen(QColor("#ff0000"), 1.5));
    p.drawLine(QPointF(0, 0), QPointF(5, 0));
    p.setBrush(Qt::NoBrush);
    p.drawEllipse(QPointF(5, 5), 2, 1);
  });
  EXPECT_EQ(drawn,
            "<rect x=\"12\" y=\"24\" width=\"6\" height=\"8\"/> fill:#102030\n"
            "<path d=\"M10 20L20 20\"/> stroke:#ff0000;stroke-width:3\n"
            "<ellipse cx=\"20\" cy=\"30\" rx=\"4\" ry=\"2\"/> stroke:#ff0000;stroke-width:3\n");
}

TEST(ShapeRecorderTest, WordsStayTextOfTheirWidth) {
  const std::string drawn = drawnElements([](QPainter& p) {
    p.setFont(textFont(13, QFont::Bold));
    p.setPen(QColor("#0000ff"));
    p.drawText(QPointF(4, 30), "a <b> & \"c\"");
  });
  EXPECT_NE(drawn.find("<text x=\"4\" y=\"30\" textLength=\""), std::string::npos) << drawn;
  EXPECT_NE(drawn.find(">a &lt;b&gt; &amp; &quot;c&quot;</text>"), std::string::npos) << drawn;
  EXPECT_NE(drawn.find("fill:#0000ff;font-size:13px;font-weight:700"), std::string::npos) << drawn;
}

TEST(ShapeRecorderTest, AClipHoldsUntilThePainterIsRestored) {
  Definitions definitions;
  const std::string drawn = drawnElements(
      [](QPainter& p) {
        p.save();
        p.setClipRect(QRectF(0, 0, 50, 50));
        p.fillRect(QRectF(10, 10, 10, 10), Qt::red);  // within the clip
        p.fillRect(QRectF(40, 40, 20, 20), Qt::red);  // across its border
        p.fillRect(QRectF(60, 60, 10, 10), Qt::red);  // outside
        p.restore();
        p.fillRect(QRectF(60, 60, 10, 10), Qt::blue);
      },
      definitions);
  EXPECT_EQ(drawn,
            "<rect x=\"10\" y=\"10\" width=\"10\" height=\"10\"/> fill:#ff0000\n"
            "<rect x=\"40\" y=\"40\" width=\"20\" height=\"20\" clip-path=\"url(#d0)\"/> "
            "fill:#ff0000\n"
            "<rect x=\"60\" y=\"60\" width=\"10\" height=\"10\"/> fill:#0000ff\n");
  EXPECT_EQ(definitions.markup(),
            "<clipPath id=\"d0\" ><path d=\"M0 0L50 0L50 50L0 50L0 0z\"/></clipPath>");
}

TEST(ShapeRecorderTest, EqualPatternsAndImagesAreStoredOnce) {
  Definitions definitions;
  QImage image(2, 2, QImage::Format_RGB32);
  image.fill(Qt::green);
  const auto paint = [&](QPainter& p) {
    p.fillRect(QRectF(0, 0, 20, 20), QBrush(Qt::red, Qt::BDiagPattern));
    p.drawImage(QRectF(0, 0, 30, 30), image);
  };
  const std::string once = drawnElements(paint, definitions);
  const QByteArray markup = definitions.markup();
  EXPECT_EQ(drawnElements(paint, definitions), once);
  EXPECT_EQ(definitions.markup(), markup);
  EXPECT_EQ(markup.count("<pattern"), 1);
  EXPECT_EQ(markup.count("data:image/png"), 1);
}

TEST(FrameStoreTest, AFrameOfTwoThemesIsStoredOnceWithTwoColors) {
  FrameStore store;
  const auto frame = [&](const char* dark, const char* light) {
    return store.add({{"rect", " x=\"1\"", {}, dark}}, {{"rect", " x=\"1\"", {}, light}}, {9, 9});
  };
  const int first = frame("fill:#000000", "fill:#ffffff");
  EXPECT_EQ(frame("fill:#000000", "fill:#ffffff"), first);
  EXPECT_EQ(store.count(), 1);
  EXPECT_NE(frame("fill:#000000", "fill:#eeeeee"), first);
  EXPECT_EQ(store.toJson()["elements"][0], "<rect class=\"s0\" x=\"1\"/>");
  EXPECT_TRUE(store.styleSheet().startsWith(".dark .s0{fill:#000000}.light .s0{fill:#ffffff}\n"));
}

TEST(FrameStoreTest, ElementsOfOneThemeAreHiddenInTheOther) {
  FrameStore store;
  store.add({{"rect", " x=\"1\"", {}, "fill:#000000"}}, {}, {9, 9});
  EXPECT_EQ(store.toJson()["elements"][0], "<rect class=\"s0 in-dark\" x=\"1\"/>");
}

class SharedPageTest : public testing::Test {
 protected:
  SharedPageTest() { open("sample.rscope"); }
  void open(const QString& name) {
    session.open(traces::openTrace(test::sampleRecording()), name, false);
    session.setDiagnosis(traces::diagnose(session.trace()));
  }
  SharedPage write(const ShareChoice& choice) {
    return writeSharedPage(session, test::sampleRecording(), choice, file, [] { return true; });
  }
  std::string text() const { return test::readContent(file); }

  test::TempDir dir;
  std::string file = dir.file("run.html");
  Session session;
};

TEST_F(SharedPageTest, ShowsEveryRingStepOfTheSampleInThreeMegabytes) {
  const SharedPage page = write({});
  EXPECT_EQ(page.views, 8);
  EXPECT_EQ(page.ring_steps, static_cast<int>(session.trace().moments().size()));
  EXPECT_LT(page.bytes, 3'000'000);
  EXPECT_EQ(page.bytes, static_cast<std::int64_t>(text().size()));
  EXPECT_TRUE(page.left_out.empty());
}

TEST_F(SharedPageTest, ShowsTheChosenViewsAndRange) {
  ShareChoice choice{{"merge", "ring"}, session.trace().moments()[2], session.trace().moments()[4]};
  const SharedPage page = write(choice);
  EXPECT_EQ(page.views, 2);
  EXPECT_EQ(page.ring_steps, 3);
  ASSERT_EQ(page.left_out.size(), 1u);
  EXPECT_NE(page.left_out[0].find("3 of "), std::string::npos);
}

TEST_F(SharedPageTest, RejectsAnImpossibleChoiceAndWritesNothing) {
  const Place nowhere{99, Layer::of(0), traces::Direction::kForward, RingStep::of(0)};
  const auto& moments = session.trace().moments();
  const std::pair<ShareChoice, const char*> wrong[] = {
      {{{"rings"}, {}, {}}, "there is no view rings"},
      {{{"query"}, {}, {}}, "the view query needs the window"},
      {{{"ring"}, nowhere, {}}, "--from 99,0,forward,0"},
      {{{"ring"}, moments[3], moments[1]}, "--until is before --from"}};
  for (const auto& [choice, words] : wrong) EXPECT_ERROR(write(choice), ErrorCode::kUsage, words);
  EXPECT_FALSE(std::ifstream(file).good());
}

TEST_F(SharedPageTest, StopsWithoutAFile) {
  int frames = 0;
  const ShareChoice ring{{"ring"}, {}, {}};
  const auto goes_on = [&] { return ++frames < 3; };
  EXPECT_ERROR(writeSharedPage(session, "x", ring, file, goes_on), ErrorCode::kUsage, "stopped");
  EXPECT_FALSE(std::ifstream(file).good());
}

TEST_F(SharedPageTest, NamesOfRecordingsAreNoMarkup) {
  open(kHostile);
  writeSharedPage(session, kHostile, {{"ring"}, {}, {}}, file, [] { return true; });
  const std::string page = text();
  const auto data = page.find("id=\"data\">"), end = page.find("</script", data);
  EXPECT_EQ(page.substr(0, data).find("<img"), std::string::npos);
  EXPECT_EQ(page.substr(end).find("<img"), std::string::npos);
  const auto json = nlohmann::json::parse(page.substr(data + 10, end - data - 10));
  EXPECT_EQ(json["name"], kHostile) << "the same string, and nothing that ends the data";
  std::size_t scripts = 0;
  for (auto at = page.find("</script"); at != std::string::npos; at = page.find("</script", at + 1))
    ++scripts;
  EXPECT_EQ(scripts, 2u) << "the data and the player";
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
}

TEST_F(SharedPageTest, NamesWithinRecordingsAreNoMarkup) {
  session.open(test::makeTrace(R"(
      run cp=2 strategy=ring mask=causal seq_len=8
      group cp 0,1
      shard input_ids rank=0 tokens=0-4
      shard input_ids rank=1 tokens=4-8
      attend rank=0 layer=0 stage=0 source=0 piece=0 q=0-4 k=0-4 time=10-20
      attend rank=1 layer=0 stage=0 source=1 piece=0 q=0-4 k=0-4 time=10-20
      diff grad.</script><img> ratio=900
      end)"),
               "hostile", false);
  session.setDiagnosis(traces::diagnose(session.trace()));
  writeSharedPage(session, "hostile", {{"diff"}, {}, {}}, file, [] { return true; });
  const std::string page = text();
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_NE(page.find("grad.&lt;/script&gt;&lt;img&gt;"), std::string::npos);
}

TEST_F(SharedPageTest, AReportHasAPictureForEachFinding) {
  const std::string report = dir.file("run.md");
  const WrittenReport written = writeReport(session, test::sampleRecording(), report);
  EXPECT_EQ(written.findings, 1);
  const std::string words = test::readContent(report);
  EXPECT_NE(words.find("](<run-1.png>)"), std::string::npos) << words;
  EXPECT_NE(words.find(session.diagnosis()->findings()[0].title), std::string::npos);
  const QImage picture(QString::fromStdString(dir.file("run-1.png")));
  EXPECT_GT(picture.width(), 1000);
}

TEST_F(SharedPageTest, AReportCanBeAPdf) {
  const std::string report = dir.file("run.PDF");
  writeReport(session, test::sampleRecording(), report);
  const std::string pdf = test::readContent(report);
  EXPECT_TRUE(pdf.starts_with("%PDF-1."));
  const auto width = pdf.find("/Width ");
  ASSERT_NE(width, std::string::npos);
  EXPECT_GT(std::stoi(pdf.substr(width + 7)), 1000) << "the view, and no icon of a missing picture";
  EXPECT_FALSE(std::ifstream(dir.file("run-1.png")).good()) << "the picture is in the file";
}

}  // namespace
}  // namespace ringscope::viz
