// SPDX-License-Identifier: Apache-2.0
// Logs of PyTorch's DebugMode: those of two real ranks, and others written by hand in version 1.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/expect_error.h"
#include "tests/support/flight_dump.h"
#include "tests/support/recording_copy.h"
#include "traces/exchange/import/debug_mode/operands.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/trace/imported.h"

namespace ringscope::traces {
namespace {

using nlohmann::json;
using test::anySays;
using test::RecordingCopy;

const std::string kLogs = test::inSources("tests/reference/debug_mode");

json call(const std::string& name, const std::string& args, int depth = 1) {
  return {{"call_depth", depth}, {"log", nullptr},   {"output_str", ""}, {"type", "op"},
          {"op_name", name},     {"args_str", args}, {"kwargs_str", ""}};
}

json annotation(const std::string& tag, int depth = 0) {
  return {{"call_depth", depth}, {"type", "annotate"}, {"tag", tag}, {"header", "record function"}};
}

/// Returns a log with its fields in the order in which PyTorch writes them.
std::string logText(const json& calls, const std::string& version = "1") {
  return R"({"format": "torch.utils._debug_mode.DebugMode.logs", "version": )" + version +
         R"(, "logs": )" + calls.dump() + "}\n";
}

class ImportDebugMode : public testing::Test {
 protected:
  ImportDebugMode() { std::filesystem::create_directory(folder()); }
  std::string folder() const { return dir_.file("logs"); }
  std::string file(const std::string& name) const { return folder() + "/" + name; }
  std::string put(const std::string& name, const std::string& text) const {
    std::ofstream(file(name), std::ios::binary) << text;
    return file(name);
  }
  void put(int rank, const json& calls) const {
    put("rank" + std::to_string(rank) + ".json", logText(calls));
  }
  Imported imported() const { return *importedFrom(*openTrace(folder())); }

