// SPDX-License-Identifier: Apache-2.0
// Events that nobody reads are skipped before the parser, and everything else stays as it is.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "tests/support/files.h"
#include "traces/exchange/import/kineto/event_filter.h"
#include "traces/exchange/import/kineto/event_reader.h"

namespace ringscope::traces {
namespace {

bool isCommunicationCall(const EventLabel& label) {
  return label.category == "cpu_op" && label.name.starts_with("c10d::");
}

std::string filtered(const std::string& text) {
  std::istringstream in(text);
  EventFilter filter(in, isCommunicationCall, [](const PlainEvent& /*event*/) { return false; });
  return {std::istreambuf_iterator<char>(&filter), {}};
}

std::string file(const std::string& events) {
  return R"({"schemaVersion": 1, "traceEvents": [)" + events + R"(], "traceName": "a"})";
}

const std::string kRead =
    R"({"ph": "X", "cat": "cpu_op", "name": "c10d::send", "ts": 5, "dur": 1, "args": {"a": [1, 2]}})";
const std::string kOther =
    R"({"ph": "X", "cat": "cpu_op", "name": "aten::add", "ts": 6, "dur": 1, "args": {"b": {"c": "}"}}})";

TEST(KinetoEventFilter, LeavesOutWholeEventsWithTheirCommas) {
  EXPECT_EQ(filtered(file(kOther + ",\n" + kRead + ", " + kOther + "," + kRead)),
            file(kRead + "," + kRead));
  EXPECT_EQ(filtered(file(kOther)), file(""));
  EXPECT_EQ(filtered(file("")), file(""));
}

TEST(KinetoEventFilter, KeepsEventsThatAreNoPlainJson) {
  for (const char* changed : {R"({"cat": "cpu_op", "name": "aten::add", "ts": NaN})",
                              R"({"cat": "cpu_op", "name": "aten::\u0061dd"})",
                              "{\"cat\": \"cpu_op\", \"name\": \"\xff\"}",
                              R"({"c\u0061t": "kernel"})", R"({"cat": "cpu_op, "name": "x"})"})
    EXPECT_EQ(filtered(file(kOther + "," + changed)), file(changed)) << changed;
}

TEST(KinetoEventFilter, LeavesAnythingBesideEventsToTheParser) {
  for (const std::string& list : {kOther + ",5", kOther + ",", "," + kOther, kOther + kOther})
    EXPECT_EQ(nlohmann::json::accept(filtered(file(list))), nlohmann::json::accept(file(list)))
        << list;
  for (const std::string text : {"", "{}", R"({"traceEvents": {"a": [1]}})", R"("traceEvents":)"})
    EXPECT_EQ(filtered(text), text);
}

/// The events of a text that are read, and its damage.
struct Content {
  std::vector<std::int64_t> begins;
  std::uint64_t events = 0;
  std::string damage;
  friend bool operator==(const Content&, const Content&) = default;
};

Content contentOf(const std::string& path, bool all) {
  Content content;
  const auto take = [&](const KinetoEvent& event) {
    if (isCommunicationCall({"X", event.category, event.name, false}))
      content.begins.push_back(event.begin_ns);
  };
  const auto head = readKineto(
      path, [&](const EventLabel& label) { return all || isCommunicationCall(label); }, take,
      false);
  content.events = head.events;
  content.damage = head.damage;
  return content;
}

TEST(KinetoEventFilter, CutFilesHaveTheSameEventsAndTheSamePlaceOfDamage) {
  std::mt19937 random(7);
  const test::TempDir dir;
  for (int round = 0; round < 300; ++round) {
    std::string events;
    for (int i = 0, count = static_cast<int>(random() % 20); i < count; ++i)
      events += (i ? ", " : "") + (random() % 3 ? kOther : kRead);
    std::string text = file(events);
    if (round % 2) text.resize(random() % text.size());
    const std::string path = dir.file("trace.json");
    std::ofstream(path, std::ios::binary) << text;
    EXPECT_EQ(contentOf(path, false), contentOf(path, true)) << text;
  }
}

TEST(KinetoEventFilter, ALongFileIsReadInBlocks) {
  const test::TempDir dir;
  const std::string path = dir.file("trace.json");
  {
    std::ofstream out(path, std::ios::binary);
    out << R"({"traceEvents": [)" << kRead;
    for (int i = 0; i < 40'000; ++i) out << ",\n" << (i % 1'000 ? kOther : kRead);
    out << "]}";
  }
  const Content content = contentOf(path, false);
  EXPECT_EQ(content.begins.size(), 41u);
  EXPECT_EQ(content.events, 40'001u);
  EXPECT_EQ(content.damage, "");
}

}  // namespace
}  // namespace ringscope::traces
