// SPDX-License-Identifier: Apache-2.0
// The quick reader of plain events reads what the parser of any JSON reads, and nothing else.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/support/files.h"
#include "traces/exchange/import/kineto/event_reader.h"
#include "traces/exchange/import/kineto/plain_event.h"

namespace ringscope::traces {
namespace {

const std::string kWhole =
    R"({"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 1, "tid": 42,
       "ts": 4718750845581.684, "dur": 12.5, "args": {"External id": 7, "Collective name":
       "allreduce", "In msg nelems": 100, "dtype": "Float", "Seq": "12", "a": [1e-5, true, null, {}],
       "Process Group Ranks": "[0, 1, 2]", "Input Dims": [[2, 3], []], "path": "a\\b\n\"c"}})";

/// Everything that an importer reads of an event, as text.
using Fields = std::vector<std::string>;

Fields fieldsFor(const KinetoEvent& event) {
  Fields fields = {std::string(event.name), std::string(event.category),
                   std::to_string(event.begin_ns), std::to_string(event.end_ns),
                   std::to_string(event.thread)};
  for (std::size_t i = 0; i < kKinetoArguments; ++i) {
    const auto argument = static_cast<KinetoArgument>(i);
    const auto value = nlohmann::json::parse(event.json(argument), nullptr, false);
    fields.push_back(value.is_discarded() ? "none" : value.dump());
    fields.push_back(std::to_string(event.number(argument).value_or(-1)));
    fields.push_back(event.text(argument));
  }
  return fields;
}

/// The events of a file, the number of complete and of impossible events, and whether the file is
/// damaged.
struct ReadList {
  std::vector<Fields> events;
  std::uint64_t count = 0, left_out = 0;
  bool is_damaged = false;
  friend bool operator==(const ReadList&, const ReadList&) = default;
};

/// Reads a list of events. The filter does not recognise a list whose key is written with an
/// escape, so that the parser reads all events.
ReadList readList(const test::TempDir& dir, const std::string& events, bool by_parser) {
  const std::string path = dir.file("trace.json");
  std::ofstream(path, std::ios::binary)
      << R"({"schemaVersion": 1, ")" << (by_parser ? "traceEvent\\u0073" : "traceEvents") << "\": ["
      << events << "]}";
  ReadList content;
  const auto head = readKineto(
      path, [](const EventLabel& /*label*/) { return true; },
      [&](const KinetoEvent& event) { content.events.push_back(fieldsFor(event)); }, false);
  content.count = head.events;
  content.left_out = head.left_out;
  content.is_damaged = !head.damage.empty();
  return content;
}

TEST(KinetoPlainEvent, ReadsAllThatImportersRead) {
  const std::string text = kWhole + ", more";
  PlainEvent plain(text);
  ASSERT_TRUE(plain.read());
  EXPECT_EQ(plain.size(), kWhole.size());
  EXPECT_EQ(plain.phase(), "X");
  const KinetoEvent& event = plain.event();
  EXPECT_EQ(event.name, "record_param_comms");
  EXPECT_EQ(event.category, "cpu_op");
  EXPECT_EQ(event.thread, 42);
  EXPECT_EQ(event.begin_ns, 4'718'750'845'581'684);
  EXPECT_EQ(event.end_ns - event.begin_ns, 12'500);
  EXPECT_EQ(event.number(KinetoArgument::kExternalId), 7);
  EXPECT_EQ(event.number(KinetoArgument::kSequence), 12);
  EXPECT_EQ(event.text(KinetoArgument::kGroupRanks), "[0, 1, 2]");
  EXPECT_EQ(event.json(KinetoArgument::kInputDims), "[[2, 3], []]");
  EXPECT_FALSE(event.has(KinetoArgument::kStream));
}

TEST(KinetoPlainEvent, LeavesAnythingElseToTheParser) {
  for (const std::string other :
       {R"({"name": "\u0061"})", R"({"name": "a\"b"})", "{\"a\": \"\xc3\xa4\"}",
        "{\"a\": \"\x7f\"}", "{\"a\": \"\n\"}", R"({"a": NaN})", R"({"a": 01})", R"({"a": 1.})",
        R"({"a": 1e999})", R"({"a": +1})", R"({"a": -})", R"({"a": tru})", R"({"a": [1,]})",
        R"({"a": 1,})", R"({"a" 1})", R"({a: 1})", R"({"a": "\x"})",
        R"({"tid": 99999999999999999999})", R"({"a": [)"})
    EXPECT_FALSE(PlainEvent(other).read()) << other;
  const std::string nested = std::string(100, '[') + std::string(100, ']');
  EXPECT_FALSE(PlainEvent(R"({"a": )" + nested + "}").read());
}

TEST(KinetoPlainEvent, ChangedEventsAreReadAsTheParserReadsThem) {
  constexpr std::string_view kBytes = "{}[]\",:\\0123456789.-+eEtfnul \n\tX\x01\x7f\xc3\xa4";
  std::mt19937 random(11);
  const test::TempDir dir;
  int same = 0;
  for (int round = 0; round < 1000; ++round) {
    std::string changed = kWhole;
    for (int change = 0, changes = 1 + static_cast<int>(random() % 2); change < changes; ++change) {
      const std::size_t at = random() % changed.size();
      if (random() % 3 == 0)
        changed.erase(at, 1 + random() % 8);
      else
        changed[at] = kBytes[random() % kBytes.size()];
    }
    const std::string events = kWhole + "," + changed + ",\n" + kWhole;
    const ReadList content = readList(dir, events, false);
    EXPECT_EQ(content, readList(dir, events, true)) << changed;
    same += !content.is_damaged;
  }
  EXPECT_GT(same, 100);
}

TEST(KinetoPlainEvent, EventsKeepTheirOrderBesideThoseOfTheParser) {
  const test::TempDir dir;
  std::string events;
  for (int i = 0; i < 100; ++i) {
    std::string event = kWhole;
    event.replace(event.find("\"tid\": 42"), 9, "\"tid\": " + std::to_string(i));
    if (i % 3 == 0) event.replace(event.find("record"), 6, "re\\u0063ord");
    events += (i ? "," : "") + event;
  }
  const ReadList content = readList(dir, events, false);
  ASSERT_EQ(content.events.size(), 100u);
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(content.events[i][4], std::to_string(i));
  EXPECT_EQ(content, readList(dir, events, true));
}

TEST(KinetoPlainEvent, NothingAfterDamageIsRead) {
  const test::TempDir dir;
  const ReadList content = readList(dir, kWhole + R"(, {"ph": "X", "name" "b"}, )" + kWhole, false);
  EXPECT_TRUE(content.is_damaged);
  EXPECT_EQ(content.events.size(), 1u);
}

TEST(KinetoPlainEvent, AListInsideAnotherPartIsNotThatOfTheFile) {
  const test::TempDir dir;
  const std::string path = dir.file("trace.json");
  std::ofstream(path) << R"({"other": {"traceEvents": [)" << kWhole << "]}}";
  int taken = 0;
  readKineto(
      path, [](const EventLabel& /*label*/) { return true; },
      [&](const KinetoEvent& /*event*/) { ++taken; }, false);
  EXPECT_EQ(taken, 0);
}

}  // namespace
}  // namespace ringscope::traces
