// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "tests/facts/scene_facts.h"

namespace ringscope::facts {
namespace {

/// Checks the sentence about one ring step of one rank.
class SentenceFacts {
 public:
  SentenceFacts(const Case& c, const Look& look, const std::string& sentence)
      : c_(c), look_(look), oracle_(c.oracle(look.step, look.group)), sentence_(sentence) {}

  void expect() const {
    SCOPED_TRACE(sentence_);
    const auto held = sourcesAt(look_.rank, look_.ring_step);
    std::smatch words;
    ASSERT_TRUE(std::regex_match(sentence_, words, std::regex("rank (\\d+) (.*)")));
    EXPECT_EQ(std::stoi(words[1]), world(look_.rank));
    const std::string rest = words[2];
    if (oracle_.queries(look_.rank, held).empty()) return expectIdle(rest, held);
    expectQueries(rest, held);
    look_.backward ? expectSums(rest) : expectKeys(rest);
    if (!look_.backward) expectSaidLse(rest);
    EXPECT_EQ(rest.find("not recorded"), std::string::npos);
  }

 private:
  int world(int rank) const { return c_.worldRankFor(look_.group, rank); }
  std::vector<int> sourcesAt(int rank, int step) const {
    return oracle_.sources(rank, step, look_.backward);
  }
  std::vector<int> attendedAt(int rank, int step) const {
    return oracle_.attended(rank, step, look_.backward);
  }

  void expectIdle(const std::string& said, const std::vector<int>& held) const {
    EXPECT_NE(said.find(clauseWords(oracle_.reason(look_.rank, held))), std::string::npos);
    std::smatch words;
    if (held.size() > 1) {
      ASSERT_TRUE(std::regex_search(said, words, std::regex("none of the (\\d+) gathered blocks")));
      EXPECT_EQ(std::stoul(words[1]), held.size());
      return;
    }
    ASSERT_TRUE(std::regex_search(said, words, std::regex("(passes|holds) block (\\d+)")));
    const auto hops = oracle_.hops(look_.rank, look_.ring_step, look_.backward);
    const bool passes = std::ranges::any_of(
        hops, [&](const Hop& hop) { return hop.payload == "kv" && hop.source == held.front(); });
    EXPECT_EQ(words[1], passes ? "passes" : "holds");
    EXPECT_EQ(std::stoi(words[2]), world(held.front()));
  }

  /// "its 16 queries", or "the 64 queries of ranks 0–3, for heads 2–3,"
  void expectQueries(const std::string& said, const std::vector<int>& held) const {
    std::smatch words;
    ASSERT_TRUE(std::regex_search(
        said, words,
        std::regex(
            "(its|the) (\\d+) quer(?:y|ies)(?: of ranks ([^a-z]*), for heads? ([\\d–]+),)?")));
    EXPECT_EQ(std::stol(words[2]), std::ssize(oracle_.queries(look_.rank, held)));
    const bool shared = oracle_.plan().ulysses > 1;
    EXPECT_EQ(words[1], shared ? "the" : "its");
    EXPECT_EQ(words[3].matched, shared);
    if (!shared) return;
    const auto sharers = worlds(c_, look_.group, oracle_.sharers(look_.rank));
    EXPECT_EQ(numbersIn(words[3]), std::set<int>(sharers.begin(), sharers.end()));
    std::set<int> heads;
    const int first =
        look_.group % c_.tp * (oracle_.plan().heads / c_.tp) + oracle_.firstHead(look_.rank);
    for (int head = first; head < first + oracle_.headsEach(); ++head) heads.insert(head);
    EXPECT_EQ(numbersIn(words[4]), heads);
  }

  void expectSums(const std::string& said) const {
    std::smatch words;
    ASSERT_TRUE(std::regex_search(said, words, std::regex("dV of blocks? ([^;]*);")));
    expectBlocks(words[1]);
  }
  void expectBlocks(const std::string& list) const {
    const auto attended = worlds(c_, look_.group, attendedAt(look_.rank, look_.ring_step));
    EXPECT_EQ(numbersIn(list), std::set<int>(attended.begin(), attended.end()));
  }

