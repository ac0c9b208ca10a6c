// SPDX-License-Identifier: Apache-2.0
// The answers and errors of `ringscope plan`.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/support/places.h"
#include "tests/support/run_program.h"

namespace ringscope {
namespace {

using nlohmann::json;
using test::expectOneSentence;
using test::ringscope;
using test::TempDir;

/// Writes a file of lengths and returns its path.
std::string lengthsFile(const TempDir& dir, const std::string& text) {
  const std::string path = dir.file("lengths.txt");
  std::ofstream(path) << text;
  return path;
}

json planFor(const std::string& text, const std::string& options) {
  const TempDir dir;
  const auto result =
      ringscope("plan --documents " + lengthsFile(dir, text) + " --json " + options);
  EXPECT_EQ(result.code, 0) << result.err;
  return json::parse(result.out);
}

std::map<std::string, json> byBalance(const json& answer) {
  std::map<std::string, json> balances;
  for (const json& balance : answer["balances"]) balances[balance["balance"]] = balance;
  return balances;
}

TEST(PlanTest, CountsPairsPaddingAndBytesOfEachBalance) {
  // Documents of 4 and 8 tokens over 2 ranks: 10 + 36 pairs, of which contiguous parts give rank 0
  // 13. A rank sends its 6 tokens once: K and V of 1 head of 16 in bfloat16.
  const json answer = planFor("4\n8\n", "--cp 2 --heads 2 --kv-heads 1 --head-dim 16 --block 2");
  EXPECT_EQ(answer["documents"], 2);
  EXPECT_EQ(answer["tokens"], 12);
  auto balances = byBalance(answer);
  ASSERT_EQ(balances.size(), 6u);
  EXPECT_EQ(balances["none"]["pairs"]["total"], 46);
  EXPECT_EQ(balances["none"]["pairs"]["largest"], 33);
  EXPECT_NEAR(balances["none"]["imbalance"].get<double>(), 33.0 / 23, 1e-12);
  EXPECT_NEAR(balances["none"]["step_imbalance"].get<double>(), (21 + 12) / 23.0, 1e-12);
  EXPECT_EQ(balances["none"]["padding"], 0);
  EXPECT_EQ(balances["per_document"]["imbalance"], 1.0);
  EXPECT_EQ(balances["chunks"]["padding"], 1024 - 12);
  EXPECT_EQ(balances["ptrr"]["block"], 2);
  EXPECT_FALSE(balances["ptrr"]["in_ringscope"].get<bool>());
  const auto with_default = byBalance(planFor("4\n8\n", "--cp 2"));
  EXPECT_TRUE(with_default.at("ptrr")["in_ringscope"].get<bool>());
  for (const json& layer : balances["none"]["layers"])
    EXPECT_EQ(layer["kv_bytes_per_rank"], 6 * 2 * 16 * 2) << layer["strategy"];
}

TEST(PlanTest, PutsTheQuickestBalanceFirst) {
  // One long document: contiguous parts leave most of the work to the last ranks.
  const json answer = planFor("131072\n", "--cp 8 --link ndr400");
  double least = 0;
  for (const json& balance : answer["balances"]) {
    double layer_ns = balance["layers"][0]["layer_ns"];
    for (const json& layer : balance["layers"])
      layer_ns = std::min(layer_ns, layer["layer_ns"].get<double>());
    EXPECT_GE(layer_ns, least);
    least = layer_ns;
  }
  EXPECT_EQ(answer["balances"].back()["balance"], "none");
  EXPECT_NE(answer["best"]["balances"][0], "none");
  const TempDir dir;
  const auto text =
      ringscope("plan --cp 8 --link ndr400 --documents " + lengthsFile(dir, "131072\n"));
  for (const char* words : {"Model, not a measurement: 1 document of 131,072 tokens",
                            "By the model ", "with the next, none with ", "mask: causal"})
    EXPECT_NE(text.out.find(words), std::string::npos) << words << "\n" << text.out;
}

TEST(PlanTest, ReadsTheSameLengthsFromEveryForm) {
  const json lines = planFor("# lengths\n300\n\n77 # short\n---\n500\n", "--cp 2");
  EXPECT_EQ(lines["sequences"], 2);
  EXPECT_EQ(lines["documents"], 3);
  EXPECT_EQ(planFor("300, 77\r\n---\n500", "--cp 2"), lines);
  EXPECT_EQ(planFor("[[300, 77], [500]]", "--cp 2"), lines);
  EXPECT_EQ(planFor("[300, 77, 500]", "--cp 2")["sequences"], 1);
  const auto piped =
      test::runProgram("sh -c \"printf '300 77\\n---\\n500' | " + std::string(test::kProgram) +
                           " plan --documents - --cp 2 --json\"",
                       "");
  EXPECT_EQ(json::parse(piped.out), lines);
}

TEST(PlanTest, SumsOverSequencesThatRanksFinishTogether) {
  // Alone, each sequence gives another rank the most pairs, so the sums of the largest count.
  const auto one = byBalance(planFor("4\n8\n", "--cp 2")),
             two = byBalance(planFor("8\n4\n", "--cp 2")),
             both = byBalance(planFor("4\n8\n---\n8\n4\n", "--cp 2"));
  for (const auto& [balance, sum] : both)
    EXPECT_EQ(sum["pairs"]["largest"], one.at(balance)["pairs"]["largest"].get<int>() +
                                           two.at(balance)["pairs"]["largest"].get<int>())
        << balance;
}

TEST(PlanTest, AModelSetsTheSizesOfTheLayer) {
  const std::string model = " --model " + test::inSources("tests/reference/llama/model");
  EXPECT_NE(planFor("64\n", "--cp 2" + model)["balances"], planFor("64\n", "--cp 2")["balances"]);
  const TempDir dir;
  expectOneSentence(ringscope("plan --heads 4 --documents " + lengthsFile(dir, "64\n") + model),
                    "--model has");
}

TEST(PlanTest, ASingleRankHasNothingToSend) {
  const auto balances = byBalance(planFor("5\n3\n", "--cp 1"));
  for (const auto& [name, balance] : balances) {
    EXPECT_EQ(balance["imbalance"], 1.0) << name;
    EXPECT_EQ(balance["layers"].size(), 1u) << name;
    EXPECT_EQ(balance["layers"][0]["kv_bytes_per_rank"], 0) << name;
  }
}

TEST(PlanTest, NamesTheLineThatIsNoLength) {
  const TempDir dir;
  const auto refused = [&](const std::string& text, const std::string& words) {
    const auto result = ringscope("plan --documents " + lengthsFile(dir, text));
    expectOneSentence(result, words);
    EXPECT_NE(result.err.find("lengths.txt"), std::string::npos) << result.err;
  };
  refused("12\nabc\n", "line 2: 'abc' is not a document length; use whole numbers");
  refused("12\n1.5\n", "line 2: '1.5' is not a document length");
  refused("12\n\n-5\n", "line 3: a document of -5 tokens cannot be dealt; use whole numbers");
  refused("0\n", "line 1: a document of 0 tokens");
  refused("33554432\n1\n",
          "line 2: the documents have more than 33,554,432 tokens up to here; use");
  refused("99999999999999999999\n", "line 1: the documents have more than");
  refused("# none\n\n", "holds no document lengths; write one length per line");
  refused("[1, [2, [3]]]", "item 2, item 2: 'a list' is not a document length");
  refused(std::string("7\n\0\x1b[2J\n", 8), "line 2: '\uFFFD\uFFFD[2J' is not a document length");
  refused("[1, {}]", "item 2: '{}' is not a document length");
  refused("[1, 2", "lengths.txt");
  expectOneSentence(ringscope("plan --documents " + dir.file("missing")),
                    "missing: no such file; --documents takes a file");
}

TEST(PlanTest, RefusesWhatItCannotCompare) {
  const TempDir dir;
  const std::string lengths = " --documents " + lengthsFile(dir, "64\n");
  expectOneSentence(ringscope("plan --heads 6 --kv-heads 4" + lengths), "do not divide");
  expectOneSentence(ringscope("plan --device abacus" + lengths), "abacus");
  std::string many;
  for (int i = 0; i < 40; ++i) many += "64\n---\n";
  expectOneSentence(
      ringscope("plan --cp 64 --documents " + lengthsFile(dir, many)),
      "40 packed sequences with cp 64 take too long to compare; use a sample of at most 32");
}

}  // namespace
}  // namespace ringscope
