// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/support/format_table.h"

namespace ringscope::traces {
namespace {

std::string specification() {
  std::ifstream in(RINGSCOPE_SOURCE_DIR "/traces/FORMAT.md");
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

template <typename... Records>
std::vector<std::string> linesOf() {
  return {test::formatLine<Records>()...};
}

template <typename... Enums>
std::vector<std::string> enumLinesOf() {
  return {test::enumLine<Enums>()...};
}

TEST(FormatTest, TheSpecificationNamesEveryFieldOfEveryRecordInItsOrder) {
  const std::string text = specification();
  for (const std::string& line :
       linesOf<Event, TensorRecord, MemorySample, ShardRecord, DiffRecord, Note, EndRecord, RunSpec,
               IntentRecord, GroupRecord, ScheduleRecord, TimesRecord, EventSummary>())
    EXPECT_NE(text.find(line), std::string::npos) << "FORMAT.md lacks the line\n" << line;
}

TEST(FormatTest, TheSpecificationNamesEveryValueOfEveryEnumeration) {
  const std::string text = specification();
  for (const std::string& line :
       enumLinesOf<EventKind, Payload, PieceMask, Direction, Pass, Clock, TensorKind, DType,
                   HashAlgorithm, MemoryCategory, Command, Strategy, Balance, Rotate, Order,
                   MaskKind, Kernel, PointToPoint, TransportKind, Launch, Device, PositionRule,
                   LossReduction, GroupAxis, WhyEmpty>())
    EXPECT_NE(text.find(line), std::string::npos) << "FORMAT.md lacks the line\n" << line;
}

}  // namespace
}  // namespace ringscope::traces