  void expectKeys(const std::string& said) const {
    const auto attended = attendedAt(look_.rank, look_.ring_step);
    std::smatch words;
    if (attended.size() > 1) {
      ASSERT_TRUE(std::regex_search(said, words,
                                    std::regex("to blocks ([^a-z;]*) of the (\\d+) gathered")));
      expectBlocks(words[1]);
      EXPECT_EQ(std::stoi(words[2]), oracle_.ringSize());
      return;
    }
    ASSERT_TRUE(std::regex_search(
        said, words,
        std::regex("to (?:the (first|second) half of |(\\d+) of the (\\d+) keys of )?(its own )?"
                   "block (\\d+)(, causally|, within[^;]*)?(?:;|$)")));
    const int source = attended.front();
    EXPECT_EQ(std::stoi(words[5]), world(source));
    EXPECT_EQ(words[4].matched, source == look_.rank);
    expectPart(words, source);
  }

  void expectPart(const std::smatch& words, int source) const {
    const auto rows = oracle_.attended(source);
    const auto keys = oracle_.keys(look_.rank, source);
    if (words[1].matched) {
      const auto middle = rows.begin() + std::ssize(rows) / 2;
      const bool first = words[1] == "first";
      EXPECT_EQ(keys,
                first ? std::set<int>(rows.begin(), middle) : std::set<int>(middle, rows.end()));
    } else {
      EXPECT_EQ(words[2].matched ? std::stol(words[2]) : std::ssize(rows), std::ssize(keys));
      if (words[3].matched) {
        EXPECT_EQ(std::stol(words[3]), std::ssize(rows));
      }
    }
    const std::int64_t all = std::ssize(oracle_.queries(look_.rank, {source})) * std::ssize(keys);
    EXPECT_EQ(words[6].matched, oracle_.pairs(look_.rank, source) < all) << "attended in part";
    if (!words[6].matched) return;
    const std::string manner = words[6];
    const Plan& plan = oracle_.plan();
    EXPECT_EQ(manner.find("documents") != std::string::npos, !plan.documents.empty());
    EXPECT_EQ(manner.find("window of " + std::to_string(plan.window)) != std::string::npos,
              plan.window > 0);
  }

  void expectSaidLse(const std::string& said) const {
    if (c_.mistake == "nan_from_one_rank") return;
    const SeenRows before = seenRows(c_, look_, look_.rank, look_.ring_step - 1),
                   after = seenRows(c_, look_, look_.rank, look_.ring_step);
    std::smatch words;
    const bool spoken =
        std::regex_search(said, words,
                          std::regex("rises from (-?[\\d.]+) to (-?[\\d.]+)|sum‑exp is (-?[\\d.]+)"
                                     "(, now over more rows)?"));
    EXPECT_EQ(spoken, after.rows > 0);
    if (!spoken) return;
    const bool rises = before.rows > 0 && before.rows == after.rows;
    EXPECT_EQ(words[1].matched, rises);
    EXPECT_EQ(words[4].matched, before.rows > 0 && !rises);
    if (std::isnan(after.mean) || !c_.numbers_are_exact) return;
    if (rises) {
      EXPECT_NEAR(std::stod(words[1]), before.mean, c_.tolerance + 0.0051);
    }
    EXPECT_NEAR(std::stod(rises ? words[2] : words[3]), after.mean, c_.tolerance + 0.0051);
  }

  const Case& c_;
  const Look& look_;
  const PlanOracle& oracle_;
  const std::string& sentence_;
};

}  // namespace

void expectSentence(const Case& c, const Look& look, const std::string& sentence) {
  SentenceFacts(c, look, sentence).expect();
}

}  // namespace ringscope::facts
