// SPDX-License-Identifier: Apache-2.0
// Redacted parts of a recording occur nowhere in the file, and the doctor works on the rest.
#include "traces/exchange/import/redaction.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/support/expect_error.h"
#include "tests/support/files.h"
#include "traces/analysis/doctor/diagnosis.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/exchange/import/write_trace.h"
#include "traces/format/core/error.h"
#include "traces/format/storage/sealed.h"
#include "traces/format/trace/trace.h"

namespace ringscope::traces {
namespace {

using test::readContent;
using test::sampleRecording;

TEST(RedactionTest, AbsolutePathsAreLeftOutOfText) {
  EXPECT_EQ(withoutPaths("cannot read /home/someone/data/a.bin: full"),
            "cannot read (path left out): full");
  EXPECT_EQ(withoutPaths("--text=/a/b.txt and/or 3 / 4"), "--text=(path left out) and/or 3 / 4");
  EXPECT_EQ(withoutPaths("/only"), "(path left out)");
  EXPECT_EQ(withoutPaths("nothing here"), "nothing here");
}

TEST(RedactionTest, RejectsAnUnknownKindOfData) {
  EXPECT_TRUE(Redaction::parse("all").hosts);
  EXPECT_FALSE(Redaction::parse("").any());
  EXPECT_ERROR(Redaction::parse("tokens,names"), ErrorCode::kUsage, "'names' is nothing");
}

TEST(RedactionTest, TokensAndWeightsHaveNoValuesLeftAndPathsAreGone) {
  test::TempDir dir;
  const std::string shared = dir.file("shared.rscope");
  EXPECT_TRUE(writeTrace(sampleRecording(), shared, Redaction::parse("all")).empty());
  const auto before = openTrace(sampleRecording()), after = openTrace(shared);
  EXPECT_TRUE(after->problems().empty());
  ASSERT_EQ(after->tensors().size(), before->tensors().size());
  int left_out = 0;
  for (std::size_t i = 0; i < after->tensors().size(); ++i) {
    const TensorRecord &old = before->tensors()[i], &now = after->tensors()[i];
    const std::string name = now.tensor.text();
    const bool secret = name == "buffer.input_ids" || name == "buffer.labels" ||
                        name == "batch.input_ids" || name == "logits" ||
                        name.starts_with("grad.") || name.starts_with("weight.");
    EXPECT_EQ(now.has_values, old.has_values && !secret) << name;
    EXPECT_EQ(after->bytes(now).has_value(), now.has_values) << name;
    EXPECT_EQ(now.hash == old.hash, !secret) << name;
    left_out += secret;
  }
  EXPECT_GT(left_out, 0);
  for (const std::string& text : after->run()->text) EXPECT_EQ(text, "(path left out)");
  EXPECT_EQ(readContent(shared).find("sample/text"), std::string::npos);
  EXPECT_TRUE(readSealed(shared).empty()) << "the command line is not shared";
}

TEST(RedactionTest, ValuesOfWhichTheRecordIsLostAreNotShared) {
  Redactor redactor(Redaction::parse("tokens"));
  Chunk values;
  values.kind = ChunkKind::kValues;
  values.key = 7;
  EXPECT_FALSE(redactor.apply(values)) << "nobody knows whose they are";
  TensorRecord position_ids;
  position_ids.tensor = {TensorKind::kPositionIds};
  position_ids.id = TensorId::of(7);
  Chunk records;
  records.kind = ChunkKind::kTensors;
  records.body = encodeRows<TensorRecord>(std::vector{position_ids});
  records.rows = 1;
  redactor.look(records);
  EXPECT_TRUE(redactor.apply(values));
}

TEST(RedactionTest, EqualTensorsStayEqualAndOthersDiffer) {
  test::TempDir dir;
  const std::string shared = dir.file("shared.rscope"), again = dir.file("again.rscope");
  writeTrace(sampleRecording(), shared, Redaction::parse("tokens"));
  writeTrace(sampleRecording(), again, Redaction::parse("tokens"));
  const auto before = openTrace(sampleRecording()), after = openTrace(shared),
             other = openTrace(again);
  const TensorName ids{TensorKind::kBuffer, "input_ids"};
  std::vector<std::size_t> tokens;
  for (std::size_t i = 0; i < before->tensors().size(); ++i)
    if (before->tensors()[i].tensor == ids) tokens.push_back(i);
  ASSERT_GT(tokens.size(), 1u);
  for (const std::size_t a : tokens) {
    EXPECT_NE(after->tensors()[a].hash, other->tensors()[a].hash) << "each has a secret of its own";
    for (const std::size_t b : tokens)
      EXPECT_EQ(after->tensors()[a].hash == after->tensors()[b].hash,
                before->tensors()[a].hash == before->tensors()[b].hash);
  }
}

TEST(RedactionTest, TheDoctorStillFindsWhatTheRestShows) {
  test::TempDir dir;
  const std::string shared = dir.file("shared.rscope");
  writeTrace(sampleRecording(), shared, Redaction::parse("all"));
  const auto diagnosis = diagnose(*openTrace(shared));
  ASSERT_EQ(diagnosis.findings().size(), 1u) << toText(diagnosis);
  EXPECT_EQ(diagnosis.findings().front().rule, "missing_position_ids");
  const auto labels =
      std::ranges::find(diagnosis.entries, "shift_labels_per_shard", &Diagnosis::Entry::rule);
  ASSERT_NE(labels, diagnosis.entries.end());
  EXPECT_EQ(labels->result.verdict, Verdict::kNotObservable);
}

}  // namespace
}  // namespace ringscope::traces
