// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/support/format_table.h"
#include "tests/support/places.h"
#include "traces/format/core/hash.h"
#include "traces/format/schema/chunk.h"

namespace ringscope::traces {
namespace {

/// Returns the specification without its marks of code.
std::string specification() {
  std::ifstream in(test::inSources("traces/FORMAT.md"));
  std::ostringstream text;
  text << in.rdbuf();
  std::string plain = text.str();
  std::erase(plain, '`');
  return plain;
}

template <typename... Records>
std::vector<std::string> linesOf() {
  return {test::formatLine<Records>()...};
}

template <typename... Enums>
std::vector<std::string> enumLinesOf() {
  return {test::enumLine<Enums>()...};
}

std::vector<std::string> linesOfRecords() {
  return linesOf<Event, TensorRecord, MemorySample, ShardRecord, DiffRecord, Note, EndRecord,
                 RunSpec, IntentRecord, GroupRecord, ScheduleRecord, TimesRecord, EventSummary>();
}

std::vector<std::string> linesOfEnumerations() {
  return enumLinesOf<EventKind, Payload, PieceMask, Direction, Pass, Clock, TensorKind, DType,
                     HashAlgorithm, MemoryCategory, Command, Strategy, Balance, Rotate, Order,
                     MaskKind, Kernel, PointToPoint, TransportKind, Launch, Device, PositionRule,
                     LossReduction, GroupAxis, WhyEmpty>();
}

TEST(FormatTest, TheSpecificationNamesEveryFieldOfEveryRecordInItsOrder) {
  const std::string text = specification();
  for (const std::string& line : linesOfRecords())
    EXPECT_NE(text.find(line), std::string::npos) << "FORMAT.md lacks the line\n" << line;
}

TEST(FormatTest, TheSpecificationNamesEveryValueOfEveryEnumeration) {
  const std::string text = specification();
  for (const std::string& line : linesOfEnumerations())
    EXPECT_NE(text.find(line), std::string::npos) << "FORMAT.md lacks the line\n" << line;
}

/// Otherwise a file with other fields under the same version would be read as a damaged file.
TEST(FormatTest, TheNumberOfTheFormatGoesUpWhenAFieldOrAValueChanges) {
  std::string all;
  for (const auto& lines : {linesOfRecords(), linesOfEnumerations()})
    for (const std::string& line : lines) all += line + "\n";
  EXPECT_EQ(mixSum64(all.data(), all.size()), 3278025727893286634u)
      << "raise kFormatVersion, and set this number anew";
  EXPECT_EQ(kFormatVersion, 4);
}

}  // namespace
}  // namespace ringscope::traces