 private:
  test::TempDir dir_;
};

std::vector<Event> eventsWith(const Trace& trace, int rank, EventKind kind) {
  std::vector<Event> found;
  for (const Event& event : trace.events(WorldRank::of(rank)))
    if (event.kind == kind) found.push_back(event);
  return found;
}

TEST_F(ImportDebugMode, MatchesTheCallsOfRealRanks) {
  const auto trace = openTrace(kLogs);
  EXPECT_TRUE(trace->problems().empty());
  EXPECT_EQ(trace->worldSize(), 2);
  const Imported said = *importedFrom(*trace);
  EXPECT_EQ(said.format, "PyTorch DebugMode");
  // Two steps of all-reduce, all-gather and reduce-scatter, and a barrier.
  EXPECT_EQ(said.collectives, 7);
  EXPECT_EQ(said.messages, 4);
  EXPECT_EQ(said.unmatched_collectives + said.unmatched_messages, 0);
  EXPECT_TRUE(anySays(said.lacks, "has no times"));
  EXPECT_TRUE(anySays(said.lacks, "they are taken for calls of all ranks"));
  EXPECT_FALSE(anySays(said.lacks, "clock"));
  const auto attention = eventsWith(*trace, 1, EventKind::kAttend);
  ASSERT_EQ(attention.size(), 4U);
  EXPECT_EQ(attention[1].pass, Pass::kBackward);
  EXPECT_EQ(attention[3].place.train_step, 1);
  EXPECT_EQ(eventsWith(*trace, 0, EventKind::kOptimizer).size(), 2U);
  const auto sent = eventsWith(*trace, 0, EventKind::kSend);
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[0].bytes, 2 * 1 * 2 * 8 * 4 * 4);
  EXPECT_EQ(sent[0].peer, WorldRank::of(1));
  std::vector<std::int64_t> bytes;
  for (const Event& event : eventsWith(*trace, 0, EventKind::kCollective))
    bytes.push_back(event.bytes);
  // An all-gather counts what a rank contributes, and a reduce-scatter what it puts in.
  EXPECT_EQ(bytes, (std::vector<std::int64_t>{192, 4, 48, 192, 4, 48, 1}));
}

TEST_F(ImportDebugMode, ReadsCompressedLogs) {
  const RecordingCopy copy(kLogs);
  std::filesystem::remove(copy.file("make.py"));
  ASSERT_EQ(std::system(("gzip '" + copy.path() + "'/*").c_str()), 0);
  EXPECT_EQ(importedFrom(*openTrace(copy.path()))->collectives, 7);
}

TEST_F(ImportDebugMode, ReadsTensorsOfOperands) {
  const Operands operands = readOperands(
      "['t$3: bf16[2, 8]', 'dt: f32[4]{grad=a}| S(0)'], ScriptObject <a, b>, 3, t: q7[1]");
  EXPECT_EQ(operands.values.size(), 4U);
  EXPECT_EQ(operands.tensor_bytes, (std::vector<std::int64_t>{32, 16, -1}));
  EXPECT_EQ(naturalOperand(operands, 2, 9), 3);
  EXPECT_EQ(naturalOperand(operands, 2, 2), -1);
  EXPECT_EQ(naturalOperand(operands, 1, 9), -1);
  EXPECT_EQ(readOperands("t: f32[]").tensor_bytes, std::vector<std::int64_t>{4});
  EXPECT_EQ(readOperands("t: f32[99999999, 99999999, 99999999]").tensor_bytes,
            std::vector<std::int64_t>{-1});
  EXPECT_TRUE(readOperands("cat: f32[4], t: f32, start: [3]").tensor_bytes.empty());
}

TEST_F(ImportDebugMode, TellsGroupsByTheirNames) {
  for (int rank = 0; rank < 4; ++rank)
    put(rank, {call("_c10d_functional::all_gather_into_tensor",
                    "t: f32[4], 2, " + std::to_string(rank < 2 ? 5 : 6)),
               call("c10d::allreduce_", "['t: f32[4]'], <group>, <op>, None, False"),
               call("_c10d_functional::all_reduce", "t: f32[1], sum, 0")});
  const auto trace = openTrace(folder());
  const Imported said = *importedFrom(*trace);
  EXPECT_EQ(said.collectives, 3);  // one per group of two, and that of all
  EXPECT_EQ(said.unmatched_collectives, 4);
  EXPECT_TRUE(anySays(said.lacks, "the job has several, so these calls are not matched"));
  ASSERT_EQ(trace->groups().size(), 3U);
  EXPECT_EQ(trace->groups().front().members.size(), 2U);
}

TEST_F(ImportDebugMode, SaysWhereRanksCalledDifferentCollectives) {
  put(0, {call("c10d::allreduce_", "['t: f32[4]']"), call("c10d::barrier", "t: u8[1]")});
  put(1, {call("c10d::barrier", "t: u8[1]"), call("c10d::allreduce_", "['t: f32[4]']")});
  EXPECT_TRUE(anySays(imported().lacks, "rank 0 called all_reduce where rank 1 called barrier"));
}

TEST_F(ImportDebugMode, PlacesMatchedCallsOfRanksTogether) {
  const json many = {call("aten::mm", ""),      call("aten::mm", ""), call("aten::mm", ""),
                     call("c10d::barrier", ""), call("aten::mm", ""), call("c10d::barrier", "")};
  put(0, many);
  put(1, {call("c10d::barrier", ""), call("aten::_flash_attention_forward", ""),
          call("c10d::barrier", "")});
  const auto trace = openTrace(folder());
  const auto first = eventsWith(*trace, 0, EventKind::kCollective),
             other = eventsWith(*trace, 1, EventKind::kCollective);
  ASSERT_EQ(first.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(first[i].begin_ns, other[i].begin_ns);
  const Event attention = eventsWith(*trace, 1, EventKind::kAttend).at(0);
  EXPECT_GT(attention.begin_ns, other[0].begin_ns);
  EXPECT_LE(attention.end_ns, other[1].begin_ns);
}

TEST_F(ImportDebugMode, StandsBesideFilesThatHaveTimes) {
  put("nccl_trace_rank_0.json", test::flightDump(1'700'000'000'000'000'000, 2));
  put(1, {call("_c10d_functional::all_reduce", "t: f32[32], sum, 0"), call("aten::mm", ""),
          call("_c10d_functional::all_reduce", "t: f32[32], sum, 0")});
  const auto trace = openTrace(folder());
  const Imported said = *importedFrom(*trace);
  EXPECT_EQ(said.collectives, 2);
  const auto timed = eventsWith(*trace, 0, EventKind::kCollective),
             untimed = eventsWith(*trace, 1, EventKind::kCollective);
  ASSERT_EQ(untimed.size(), 2U);
  EXPECT_EQ(untimed[1].begin_ns, timed[1].begin_ns);
  EXPECT_TRUE(anySays(said.lacks, "PyTorch DebugMode: a log of DebugMode has no times"));
}

TEST_F(ImportDebugMode, RejectsOtherVersionsAndUnknownRanks) {
  const json calls = {call("c10d::barrier", "")};
  EXPECT_ERROR(openTrace(put("a.json", logText(calls, "2"))), ErrorCode::kInput,
               "is a log of DebugMode of version 2, and this program reads version 1");
  EXPECT_ERROR(openTrace(put("a.json", logText(calls, "true"))), ErrorCode::kInput,
               "no stated version");
  EXPECT_ERROR(openTrace(put("a.json", logText({call("aten::mm", "")}))), ErrorCode::kInput,
               "holds no collective");
  put("a.json", logText(calls));
  EXPECT_EQ(openTrace(file("a.json"))->worldSize(), 1);  // alone, it is of rank 0
  EXPECT_ERROR(openTrace(folder()), ErrorCode::kInput, "as rank3.json would");
}

TEST_F(ImportDebugMode, LeavesOutRecordsWithoutADepth) {
  json calls = {annotation("ProfilerStep#4"),     call("c10d::barrier", ""),
                call("c10d::barrier", ""),        {{"type", "op"}},
                {{"type", 1}, {"call_depth", 1}}, 7};
  calls[2]["call_depth"] = -1;
  const auto trace = openTrace(put("rank0.json", logText(calls)));
  EXPECT_TRUE(anySays(trace->problems(), "3 call records without a type, a name or a depth"));
  EXPECT_EQ(eventsWith(*trace, 0, EventKind::kCollective).at(0).place.train_step, 4);
}

}  // namespace
}  // namespace ringscope::traces
