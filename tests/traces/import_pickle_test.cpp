// SPDX-License-Identifier: Apache-2.0
// Pickled dumps of two Gloo processes, in tests/reference/flight_recorder_pickles. PyTorch 2.11
// wrote that of rank 0 (protocol 2). Python wrote that of rank 1 (protocol 5). Only the paths in
// their stacks were changed.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/support/expect_error.h"
#include "tests/support/recording_copy.h"
#include "traces/exchange/import/flight_recorder/pickle.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/core/input_file.h"
#include "traces/format/trace/imported.h"

namespace ringscope::traces {
namespace {

using nlohmann::json;
using test::anySays;

const std::string kDumps = test::inSources("tests/reference/flight_recorder_pickles");

class PickleCopy : public test::RecordingCopy {
 public:
  PickleCopy() : RecordingCopy(kDumps) {}
};

std::string pickled(const std::string& body) {
  return "\x80\x02" + body + ".";
}

json valueOf(const std::string& body) {
  return parsePickle(pickled(body), "x").value;
}

TEST(ImportPickle, RealPickledDumpsHaveTheirCollectivesMatched) {
  const auto trace = openTrace(kDumps);
  EXPECT_TRUE(trace->problems().empty());
  EXPECT_EQ(trace->worldSize(), 2);
  const auto counts = importedFrom(*trace);
  EXPECT_EQ(counts->collectives, 6);
  EXPECT_EQ(counts->unmatched_collectives, 0);
  EXPECT_TRUE(counts->standing.empty());
}

TEST(ImportPickle, BothProtocolsHoldTheSameFacts) {
  const json first = parsePickle(readFile(kDumps + "/nccl_trace_rank_0"), "first").value;
  const json second = parsePickle(readFile(kDumps + "/nccl_trace_rank_1"), "second").value;
  EXPECT_EQ(first["version"], "2.10");
  EXPECT_EQ(first["pg_config"], second["pg_config"]);
  ASSERT_EQ(first["entries"].size(), 6U);
  ASSERT_EQ(second["entries"].size(), 6U);
  const json frames = json::parse(R"([
    {"filename": "/usr/lib/python3/site-packages/torch/distributed/distributed_c10d.py",
     "line": 3068, "name": "all_reduce"},
    {"filename": "/usr/lib/python3/site-packages/torch/distributed/c10d_logger.py",
     "line": 83, "name": "wrapper"},
    {"filename": "/home/me/job.py", "line": 7, "name": "<module>"}])");
  for (const json& dump : {first, second}) {
    const json& entry = dump["entries"][0];
    EXPECT_EQ(entry["frames"], frames);
    EXPECT_EQ(entry["process_group"], json({"0", "default_pg"}));
    EXPECT_EQ(entry["input_sizes"], json::parse("[[4, 3]]"));
    EXPECT_GT(entry["time_created_ns"].get<std::int64_t>(), 1'700'000'000'000'000'000);
    EXPECT_EQ(entry["time_discovered_started_ns"], nullptr);
    EXPECT_EQ(entry["is_p2p"], false);
  }
}

TEST(ImportPickle, NamesTheRankThatHasNotJoinedAndTheLineThatWaits) {
  const PickleCopy copy;
  // Rank 1 was killed while it wrote its dump.
  const std::string all = copy.text("nccl_trace_rank_1");
  copy.put("nccl_trace_rank_1", all.substr(0, all.size() * 4 / 5));
  const auto trace = openTrace(copy.path());
  EXPECT_TRUE(anySays(trace->problems(), "could not be read to its end (it ends at byte"));
  const auto standing = importedFrom(*trace)->standing;
  EXPECT_TRUE(anySays(standing, "rank 1 had not called collective 5 (barrier)"));
  EXPECT_TRUE(anySays(standing, "rank 0 called it at job.py:"));
}

TEST(ImportPickle, ReadsEveryValueThatDumpsContain) {
  EXPECT_EQ(valueOf("N"), nullptr);
  EXPECT_EQ(valueOf("\x88"), true);
  EXPECT_EQ(valueOf("\x89"), false);
  EXPECT_EQ(valueOf("K\xff"), 255);
  EXPECT_EQ(valueOf(std::string("M\x01\x02", 3)), 513);
  EXPECT_EQ(valueOf("J\xff\xff\xff\xff"), -1);
  EXPECT_EQ(valueOf(std::string("\x8a\x00", 2)), 0);
  EXPECT_EQ(valueOf("\x8a\x01\xff"), -1);
  EXPECT_EQ(valueOf(std::string("\x8a\x02\xff\x00", 4)), 255);
  EXPECT_EQ(valueOf("\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f"),
            std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(valueOf("\x8a\x09"
                    "123456789"),
            nullptr);  // more than 64 bits
  EXPECT_EQ(valueOf(std::string("\x8b\x01\x00\x00\x00\x05", 6)), 5);
  EXPECT_EQ(valueOf(std::string("G\x3f\xf8\x00\x00\x00\x00\x00\x00", 9)), 1.5);
  EXPECT_EQ(valueOf(std::string("X\x02\x00\x00\x00hi", 7)), "hi");
  EXPECT_EQ(valueOf("\x8c\x02hi"), "hi");
  EXPECT_EQ(valueOf(std::string("\x8d\x02\x00\x00\x00\x00\x00\x00\x00hi", 11)), "hi");
  EXPECT_EQ(valueOf("(K\x01K\x02t"), json({1, 2}));
  EXPECT_EQ(valueOf("K\x01\x85"), json::array({1}));
  EXPECT_EQ(valueOf("K\x01K\x02K\x03\x87"), json({1, 2, 3}));
  EXPECT_EQ(valueOf(")"), json::array());
  EXPECT_EQ(valueOf("]K\x01"
                    "a(K\x02K\x03"
                    "e"),
            json({1, 2, 3}));
  EXPECT_EQ(valueOf("}\x8c\x01"
                    "aK\x01s(\x8c\x01"
                    "bK\x02u"),
            json({{"a", 1}, {"b", 2}}));
  // A list that is shared through the memo, in all spellings.
  EXPECT_EQ(valueOf(std::string("](]q\x00K\x01"
                                "ah\x00"
                                "e",
                                11)),
            json::parse("[[1], [1]]"));
  EXPECT_EQ(valueOf(std::string("](]r\x00\x00\x00\x00j\x00\x00\x00\x00"
                                "e",
                                14)),
            json::parse("[[], []]"));
  EXPECT_EQ(valueOf(std::string("](]\x94h\x00"
                                "e",
                                7)),
            json::parse("[[], []]"));
}

TEST(ImportPickle, OnlyOpcodesOfDumpsAreAccepted) {
  std::set<int> accepted, acting;
  for (int opcode = 0; opcode < 256; ++opcode) {
    const std::string body =
        "](" + std::string(1, static_cast<char>(opcode)) + std::string(64, '\0');
    try {
      parsePickle("\x80\x02" + body, "the file");
      accepted.insert(opcode);
    } catch (const Error& error) {
      const std::string what = error.what();
      EXPECT_EQ(what.find("the file: "), 0U) << what;
      if (what.find("at byte 4 the pickle opcode") == what.npos) accepted.insert(opcode);
      if (what.find("can run code") != what.npos) acting.insert(opcode);
    }
  }
  const std::set<int> known = {'.',  'N',  0x88, 0x89, 'J', 'K',  'M',  0x8a, 0x8b, 'G',  'X',
                               0x8c, 0x8d, '}',  ']',  ')', 0x80, 0x95, '(',  't',  0x85, 0x86,
                               0x87, 'a',  'e',  's',  'u', 'q',  'r',  0x94, 'h',  'j'};
  EXPECT_EQ(accepted, known);
  EXPECT_EQ(acting, (std::set<int>{'c', 'i', 'o', 'R', 'b', 'P', 'Q', 0x81, 0x82, 0x83, 0x84, 0x92,
                                   0x93, 0x96, 0x97, 0x98}));
}

TEST(ImportPickle, NamesTheOpcodeThatCouldRunCode) {
  const PickleCopy copy;
  copy.put("nccl_trace_rank_0", pickled("cos\nsystem\n(\x8c\x02ls\x85R"));
  EXPECT_ERROR(openTrace(copy.path()), ErrorCode::kInput,
               "nccl_trace_rank_0: has at byte 2 the pickle opcode GLOBAL (0x63), which can run "
               "code or fetch data, so the file is not opened");
  EXPECT_ERROR(valueOf(std::string("T\x01\x00\x00\x00x", 6)), ErrorCode::kInput,
               "opcode (0x54), which no dump of the Flight Recorder contains");
}

TEST(ImportPickle, LimitsDepthNumberAndSize) {
  const std::string deep(100, ']');
  EXPECT_ERROR(valueOf(deep + std::string(99, 'a')), ErrorCode::kInput, "64 levels deep");
  // A list that contains itself.
  EXPECT_ERROR(valueOf(std::string("]q\x00h\x00"
                                   "a",
                                   6)),
               ErrorCode::kInput, "64 levels deep");
  // Each of 40 lists contains the one before twice.
  std::string doubled("]\x94", 2);
  for (int level = 0; level < 40; ++level)
    doubled +=
        std::string("](h", 3) + static_cast<char>(level) + "h" + static_cast<char>(level) + "e\x94";
  EXPECT_ERROR(parsePickle("\x80\x02" + doubled + "(t(t\x86.", "x"), ErrorCode::kInput, "x: ");
  EXPECT_ERROR(valueOf(std::string(5'000'000, 'N')), ErrorCode::kInput, "more than 4000000 values");
  EXPECT_ERROR(valueOf("Nr\xff\xff\xff\x7f"), ErrorCode::kInput, "out of range");
}

TEST(ImportPickle, DamagedBytesAreASentenceOrASalvage) {
  const std::string append_to_int = std::string("K\x01") + "e";
  for (const std::string& wrong :
       std::vector<std::string>{"e", append_to_int, "(K\x01s", "]K\x01s", "}(K\x01u", "h\x05",
                                "q\x01", "t", "\x86", "NN", "(N", ""})
    EXPECT_ERROR(valueOf(wrong), ErrorCode::kInput, "x: is damaged at byte ");
  const std::string whole = readFile(kDumps + "/nccl_trace_rank_0");
  const std::size_t calls = parsePickle(whole, "x").value["entries"].size();
  std::size_t before = 0;
  for (std::size_t size = 2; size < whole.size(); ++size) {
    const PickledValue cut = parsePickle(std::string_view(whole).substr(0, size), "x");
    EXPECT_FALSE(cut.damage.empty());
    if (!cut.value.contains("entries")) continue;
    EXPECT_GE(cut.value["entries"].size(), before);
    before = cut.value["entries"].size();
  }
  EXPECT_EQ(before, calls);
}

}  // namespace
}  // namespace ringscope::traces
