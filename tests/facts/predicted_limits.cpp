// SPDX-License-Identifier: Apache-2.0
// Checks the limits that a prediction names for a step, and the strategy that it calls the
// quickest.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <regex>
#include <set>
#include <sstream>

#include "tests/facts/predicted.h"
#include "tests/facts/said.h"
#include "traces/format/core/prose.h"

namespace ringscope::facts {

using nlohmann::json;

void expectLimits(const std::string& says, const json& limits, double step_ns) {
  const std::vector<std::pair<std::string, std::string>> kinds = {
      {"launch", "kernels at their floor"},
      {"compute", "compute"},
      {"memory", "memory traffic"},
      {"work", "recorded work"},
      {"link", "the link"}};
  double all = 0, most = 0;
  for (const auto& [key, words] : kinds) {
    const double ns = limits[key + "_ns"];
    all += ns;
    most = std::max(most, ns);
  }
  EXPECT_NEAR(all, step_ns, 1) << "the path is as long as the step";
  EXPECT_LE(limits["link_fixed_ns"], limits["link_ns"]);
  if (all == 0) {
    EXPECT_EQ(says, "Nothing takes time in this step.");
    return;
  }
  EXPECT_EQ(limits["bound_by"].is_null(), 2 * most <= all);
  EXPECT_EQ(says.starts_with("Bound by no single limit: "), 2 * most <= all) << says;
  for (const auto& [key, words] : kinds) {
    const double ns = limits[key + "_ns"];
    std::smatch share;
    const bool named =
        std::regex_search(says, share, std::regex("(?:: |, )" + words + "(?: takes?)? (\\d+ %)"));
    EXPECT_EQ(named, ns > 0) << says;
    EXPECT_TRUE(!named || saysShare(share[1], ns / all)) << says;
    if (2 * ns > all) {
      EXPECT_EQ(limits["bound_by"], key);
      std::string title = key + "-bound: ";
      title.front() = static_cast<char>(std::toupper(title.front()));
      EXPECT_TRUE(says.starts_with(title)) << says;
    }
  }
}

void expectQuickest(const json& strategies, const std::string& text) {
  static const std::regex kOne(
      "By the model (.*) would be the quickest here; the next, (.*), takes (.*) longer\\.\n");
  static const std::regex kTied(
      "(The model cannot tell these strategies apart here|By the model these are the quickest "
      "here, and it cannot tell them apart): (.*) have steps that differ by (.*) \\(it can tell 5 "
      "%\\)\\.\n");
  std::smatch one, tied;
  const bool winner = std::regex_search(text, one, kOne);
  ASSERT_EQ(winner || std::regex_search(text, tied, kTied), strategies.size() > 1) << text;
  if (strategies.size() < 2) return;
  double least = std::numeric_limits<double>::infinity();
  for (const json& each : strategies) least = std::min(least, each["step_ns"].get<double>());
  const auto printed = [](double ns) { return traces::describeDuration(std::llround(ns)); };
  std::set<std::string> alike, named;
  for (const json& each : strategies) {
    const double step = each["step_ns"];
    if (step < 1.05 * least || step == least || printed(step) == printed(least))
      alike.insert(each["title"]);
  }
  if (winner) named.insert(one[1]);
  std::istringstream titles(winner ? "" : tied[2].str());
  for (std::string title; std::getline(titles >> std::ws, title, ';');) named.insert(title);
  EXPECT_EQ(named, alike) << text;
  if (!winner) {
    EXPECT_EQ(tied[1].str().starts_with("The model"), alike.size() == strategies.size()) << text;
  }
}

}  // namespace ringscope::facts
