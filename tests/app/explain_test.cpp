// SPDX-License-Identifier: Apache-2.0
// The command line of ringscope-gui without a display: --explain, --axis, and rejected arguments.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "tests/support/places.h"
#include "tests/support/run_program.h"

namespace ringscope {
namespace {

namespace fs = std::filesystem;

test::Result window(const std::string& arguments) {
  return test::runProgram(test::kWindow, arguments);
}

bool isOnePage(const std::string& path) {
  const std::string pdf = test::readContent(path);
  return pdf.starts_with("%PDF-1.") && pdf.find("/Count 1\n") != std::string::npos;
}

bool hasPicture(const std::string& path) {
  return test::readContent(path).find("/Subtype /Image") != std::string::npos;
}

TEST(ExplainTest, WritesAPageWithAPictureOfTheRecording) {
  const test::TempDir dir;
  const std::string page = dir.file("page.pdf");
  const auto result =
      window(test::sampleRecording() + " --explain missing_position_ids -o " + page);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(isOnePage(page));
  EXPECT_TRUE(hasPicture(page));
}

TEST(ExplainTest, NeedsNoRecording) {
  const test::TempDir dir;
  const std::string page = dir.file("page.pdf");
  const auto result = window("--explain dropped_hop --output " + page);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(isOnePage(page));
  EXPECT_FALSE(hasPicture(page));
}

TEST(ExplainTest, SaysWhenTheRecordingHasNoSuchMistake) {
  const test::TempDir dir;
  const std::string page = dir.file("page.pdf");
  const auto result = window(test::sampleRecording() + " --explain lse_base2 -o " + page);
  EXPECT_EQ(result.code, 0);
  EXPECT_NE(result.err.find("the doctor does not find lse_base2 in " + test::sampleRecording()),
            std::string::npos)
      << result.err;
  EXPECT_TRUE(isOnePage(page));
  EXPECT_FALSE(hasPicture(page));
}

TEST(ExplainTest, RefusesWhatItCannotDoInASentence) {
  const test::TempDir dir;
  const std::string page = dir.file("page.pdf");
  const std::pair<std::string, const char*> wrong[] = {
      {"--explain no_such_mistake -o " + page, "there is no mistake no_such_mistake"},
      {"--explain ../sample/text -o " + page, "there is no mistake"},
      {"--explain lse_base2", "--explain needs -o OUT.pdf"},
      {"-o " + page, "-o is for --explain ID"},
      {"--explain lse_base2 -o " + dir.file("missing/page.pdf"), "cannot be written"},
      {dir.file("none.rscope") + " --explain lse_base2 -o " + page, "none.rscope"}};
  for (const auto& [arguments, words] : wrong) {
    const auto result = window(arguments);
    EXPECT_EQ(result.code, 2) << arguments;
    EXPECT_NE(result.err.find(words), std::string::npos) << arguments << ": " << result.err;
    EXPECT_FALSE(fs::exists(page)) << arguments;
  }
}

TEST(ExplainTest, TheTextsComeWithTheProgram) {
  const test::TempDir dir;
  fs::create_directories(dir.file("bin"));
  fs::copy_file(test::kWindow, dir.file("bin/ringscope-gui"));
  const std::string run = "--explain lse_base2 -o " + dir.file("page.pdf");
  const auto alone = test::runProgram(dir.file("bin/ringscope-gui"), run);
  EXPECT_EQ(alone.code, 0) << alone.err;
  EXPECT_TRUE(isOnePage(dir.file("page.pdf")));
}

TEST(WindowCommandTest, AScreenshotShowsTheTimelineOnTheAxisThatIsAskedFor) {
  const test::TempDir dir;
  const auto shot = [&](const std::string& view, const std::string& more) {
    const std::string picture = dir.file("shot.png");
    const auto result = window(test::sampleRecording() + " --view " + view +
                               " --size 1280x720 --screenshot " + picture + more);
    EXPECT_EQ(result.code, 0) << result.err;
    return test::readContent(picture);
  };
  const std::string recorded = shot("timeline", "");
  EXPECT_EQ(shot("timeline", " --axis recorded"), recorded);
  const std::string model = shot("timeline", " --axis own-device");
  EXPECT_NE(model, recorded);
  EXPECT_EQ(shot("timeline", " --axis own-device"), model) << "it waits until it is drawn";
  EXPECT_EQ(shot("ring", " --axis own-device"), shot("ring", "")) << "no other view has the axis";
}

TEST(WindowCommandTest, RejectsAnUnknownAxis) {
  const test::TempDir dir;
  const auto refused = window(test::sampleRecording() +
                              " --axis wall --view timeline --screenshot " + dir.file("shot.png"));
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("--axis wall is neither recorded nor own-device"), std::string::npos)
      << refused.err;
  EXPECT_FALSE(fs::exists(dir.file("shot.png")));
}

TEST(WindowCommandTest, ListeningTakesNoPlaceOrSizeOfAScreenshot) {
  ::setenv("QT_QPA_PLATFORM", "offscreen", 1);
  for (const char* option : {"--at 0,0,forward,1", "--size 800x600"}) {
    const auto refused = window("--listen job.sock " + std::string(option));
    EXPECT_EQ(refused.code, 2) << refused.out;
    EXPECT_NE(refused.err.find("cannot be combined"), std::string::npos) << refused.err;
  }
}

}  // namespace
}  // namespace ringscope
