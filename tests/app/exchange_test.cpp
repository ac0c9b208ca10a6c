// SPDX-License-Identifier: Apache-2.0
// `ringscope query` and `ringscope export` from the shell.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/places.h"
#include "tests/support/run_program.h"
#include "traces/analysis/sql/named_queries.h"

namespace ringscope {
namespace {

using nlohmann::json;
using test::expectOneSentence;
using test::ringscope;
using test::sampleRecording;

test::Result query(const std::string& sql, const std::string& options = "") {
  return ringscope("query " + sampleRecording() + " \"" + sql + "\" " + options);
}

TEST(QueryCommandTest, OneAnswerAsATableAsCsvAndAsJson) {
  const std::string sql =
      "SELECT 7 AS n, 'a,b' AS t, NULL AS none, 0.5 AS half UNION ALL SELECT 10, 'c', 2, -1.0";
  EXPECT_EQ(query(sql).out,
            " n  t    none  half\n 7  a,b     ·   0.5\n10  c       2    -1\n2 rows\n");
  EXPECT_EQ(query(sql, "--csv").out, "n,t,none,half\r\n7,\"a,b\",,0.5\r\n10,c,2,-1\r\n");
  EXPECT_EQ(json::parse(query(sql, "--json").out),
            json::parse(R"([{"n": 7, "t": "a,b", "none": null, "half": 0.5},
                            {"n": 10, "t": "c", "none": 2, "half": -1}])"));
}

TEST(QueryCommandTest, NoRowsAreAnAnswerToo) {
  const std::string none = "SELECT rank FROM events WHERE rank > 99";
  EXPECT_EQ(query(none).out, "rank\nno rows\n");
  EXPECT_EQ(query(none).code, 0);
  EXPECT_EQ(query(none, "--csv").out, "rank\r\n");
  EXPECT_EQ(json::parse(query(none, "--json").out), json::array());
}

TEST(QueryCommandTest, ColumnsOfOneNameAreKeptApartInJson) {
  EXPECT_EQ(json::parse(query("SELECT 1 AS a, 2 AS a", "--json").out),
            json::parse(R"([{"a": 1, "a:2": 2}])"));
}

TEST(QueryCommandTest, EveryNamedQueryGivesJson) {
  for (const auto& named : traces::namedQueries()) {
    const auto result = ringscope("query " + sampleRecording() + " --json --named " + named.name);
    EXPECT_EQ(result.code, 0) << named.name << result.err;
    EXPECT_TRUE(json::accept(result.out)) << named.name << result.out;
  }
}

TEST(QueryCommandTest, TheListNeedsNoRecording) {
  const auto list = ringscope("query --list");
  EXPECT_EQ(list.code, 0) << list.err;
  EXPECT_NE(list.out.find("## events: "), std::string::npos);
  EXPECT_NE(list.out.find("| lost_messages |"), std::string::npos);
}

TEST(QueryCommandTest, RejectsAnInvalidQueryWithOneSentence) {
  expectOneSentence(query("DELETE FROM events"), "the query cannot be run");
  expectOneSentence(query("ATTACH 'x' AS y"), "the query cannot be run");
  expectOneSentence(query("PRAGMA user_version"), "the query cannot be run");
  expectOneSentence(query("SELECT x FROM events"), "no such column: x");
  expectOneSentence(query("SELECT 1; SELECT 2"), "a query is one SELECT");
  expectOneSentence(ringscope("query " + sampleRecording()), "--named NAME");
  expectOneSentence(ringscope("query " + sampleRecording() + " --named nothing"),
                    "no named query 'nothing'");
  expectOneSentence(ringscope("query /nothing/there 'SELECT 1'"), "/nothing/there");
  expectOneSentence(ringscope("query"), "TRACE");
}

/// A query that never ends by itself.
const std::string kEndless =
    "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT ";

TEST(QueryCommandTest, AQueryWithoutAnEndIsEndedAndPrintsItsRows) {
  const auto timed = query(kEndless + "count(*) FROM n", "--json --timeout 0.1");
  EXPECT_EQ(timed.code, 2);
  EXPECT_EQ(json::parse(timed.out), json::array());
  EXPECT_NE(timed.err.find("ended after 100 ms"), std::string::npos) << timed.err;
  EXPECT_NE(timed.err.find("--timeout"), std::string::npos) << timed.err;
  const auto old_name = query(kEndless + "count(*) FROM n", "--seconds 0.1");
  EXPECT_EQ(old_name.code, 2) << "scripts use this name";
  const auto many = query(kEndless + "x FROM n", "--json --max-rows 3");
  EXPECT_EQ(many.code, 2);
  EXPECT_EQ(json::parse(many.out).size(), 3U);
  EXPECT_NE(many.err.find("more than 3 rows"), std::string::npos) << many.err;
  EXPECT_NE(many.err.find("--max-rows"), std::string::npos) << many.err;
}

TEST(QueryCommandTest, AsManyRowsAsAllowedAreNoError) {
  const auto three =
      query("SELECT * FROM (SELECT 1 UNION SELECT 2 UNION SELECT 3)", "--max-rows 3");
  EXPECT_EQ(three.code, 0) << three.err;
  EXPECT_EQ(three.err, "");
}

TEST(QueryCommandTest, CtrlCEndsAQueryWithItsRows) {
  const std::string sql = kEndless + "x FROM n WHERE x < 4 OR x > 1000000000000";
  const auto stopped = test::runProgram(
      "timeout", "--preserve-status --signal=INT 1 " + std::string(test::kProgram) + " query " +
                     sampleRecording() + " \"" + sql + "\" --csv");
  EXPECT_EQ(stopped.code, 2);
  EXPECT_EQ(stopped.out, "x\r\n1\r\n2\r\n3\r\n");
  EXPECT_NE(stopped.err.find("the query was stopped"), std::string::npos) << stopped.err;
}

TEST(ExportCommandTest, EveryFormatIsWrittenAndCounted) {
  test::TempDir dir;
  const auto info = json::parse(ringscope("info --json " + sampleRecording()).out);
  for (const char* format : {"perfetto", "chrome", "csv", "safetensors"}) {
    const auto result = ringscope("export --json " + sampleRecording() + " --to " + format +
                                  " -o " + dir.file(format));
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_GT(std::filesystem::file_size(dir.file(format)), 1000u);
    const json counts = json::parse(result.out)["counts"];
    EXPECT_GT(counts.value("events", counts.value("tensors", 0)), 0) << counts;
  }
}

TEST(ExportCommandTest, AFailedExportPrintsOneSentenceAndLeavesNoFile) {
  test::TempDir dir;
  const std::string copy = dir.file("a.rscope");
  std::filesystem::copy_file(sampleRecording(), copy);
  expectOneSentence(ringscope("export " + copy + " --to csv -o " + copy), "--output");
  EXPECT_EQ(test::readContent(copy), test::readContent(sampleRecording()));
  expectOneSentence(ringscope("export " + copy + " --to csv"), "--output");
  expectOneSentence(ringscope("export " + copy + " -o " + dir.file("x")), "--to");
  expectOneSentence(
      ringscope("export " + copy + " --to avi -o " + dir.file("x")),
      "there is no format 'avi'; use perfetto, chrome, csv, safetensors, html, report, svg, "
      "png or pdf");
  expectOneSentence(ringscope("export /nothing/there --to csv -o " + dir.file("x")),
                    "/nothing/there");
  EXPECT_FALSE(std::filesystem::exists(dir.file("x")));
}

}  // namespace
}  // namespace ringscope
