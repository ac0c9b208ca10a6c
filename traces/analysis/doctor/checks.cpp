// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/checks.h"

#include <algorithm>
#include <map>

#include "traces/analysis/mistakes/catalogue.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {
namespace {

std::optional<Remedy> firstRemedy(const Diagnosis::Entry& entry) {
  return entry.result.remedies.empty() ? std::nullopt
                                       : std::optional(entry.result.remedies.front());
}

std::string describeMore(std::int64_t count) {
  return describeCount(count, "more check");
}

/// Joins the remedies of a rule from one on.
std::string joined(const Diagnosis::Entry& entry, std::size_t from) {
  std::string words;
  for (std::size_t i = from; i < entry.result.remedies.size(); ++i)
    words += (i == from ? "" : " and ") + describe(entry.result.remedies[i]);
  return words;
}

}  // namespace

bool isNotMade(const Diagnosis::Entry& entry) {
  return entry.applies() && entry.result.verdict == Verdict::kNotObservable;
}

Checks countChecks(const Diagnosis& diagnosis) {
  Checks checks;
  for (const Diagnosis::Entry& entry : diagnosis.entries) {
    if (!entry.applies())
      ++checks.not_applying;
    else if (isNotMade(entry))
      ++checks.not_made;
    else
      ++checks.made;
    checks.clear += entry.applies() && entry.result.verdict == Verdict::kClear;
  }
  return checks;
}

std::vector<Advice> adviceFrom(const Diagnosis& diagnosis) {
  std::map<std::optional<Remedy>, Advice> by_remedy;
  for (const Diagnosis::Entry& entry : diagnosis.entries) {
    if (!isNotMade(entry)) continue;
    Advice& advice = by_remedy[firstRemedy(entry)];
    advice.remedy = firstRemedy(entry);
    advice.checks.push_back(&entry);
    advice.alone += entry.result.remedies.size() == 1;
  }
  std::vector<Advice> all;
  all.reserve(by_remedy.size());
  for (auto& [remedy, advice] : by_remedy) {
    std::ranges::stable_sort(advice.checks, {},
                             [](const auto* e) { return e->result.remedies.size(); });
    all.push_back(std::move(advice));
  }
  std::ranges::stable_sort(all, [](const Advice& a, const Advice& b) {
    const auto rank = [](const Advice& advice) {
      // Lines within every block of attention are the most work, and many jobs have no such blocks.
      const bool is_line = advice.remedy && *advice.remedy != Remedy::kBlocks;
      return std::tuple(advice.remedy.has_value(), is_line, advice.checks.size(), advice.alone);
    };
    return rank(a) > rank(b);
  });
  return all;
}

std::string describe(const Advice& advice) {
  const auto count = static_cast<std::int64_t>(advice.checks.size());
  if (!advice.remedy)
    return describeCount(count, "check") + " with needs of " + (count == 1 ? "its" : "their") +
           " own";
  const std::string added = describe(*advice.remedy) + ": ";
  if (advice.alone == count) return added + describeMore(count);
  if (advice.alone == 0) return added + describeMore(count) + ", with what else they need";
  return added + describeMore(advice.alone) + ", and " + std::to_string(count - advice.alone) +
         " with what else they need";
}

std::string describeLack(const Diagnosis::Entry& entry) {
  const std::string others = joined(entry, 1);
  return entry.lacks + (others.empty() ? "" : "; then also " + others);
}

std::string describeRemedies(const Diagnosis::Entry& entry) {
  return joined(entry, 0);
}

std::vector<std::string> notMade(const Diagnosis& diagnosis,
                                 const std::vector<std::string>& rules) {
  std::vector<std::string> ids;
  for (const Diagnosis::Entry& entry : diagnosis.entries)
    if (isNotMade(entry) && (rules.empty() || std::ranges::count(rules, entry.rule) > 0))
      ids.push_back(entry.rule);
  return ids;
}

}  // namespace ringscope::traces
