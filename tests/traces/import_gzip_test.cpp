// SPDX-License-Identifier: Apache-2.0
// Files that the command gzip compressed.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/expect_error.h"
#include "tests/support/recording_copy.h"
#include "traces/exchange/import/content.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/core/inflate.h"
#include "traces/format/core/input_file.h"
#include "traces/format/trace/imported.h"

namespace ringscope::traces {
namespace {

using test::anySays;
using test::RecordingCopy;

/// A text that is long and repeats itself in part.
std::string sampleText() {
  return readFile(test::inSources("tests/reference/kineto/rank0.json"));
}

/// Compresses all files of a folder by the command gzip with an option.
void compress(const std::string& folder, const std::string& option) {
  ASSERT_EQ(std::system(("gzip " + option + " '" + folder + "'/*").c_str()), 0);
}

TEST(Gzip, GivesTheContentOfEveryKindOfBlock) {
  const RecordingCopy copy(test::inSources("tests/reference/flight_recorder"));
  std::string all;
  const std::string text = sampleText();
  copy.put("gloo_rank_0.json", text);
  copy.put("gloo_rank_1.json", "a");  // a fixed code
  std::string noise(100'000, '\0');   // stored blocks
  std::uint64_t state = 1;
  for (char& c : noise) c = static_cast<char>((state = state * 6364136223846793005U + 1) >> 56);
  copy.put("gloo_rank_2.json", noise);
  copy.put("gloo_rank_3.json", "");
  compress(copy.path(), "-9");
  EXPECT_EQ(readContent(copy.file("gloo_rank_0.json.gz")).bytes, text);
  EXPECT_EQ(readContent(copy.file("gloo_rank_1.json.gz")).bytes, "a");
  EXPECT_EQ(readContent(copy.file("gloo_rank_2.json.gz")).bytes, noise);
  EXPECT_EQ(readContent(copy.file("gloo_rank_3.json.gz")).bytes, "");
  // Members one after the other.
  copy.put("both.gz", copy.text("gloo_rank_1.json.gz") + copy.text("gloo_rank_0.json.gz"));
  const FileContent both = readContent(copy.file("both.gz"));
  EXPECT_EQ(both.bytes, "a" + text);
  EXPECT_EQ(both.damage, "");
  EXPECT_ERROR(readContent(copy.file("both.gz"), text.size()), ErrorCode::kInput,
               "when it is decompressed");
}

TEST(Gzip, ReadsUpToADamage) {
  const RecordingCopy copy(test::inSources("tests/reference/flight_recorder"));
  const std::string text = readFile(copy.file("gloo_rank_0.json"));
  compress(copy.path(), "-6");
  const std::string gzip = copy.text("gloo_rank_0.json.gz");
  for (std::size_t size = 3; size < gzip.size(); size += 1 + size / 50) {
    const Inflated cut = inflate(std::string_view(gzip).substr(0, size), text.size());
    EXPECT_NE(cut.damage.find("it is cut at byte"), std::string::npos) << size;
    EXPECT_TRUE(text.starts_with(cut.bytes));
  }
  std::string wrong = gzip;
  wrong[wrong.size() - 6] = static_cast<char>(wrong[wrong.size() - 6] ^ 1);  // the checksum
  EXPECT_NE(inflate(wrong, text.size()).damage.find("it is damaged"), std::string::npos);
  for (std::size_t at = 0; at < gzip.size(); ++at) {
    std::string bent = gzip;
    bent[at] = static_cast<char>(bent[at] ^ 0x55);
    const Inflated inflated = inflate(bent, 2 * text.size());
    EXPECT_TRUE(inflated.bytes == text || inflated.full || !inflated.damage.empty()) << at;
  }
}

TEST(ImportGzip, CompressedFilesGiveTheSameRecording) {
  for (const char* name : {"kineto", "flight_recorder", "flight_recorder_pickles"}) {
    const std::string plain = test::inSources("tests/reference/") + name;
    const RecordingCopy copy(plain);
    for (const auto& entry : std::filesystem::directory_iterator(copy.path()))
      if (entry.path().extension() == ".py") std::filesystem::remove(entry.path());
    compress(copy.path(), "-6");
    const auto trace = openTrace(copy.path()), expected = openTrace(plain);
    EXPECT_TRUE(trace->problems().empty());
    EXPECT_EQ(describe(*importedFrom(*trace)), describe(*importedFrom(*expected)));
  }
}

TEST(ImportGzip, ACutFileGivesTheEventsBeforeTheCut) {
  const RecordingCopy copy(test::inSources("tests/reference/kineto"));
  std::filesystem::remove(copy.file("make.py"));
  compress(copy.path(), "-6");
  const std::string gzip = copy.text("rank1.json.gz");
  copy.put("rank1.json.gz", gzip.substr(0, gzip.size() / 2));
  const auto trace = openTrace(copy.path());
  EXPECT_TRUE(anySays(trace->problems(), "rank1.json.gz could not be read to its end (it is cut"));
}

}  // namespace
}  // namespace ringscope::traces
