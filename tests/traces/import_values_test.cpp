// SPDX-License-Identifier: Apache-2.0
// Values of a recorded job that several tensors share.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/support/places.h"
#include "tests/support/recording_copy.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/trace/trace.h"

namespace ringscope::traces {
namespace {

using test::anySays;
using test::kFirstFile;
using test::RecordingCopy;

std::uint64_t bytesOfFirstQ(const Trace& trace) {
  const auto q = std::ranges::find_if(trace.tensors(), [](const TensorRecord& tensor) {
    return tensor.tensor.kind == TensorKind::kQ;
  });
  return trace.bytes(*q)->size();
}

/// Adds copies of the first q under other training steps. All refer to the same values.
void shareFirstQ(const RecordingCopy& copy, int times) {
  const auto lines = copy.lines(kFirstFile);
  const auto q = std::ranges::find_if(lines, [](const std::string& line) {
    return line.find(R"("what":"q")") != std::string::npos;
  });
  std::string all;
  for (int i = 0; i < times; ++i) {
    std::string more = *q;
    const auto id = more.find("\"id\":");
    more.replace(id, more.find(',', id) - id, "\"id\":" + std::to_string(90'000 + i));
    const auto step = more.find("\"step\":0");
    all += more.replace(step, 8, "\"step\":" + std::to_string(i + 1));
  }
  std::string text = copy.text(kFirstFile);
  copy.put(kFirstFile, text.insert(text.rfind(R"({"line":"end")"), all));
}

TEST(ImportValues, ManyTensorsOfAnHonestRecordingMayShareValues) {
  const RecordingCopy copy;
  shareFirstQ(copy, 100);
  EXPECT_FALSE(anySays(openTrace(copy.path())->problems(), "are named by too many tensors"));
}

TEST(ImportValues, LimitsHowFarSharedValuesExpandAFile) {
  const RecordingCopy copy;
  const auto trace = openTrace(copy.path());
  const std::uint64_t size = bytesOfFirstQ(*trace);
  const auto file = static_cast<std::uint64_t>(
      std::filesystem::file_size(copy.file("rank-00000.values-0000.safetensors")));
  shareFirstQ(copy, static_cast<int>(16 * file / size) + 1);
  EXPECT_TRUE(anySays(openTrace(copy.path())->problems(), "are named by too many tensors"));
}

}  // namespace
}  // namespace ringscope::traces
