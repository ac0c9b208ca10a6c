// SPDX-License-Identifier: Apache-2.0
// `ringscope export` to pages and reports, which the window's program draws without a display.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/places.h"
#include "tests/support/run_program.h"

namespace ringscope {
namespace {

namespace fs = std::filesystem;

test::Result exportSample(const std::string& arguments) {
  return test::runProgram(test::kProgram, "export " + test::sampleRecording() + " " + arguments);
}

TEST(ExportPageTest, WritesOneFileAndSaysHowMuch) {
  const test::TempDir dir;
  const auto result =
      exportSample("--to html -o " + dir.file("run.html") + " --view ring,merge --json");
  ASSERT_EQ(result.code, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["counts"]["views"], 2);
  EXPECT_EQ(json["counts"]["bytes"], fs::file_size(dir.file("run.html")));
  EXPECT_EQ(json["left_out"].size(), 0u);
}

TEST(ExportPageTest, ShowsTheRangeThatIsAskedFor) {
  const test::TempDir dir;
  const auto result = exportSample("--to html -o " + dir.file("run.html") +
                                   " --view ring --from 0,0,forward,1 --until 0,0,forward,3");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("3 ring steps"), std::string::npos) << result.out;
  EXPECT_NE(result.err.find("The page shows 3 of"), std::string::npos) << result.err;
}

TEST(ExportPageTest, WritesReportsAsMarkdownAndPdf) {
  const test::TempDir dir;
  for (const char* name : {"run.md", "run.pdf"}) {
    const auto result = exportSample("--to report -o " + dir.file(name));
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_TRUE(fs::exists(dir.file(name)));
  }
  EXPECT_TRUE(fs::exists(dir.file("run-1.png")));
  EXPECT_TRUE(test::readContent(dir.file("run.pdf")).starts_with("%PDF-1."));
}

TEST(ExportPageTest, DrawsOneViewAsAPictureOfEveryFormat) {
  const test::TempDir dir;
  const std::pair<const char*, const char*> formats[] = {
      {"svg", "<svg xmlns="}, {"png", "\x89PNG"}, {"pdf", "%PDF-1."}};
  for (const auto& [format, start] : formats) {
    const std::string file = dir.file(std::string("ring.") + format);
    const auto result = exportSample("--to " + std::string(format) + " -o " + file +
                                     " --view merge --from 0,1,forward,2 --theme dark");
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_TRUE(test::readContent(file).starts_with(start)) << format;
  }
  EXPECT_NE(test::readContent(dir.file("ring.svg")).find("</text>"), std::string::npos);
}

TEST(ExportPageTest, WithoutTheWindowAReportHasNoPicturesAndAPageIsRefused) {
  const test::TempDir dir;
  fs::create_directories(dir.file("bin"));
  fs::copy_file(test::kProgram, dir.file("bin/ringscope"));
  const auto alone = [&](const std::string& arguments) {
    return test::runProgram(dir.file("bin/ringscope"),
                            "export " + test::sampleRecording() + " " + arguments);
  };
  const auto report = alone("--to report -o " + dir.file("run.md"));
  EXPECT_EQ(report.code, 0) << report.err;
  EXPECT_NE(report.err.find("no pictures"), std::string::npos) << report.err;
  EXPECT_NE(test::readContent(dir.file("run.md")).find("**Evidence.**"), std::string::npos);
  const auto page = alone("--to html -o " + dir.file("run.html"));
  EXPECT_EQ(page.code, 2);
  EXPECT_NE(page.err.find("pip install 'ringscope[gui]'"), std::string::npos) << page.err;
  EXPECT_FALSE(fs::exists(dir.file("run.html")));
}

TEST(ExportPageTest, RefusesWhatItCannotDoInASentence) {
  const test::TempDir dir;
  const std::string page = dir.file("run.html");
  const std::pair<std::string, const char*> wrong[] = {
      {"--to html --view rings -o " + page, "there is no view rings"},
      {"--to html --from 1,2 -o " + page, "--from 1,2 is not STEP,LAYER"},
      {"--to html -o " + dir.file("missing/run.html"), "missing"},
      {"--to html -o " + test::sampleRecording(), "is the same file"},
      {"--to csv --view ring -o " + page, "are for pages and pictures"},
      {"--to report --view ring -o " + page, "every finding has its own"},
      {"--to web -o " + page, "html"},
      {"--to html --theme dark -o " + page, "--theme is for pictures"},
      {"--to svg -o " + page, "ends in .svg"},
      {"--to svg --theme pink -o " + dir.file("x.svg"), "contrast-dark"},
      {"--to png --view ring,merge -o " + dir.file("x.png"), "one --view"},
      {"--to pdf --until 0,0,forward,1 -o " + dir.file("x.pdf"), "--until is for --export-html"}};
  for (const auto& [arguments, words] : wrong) {
    const auto result = exportSample(arguments);
    EXPECT_EQ(result.code, 2) << arguments;
    EXPECT_NE(result.err.find(words), std::string::npos) << arguments << ": " << result.err;
    EXPECT_FALSE(fs::exists(page)) << arguments;
  }
}

}  // namespace
}  // namespace ringscope
