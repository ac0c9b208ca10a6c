// SPDX-License-Identifier: Apache-2.0
// Recordings that were truncated, damaged or made to do harm: the readable parts are imported, and
// the rest is reported.
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "tests/support/expect_error.h"
#include "tests/support/place_at.h"
#include "tests/support/recording_copy.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/exchange/import/write_trace.h"
#include "traces/format/trace/trace.h"

namespace ringscope::traces {
namespace {

namespace fs = std::filesystem;

using test::anySays;
using test::kFirstFile;
using test::kRankFiles;
using test::kRecording;
using test::rank;

constexpr const char* kValues = "rank-00000.values-0000.safetensors";

class DamagedCopy : public test::RecordingCopy {
 public:
  std::shared_ptr<Trace> open() const { return openTrace(path()); }
  /// Inserts lines before the last line of the first rank.
  void add(const std::string& added) const {
    std::string all = text(kFirstFile);
    put(kFirstFile, all.insert(all.rfind(R"({"line":"end")"), added));
  }
};

const TensorRecord* first(const Trace& trace, TensorKind kind) {
  const auto found = std::ranges::find_if(trace.tensors(), [&](const TensorRecord& tensor) {
    return tensor.rank == rank(0) && tensor.tensor.kind == kind;
  });
  return found == trace.tensors().end() ? nullptr : &*found;
}

TEST(ImportDamage, ReportsThatAKilledRankWroteNoLastLine) {
  const DamagedCopy copy;
  const auto lines = copy.lines(kFirstFile);
  std::string half;
  for (std::size_t i = 0; i < lines.size() / 2; ++i) half += lines[i];
  copy.put(kFirstFile, half);
  const auto trace = copy.open();
  EXPECT_TRUE(anySays(trace->problems(), "rank 0 wrote no last line"));
  EXPECT_FALSE(anySays(trace->problems(), "the last line of rank 0 was cut"));
  EXPECT_GT(trace->eventCount(rank(0)), 0u);
  EXPECT_LT(trace->eventCount(rank(0)), trace->eventCount(rank(1)));
}

TEST(ImportDamage, ImportsWhatPrecedesTheCutOfAFile) {
  const DamagedCopy copy;
  const std::string all = copy.text(kFirstFile);
  std::size_t before = 0;
  for (std::size_t size = 0; size <= all.size(); size += 1777) {
    copy.put(kFirstFile, all.substr(0, size));
    const auto trace = copy.open();
    EXPECT_GE(trace->eventCount(rank(0)), before) << size;
    EXPECT_GT(trace->eventCount(rank(1)), 0u) << size;
    EXPECT_TRUE(anySays(trace->problems(), "the recording was cut") ||
                anySays(trace->problems(), "are missing"))
        << size;
    before = trace->eventCount(rank(0));
  }
  EXPECT_GT(before, 30u);
}

TEST(ImportDamage, ARankThatLeftNoLineCountsAsMissing) {
  for (const char* left : {"", R"({"line":"head)", "{}\n", "no JSON\n", "\n\n"}) {
    const DamagedCopy copy;
    copy.put(kRankFiles[1], left);
    const auto trace = copy.open();
    EXPECT_TRUE(anySays(trace->problems(), copy.file(kRankFiles[1]))) << left;
    EXPECT_TRUE(anySays(trace->problems(), "the files of rank 1 of 2 are missing")) << left;
    EXPECT_GT(trace->eventCount(rank(0)), 0u) << left;
  }
}

TEST(ImportDamage, RejectsAFolderWithoutAnyLine) {
  const DamagedCopy copy;
  for (const char* name : kRankFiles) copy.put(name, "{\"line\":");
  EXPECT_ERROR(copy.open(), ErrorCode::kInput, "holds no whole line");
}

TEST(ImportDamage, LinesThatCannotBeReadAreCountedAndTheFirstIsNamed) {
  const DamagedCopy copy;
  std::string long_line;
  long_line.resize(9'000'000, 'x');
  copy.add("{\"line\":\"block\",\"begin_ns\":NaN}\n[1,2]\n\n" + long_line + "\n");
  const auto trace = copy.open();
  const std::string number = std::to_string(copy.lines(kFirstFile).size() - 4);
  EXPECT_TRUE(anySays(trace->problems(), "4 lines of rank 0 cannot be read; the first is line " +
                                             number + ": is not valid JSON"));
  EXPECT_EQ(trace->eventCount(), openTrace(kRecording)->eventCount());
}

TEST(ImportDamage, ALineThatIsThereTwiceCountsOnce) {
  const DamagedCopy copy;
  std::string repeated;
  int count = 0;
  for (const std::string& line : copy.lines(kFirstFile))
    if (line.starts_with(R"({"line":"block")") || line.starts_with(R"({"line":"tensor")")) {
      repeated += line;
      ++count;
    }
  ASSERT_GT(count, 50);
  copy.add(repeated);
  const auto trace = copy.open(), whole = openTrace(kRecording);
  EXPECT_TRUE(
      anySays(trace->problems(),
              std::to_string(count) + " lines of rank 0 repeat earlier ones and are left out"));
  EXPECT_EQ(trace->eventCount(), whole->eventCount());
  EXPECT_EQ(trace->tensors().size(), whole->tensors().size());
}

TEST(ImportDamage, IgnoresLinesAfterASecondHeader) {
  const DamagedCopy copy;
  const std::string all = copy.text(kFirstFile);
  copy.put(kFirstFile, all + all);
  const auto trace = copy.open();
  EXPECT_TRUE(anySays(trace->problems(), "the file of rank 0 begins again in line "));
  EXPECT_EQ(trace->eventCount(), openTrace(kRecording)->eventCount());
}

TEST(ImportDamage, AnImpossibleEventIsTheOnlyOneLeftOut) {
  const DamagedCopy copy;
  for (const char* odd : {R"("layer":5000)", R"("layer":9007199254740992)", R"("layer":1e300)"})
    copy.add(std::string(R"({"line":"merge","call":1,"step":0,)") + odd +
             R"(,"ring_step":0,"begin_ns":5,"end_ns":)" +
             std::to_string(copy.text(kFirstFile).size()) + "}\n");
  copy.add(R"({"line":"merge","call":1,"step":0,"layer":0,"ring_step":0,"begin_ns":5,"end_ns":-1})"
           "\n");
  const auto trace = copy.open();
  EXPECT_TRUE(anySays(trace->problems(),
                      "2 events cannot be and are left out: the trace names a place that"));
  // an event outside the layers
  EXPECT_EQ(trace->eventCount(), openTrace(kRecording)->eventCount() + 1);
}

TEST(ImportDamage, AnImpossibleTensorIsTheOnlyOneLeftOut) {
  const DamagedCopy copy;
  copy.change(kFirstFile, R"("what":"q",)", R"("what":"q","source_rank":70000,)");
  const auto trace = copy.open();
  EXPECT_TRUE(anySays(trace->problems(),
                      "1 tensor cannot be and are left out: the trace names rank 70000"));
  EXPECT_EQ(trace->tensors().size(), openTrace(kRecording)->tensors().size() - 1);
}

TEST(ImportDamage, LeavesOutAndReportsATensorWithoutAUniqueNumber) {
  const DamagedCopy copy;
  copy.change(kFirstFile, R"("id":1,)", R"("id":-1,)");
  copy.change(kFirstFile, R"("id":3,)", R"("id":2,)");
  EXPECT_TRUE(
      anySays(copy.open()->problems(), "2 tensors of rank 0 have no number, or that of another"));
}

TEST(ImportDamage, KeepsTheCompleteTensorsOfATruncatedFileOfValues) {
  const DamagedCopy copy;
  const std::string values = copy.text(kValues);
  copy.put(kValues, values.substr(0, values.size() - 200));
  const auto trace = copy.open(), whole = openTrace(kRecording);
  EXPECT_TRUE(
      anySays(trace->problems(), std::string(kValues) + " was cut: it ends before the values of "));
  const auto kept = [](const Trace& of) {
    return std::ranges::count_if(of.tensors(), [&](const TensorRecord& tensor) {
      return tensor.rank == rank(0) && of.bytes(tensor);
    });
  };
  EXPECT_LT(kept(*trace), kept(*whole));
  EXPECT_GT(kept(*trace), kept(*whole) / 2);
}

TEST(ImportDamage, ValuesThatAreNotThoseOfTheirHashAreDamaged) {
  const DamagedCopy copy;
  const auto whole = openTrace(kRecording);
  const auto q = whole->bytes(*first(*whole, TensorKind::kQ));
  std::string values = copy.text(kValues);
  const auto at = values.find(std::string(q->begin(), q->end()));
  ASSERT_NE(at, std::string::npos);
  values[at + 5] = static_cast<char>(values[at + 5] ^ 16);
  copy.put(kValues, values);
  const auto trace = copy.open();
  EXPECT_ERROR(trace->bytes(*first(*trace, TensorKind::kQ)), ErrorCode::kInput,
               "are damaged: they are not those whose hash was recorded");
  EXPECT_TRUE(trace->bytes(*first(*trace, TensorKind::kK)));
  const test::TempDir dir;
  const auto problems = writeTrace(copy.path(), dir.file("job.rscope"));
  EXPECT_TRUE(std::ranges::any_of(problems, [](const std::string& problem) {
    return problem.find("are damaged") != std::string::npos;
  }));
  const auto imported = openTrace(dir.file("job.rscope"));
  EXPECT_EQ(imported->tensors().size(), whole->tensors().size());
  EXPECT_TRUE(anySays(imported->problems(), "the values of one tensor are missing"));
}

TEST(ImportDamage, AFalseHeaderLosesOnlyItsFileOfValues) {
  const std::string good = DamagedCopy().text(kValues);
  const auto changed = [&](std::size_t at, const std::string& to) {
    return std::string(good).replace(at, to.size(), to);
  };
  const auto offsets = good.find("\"data_offsets\":[") + 16;
  for (const std::string& bad :
       {changed(0, std::string(8, '\xFF')), changed(0, std::string("\0\0\0\0\0\x10\0\0", 8)),
        changed(8, "["), changed(offsets, "9"), std::string("short"), std::string()}) {
    const DamagedCopy copy;
    copy.put(kValues, bad);
    const auto trace = copy.open();
    EXPECT_TRUE(anySays(trace->problems(), kValues)) << bad.substr(0, 40);
    EXPECT_FALSE(trace->bytes(*first(*trace, TensorKind::kQ)));
    EXPECT_EQ(trace->tensors().size(), openTrace(kRecording)->tensors().size());
  }
}

TEST(ImportDamage, ALinkToValuesElsewhereIsNotFollowed) {
  const DamagedCopy copy;
  fs::rename(copy.file(kValues), copy.file("elsewhere"));
  fs::create_symlink(copy.file("elsewhere"), copy.file(kValues));
  const auto trace = copy.open();
  EXPECT_TRUE(anySays(trace->problems(), std::string(kValues) + ", a file of values, is missing"));
  EXPECT_FALSE(trace->bytes(*first(*trace, TensorKind::kQ)));
}

TEST(ImportDamage, ReportsValuesThatTheirFileLacks) {
  const DamagedCopy copy;
  copy.change(kFirstFile, R"("key":"t3")", R"("key":"t3000")");
  EXPECT_TRUE(anySays(copy.open()->problems(),
                      std::string("the values of t3000 in ") + kValues + " are not there"));
}

TEST(ImportDamage, MoreBuffersThanABatchCanHaveAreLeftOut) {
  const DamagedCopy copy;
  std::string buffers;
  for (int i = 0; i < 300; ++i)
    buffers += R"({"line":"buffer","step":0,"name":"b)" + std::to_string(i) +
               R"(","seq_dim":0,"full_shape":[2],"local_shape":[1]})"
               "\n";
  copy.add(buffers);
  const auto trace = copy.open();
  EXPECT_TRUE(anySays(trace->problems(), "rank 0 cut more than 256 buffers in a training step"));
}

TEST(ImportDamage, ImportsOrRejectsAFolderWithAnyFlippedBits) {
  std::mt19937 random(3);
  const DamagedCopy copy;
  const std::string good = copy.text(kFirstFile), values = copy.text(kValues);
  int refused = 0;
  for (int round = 0; round < 60; ++round) {
    std::string lines = good, kept = values;
    for (int i = 0; i < 20; ++i) {
      lines[random() % lines.size()] ^= static_cast<char>(1 << random() % 8);
      kept[random() % kept.size()] ^= static_cast<char>(1 << random() % 8);
    }
    copy.put(kFirstFile, lines);
    copy.put(kValues, kept);
    try {
      EXPECT_FALSE(copy.open()->problems().empty()) << round;
    } catch (const Error& error) {
      EXPECT_GT(std::string(error.what()).size(), 20u);
      ++refused;
    }
  }
  EXPECT_LT(refused, 20);
}

}  // namespace
}  // namespace ringscope::traces
