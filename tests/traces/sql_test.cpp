// SPDX-License-Identifier: Apache-2.0
// Results of queries over recordings whose counts and values are known, and rejected queries.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/chunks_of_steps.h"
#include "tests/support/expect_error.h"
#include "tests/support/places.h"
#include "tests/support/run_program.h"
#include "tests/support/trace_builder.h"
#include "traces/analysis/sql/description.h"
#include "traces/analysis/sql/named_queries.h"
#include "traces/analysis/sql/query.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/exchange/tables/cell_text.h"
#include "traces/exchange/tables/table.h"

namespace ringscope::traces {
namespace {

using Rows = std::vector<std::string>;

/// Returns each row as "a|b|c", with · for an empty cell.
Rows ask(const Trace& trace, const std::string& sql, const QueryBounds& bounds = {},
         QueryEnd expected = QueryEnd::kAllRows) {
  Rows rows;
  const QueryEnd end = runQuery(trace, sql,
                                {[](const std::vector<std::string>&) {},
                                 [&](std::span<const Cell> cells) {
                                   std::string row;
                                   for (const Cell& cell : cells)
                                     row += (row.empty() ? "" : "|") + asText(cell, "·");
                                   rows.push_back(row);
                                   return true;
                                 }},
                                bounds);
  EXPECT_EQ(end, expected) << sql;
  return rows;
}

constexpr const char* kTwoRanks = R"(
  run cp=2 strategy=ring mask=causal seq_len=8
  group cp 0,1
  shard input_ids rank=0 tokens=0-4
  shard input_ids rank=1 tokens=4-8
  tensor out rank=0 layer=0 shape=1x1x2x1 values=1,-3
  tensor out rank=1 layer=0 shape=1x1x2x1 min=-2 max=5 abs_max=5 nan=1
  attend rank=0 layer=0 stage=0 source=0 piece=0 q=0-4 k=0-4 time=0-10 cpu=8
  send rank=0 peer=1 payload=kv flow=7 layer=0 stage=0 source=0 bytes=64 time=1-4
  receive rank=1 peer=0 payload=kv flow=7 layer=0 stage=0 source=0 bytes=64 time=2-9
  send rank=1 peer=0 payload=kv flow=9 layer=0 stage=0 source=1 bytes=32 time=3-5
  attend rank=1 layer=0 stage=0 source=1 piece=0 q=0-4 k=0-4 time=0-20 cpu=20
  attend rank=1 step=1 layer=0 stage=1 source=0 piece=0 q=0-4 k=0-4 time=30-45 cpu=5
  optimizer rank=0 time=50-60
  memory kv rank=0 bytes=100 time=5
  memory kv rank=0 bytes=40 time=9
  memory weights rank=1 bytes=7 time=1
  diff dk layer=0 direction=backward ratio=3
  end)";

TEST(SqlTest, EventsAreRowsWithTheFieldsOfTheRecording) {
  const auto trace = test::makeTrace(kTwoRanks);
  EXPECT_EQ(ask(*trace, "SELECT count(*) FROM events"), (Rows{"7"}));
  EXPECT_EQ(ask(*trace,
                "SELECT rank, sum(end_ns - begin_ns), sum(cpu_ns) FROM events "
                "WHERE kind = 'attend' GROUP BY rank"),
            (Rows{"0|10|8", "1|35|25"}));
  EXPECT_EQ(ask(*trace, "SELECT kind, layer, stage, peer, payload FROM events WHERE rank = 0"),
            (Rows{"attend|0|0|·|none", "send|0|0|1|kv", "optimizer|·|·|·|none"}));
  EXPECT_EQ(ask(*trace, "SELECT begin_ns FROM events WHERE train_step = 1"), (Rows{"30"}));
}

TEST(SqlTest, AHopIsASendWithItsReceive) {
  const auto trace = test::makeTrace(kTwoRanks);
  EXPECT_EQ(ask(*trace,
                "SELECT flow, rank, peer, bytes, begin_ns, end_ns, receive_begin_ns, "
                "receive_end_ns FROM hops ORDER BY flow"),
            (Rows{"7|0|1|64|1|4|2|9", "9|1|0|32|3|5|·|·"}));
  EXPECT_EQ(ask(*trace, namedQuery("lost_messages").sql),
            (Rows{"no receive|kv|1|0|32|0|0|forward|0|9"}));
}

TEST(SqlTest, TheOtherTablesHoldWhatWasRecorded) {
  const auto trace = test::makeTrace(kTwoRanks);
  EXPECT_EQ(ask(*trace, "SELECT tensor, rank, abs_max, nan, shape, has_values FROM tensors"),
            (Rows{"out|0|3|0|[1,1,2,1]|1", "out|1|5|1|[1,1,2,1]|0"}));
  EXPECT_EQ(ask(*trace, namedQuery("memory_by_category").sql),
            (Rows{"0|kv|100|5", "1|weights|7|1"}));
  EXPECT_EQ(ask(*trace, "SELECT bytes FROM memory WHERE rank = 0 ORDER BY time_ns"),
            (Rows{"100", "40"}));
  EXPECT_EQ(ask(*trace, "SELECT buffer, rank, local_shape, global_from_local FROM shards"),
            (Rows{"input_ids|0|[1,4]|[{\"begin\":0,\"end\":4}]",
                  "input_ids|1|[1,4]|[{\"begin\":4,\"end\":8}]"}));
  EXPECT_EQ(ask(*trace, "SELECT tensor, layer, ratio FROM diffs"), (Rows{"dk|0|3"}));
}

TEST(SqlTest, FindingsAreThoseOfTheDoctor) {
  const auto sample = openTrace(test::sampleRecording());
  EXPECT_EQ(ask(*sample, "SELECT DISTINCT rule, severity FROM findings"),
            (Rows{"missing_position_ids|error"}));
}

TEST(SqlTest, ARecordingWithoutAnythingHasEmptyTables) {
  const auto nothing = test::makeTrace("");
  for (const Table& table : tables()) {
    if (std::string_view(table.name) == "findings")
      continue;  // findings need the doctor, which
                 // reports that runs lack data
    EXPECT_EQ(ask(*nothing, std::string("SELECT * FROM ") + table.name), Rows()) << table.name;
  }
}

TEST(SqlTest, EveryNamedQueryRunsOnAWholeAnEmptyAndTheSampleRecording) {
  const auto sample = openTrace(test::sampleRecording());
  for (const auto& trace : {test::makeTrace(""), test::makeTrace(kTwoRanks), sample})
    for (const NamedQuery& query : namedQueries())
      EXPECT_NO_THROW(ask(*trace, query.sql)) << query.name;
  EXPECT_ERROR(namedQuery("nothing"), ErrorCode::kUsage, "there is no named query 'nothing'");
}

/// A table may leave out rows because of a condition only if SQLite leaves them out by itself. A
/// unary plus hides a column from the table.
TEST(SqlTest, ConditionsLeaveOutOnlyWhatTheyRuleOut) {
  const auto sample = openTrace(test::sampleRecording());
  for (const char* column : {"rank", "train_step", "layer", "stage", "begin_ns", "end_ns"})
    for (const char* is : {"= 1", "< 1", "<= 1", "> 1", ">= 1", "= 0.5", "> 0.5", "< 1.5", "= -1",
                           "> 9223372036854775807", "= NULL", "IS NULL", "<> 1",
                           "BETWEEN 100000 AND 90000000", "IN (0, 2)"}) {
      const std::string from = "SELECT count(*), sum(begin_ns) FROM events WHERE ";
      EXPECT_EQ(ask(*sample, from + column + " " + is),
                ask(*sample, from + "+" + column + " " + is))
          << column << " " << is;
    }
  EXPECT_EQ(ask(*sample, "SELECT count(*) FROM events WHERE kind = 'attend'"),
            ask(*sample, "SELECT count(*) FROM events WHERE +kind = 'attend'"));
  EXPECT_EQ(ask(*sample, "SELECT count(*) FROM events WHERE kind = 'ATTEND' COLLATE NOCASE"),
            ask(*sample, "SELECT count(*) FROM events WHERE kind = 'attend'"));
  EXPECT_EQ(ask(*sample, "SELECT count(*) FROM events"),
            (Rows{std::to_string(sample->eventCount())}));
}

TEST(SqlTest, OnlyTheChunksThatARowMayBeInAreDecoded) {
  const auto source = test::twoHundredChunks();
  const auto trace = readTrace(source);
  source->takeRead();
  EXPECT_EQ(ask(*trace, "SELECT begin_ns FROM events LIMIT 1"), (Rows{"0"}));
  EXPECT_EQ(source->takeRead().size(), 1u);
  EXPECT_EQ(ask(*trace, "SELECT count(*) FROM events WHERE rank = 1 AND train_step = 50"),
            (Rows{"8"}));
  EXPECT_EQ(source->takeRead().size(), 1u);
  EXPECT_EQ(ask(*trace, "SELECT count(*), count(DISTINCT train_step) FROM events"),
            (Rows{"1600|100"}));
  EXPECT_EQ(source->takeRead().size(), 198u);
}

/// Returns a recording in which rank 0 sends to rank 1 in each training step.
std::shared_ptr<test::CountingSource> hundredHops(std::uint64_t flows) {
  auto source = std::make_shared<test::CountingSource>();
  for (int step = 0; step < 100; ++step)
    for (int rank = 0; rank < 2; ++rank) {
      Event event = test::eventAt(rank, test::placeFor(step, 0), step * 10, step * 10 + rank);
      event.kind = rank == 0 ? EventKind::kSend : EventKind::kReceive;
      event.peer = WorldRank::of(1 - rank);
      event.flow = 1 + static_cast<std::uint64_t>(step) % flows;
      source->add(event);
    }
  return source;
}

TEST(SqlTest, TheFirstHopsAreThereBeforeAllEventsAreRead) {
  const auto source = hundredHops(100);
  const auto trace = readTrace(source);
  EXPECT_EQ(ask(*trace, "SELECT begin_ns, receive_end_ns FROM hops LIMIT 2"),
            (Rows{"0|1", "10|11"}));
  EXPECT_LE(source->takeRead().size(), 6u);
  EXPECT_EQ(ask(*trace, "SELECT count(*), count(receive_end_ns), sum(begin_ns) FROM hops"),
            (Rows{"100|100|49500"}));
  EXPECT_EQ(ask(*trace, "SELECT count(*) FROM hops AS a JOIN hops AS b ON a.begin_ns = b.begin_ns"),
            (Rows{"100"}));
}

TEST(SqlTest, AFlowThatIsUsedAgainIsAnotherHop) {
  const auto trace = readTrace(hundredHops(1));
  EXPECT_EQ(
      ask(*trace, "SELECT count(*), count(receive_end_ns), max(receive_end_ns - end_ns) FROM hops"),
      (Rows{"100|100|1"}));
}

TEST(SqlTest, RejectsEverythingButASelectOverTheTables) {
  const auto trace = test::makeTrace(kTwoRanks);
  for (const char* sql : {"",
                          ";",
                          "-- nothing",
                          "SELEC 1",
                          "SELECT",
                          "SELECT * FROM nothing",
                          "SELECT nothing FROM events",
                          "DELETE FROM events",
                          "UPDATE events SET rank = 1",
                          "INSERT INTO events(rank) VALUES (1)",
                          "CREATE TABLE t(x)",
                          "DROP TABLE events",
                          "CREATE VIRTUAL TABLE t USING events",
                          "ATTACH ':memory:' AS x",
                          "PRAGMA user_version",
                          "SELECT * FROM pragma_database_list",
                          "SELECT * FROM sqlite_master",
                          "VACUUM",
                          "BEGIN",
                          "SELECT load_extension('x')",
                          "SELECT readfile('/etc/hostname')",
                          "EXPLAIN SELECT 1",
                          "SELECT 1; SELECT 2",
                          "SELECT 1; DROP TABLE events",
                          "SELECT zeroblob(1000000000)",
                          "SELECT randomblob(9)",
                          "ANALYZE",
                          "REINDEX",
                          "SELECT sqlite_version()"}) {
    SCOPED_TRACE(sql);
    EXPECT_ERROR(ask(*trace, sql), ErrorCode::kUsage, "quer");
  }
  EXPECT_EQ(ask(*trace, "SELECT 1; -- and no more\n ;"), (Rows{"1"}));
}

TEST(SqlTest, RejectsQueriesThatTakeTooLongOrTooMuchMemory) {
  const auto trace = test::makeTrace(kTwoRanks);
  const std::string endless =
      "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT ";
  const QueryBounds soon{.time = std::chrono::milliseconds(50)};
  EXPECT_EQ(ask(*trace, endless + "count(*) FROM n", soon, QueryEnd::kTimeBound), Rows());
  EXPECT_EQ(ask(*trace,
                "SELECT count(*) FROM events a, events b, events c, events d, events e, "
                "events f, events g, events h, events i, events j, events k",
                soon, QueryEnd::kTimeBound),
            Rows());
  EXPECT_EQ(ask(*trace, endless + "x FROM n", {.rows = 2}, QueryEnd::kRowBound), (Rows{"1", "2"}));
  EXPECT_ERROR(ask(*trace,
                   "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT "
                   "400) SELECT json_group_array(printf('%.*c', 8000000, 'x')) FROM n"),
               ErrorCode::kUsage, "");
  EXPECT_ERROR(ask(*trace,
                   "SELECT replace(printf('%.*c', 100000, 'x'), 'x', "
                   "printf('%.*c', 1000, 'x'))"),
               ErrorCode::kUsage, "too big");
  EXPECT_ERROR(ask(*trace, "SELECT '" + std::string(200'000, 'x') + "'"), ErrorCode::kUsage, "");
  std::string deep = "1";
  for (int i = 0; i < 200; ++i) deep = "(" + deep + "+1)";
  EXPECT_ERROR(ask(*trace, "SELECT " + deep), ErrorCode::kUsage, "");
}

TEST(SqlTest, ReadingStopsWhenTheReceiverWantsNoMore) {
  const auto trace = test::makeTrace(kTwoRanks);
  int rows = 0;
  runQuery(*trace, "SELECT * FROM events",
           {[](const auto& columns) { EXPECT_EQ(columns.size(), 28u); },
            [&](std::span<const Cell>) { return ++rows < 3; }});
  EXPECT_EQ(rows, 3);
}

template <typename Record>
void collectLeaves(Record& record, std::vector<std::string>& names) {
  Fields<Record>::visit(
      [&]<typename V>(const char* field, V& value) {
        if constexpr (HasFields<V> && !NamedEnum<V>)
          collectLeaves(value, names);
        else
          names.push_back(field);
      },
      record);
}

template <typename Record>
void expectAColumnEach(const Table& table, const std::vector<std::string>& computed = {}) {
  Record record;
  std::vector<std::string> fields, columns;
  collectLeaves(record, fields);
  fields.insert(fields.end(), computed.begin(), computed.end());
  for (const Column& column : table.columns()) columns.push_back(column.name);
  EXPECT_EQ(columns, fields) << table.name;
}

TEST(SqlTest, EveryFieldOfARecordIsAColumn) {
  expectAColumnEach<Event>(kEventsTable);
  expectAColumnEach<MemorySample>(kMemoryTable, {"step_bytes"});
  expectAColumnEach<ShardRecord>(kShardsTable);
  expectAColumnEach<TensorRecord>(kTensorsTable);
  expectAColumnEach<DiffRecord>(kDiffsTable);
}

TEST(SqlTest, TheDocumentNamesEveryTableColumnAndNamedQuery) {
  EXPECT_EQ(test::readContent(test::inSources("traces/analysis/sql/TABLES.md")), describeTables())
      << "write it again: ringscope query --list > traces/analysis/sql/TABLES.md";
}

}  // namespace
}  // namespace ringscope::traces
