// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/recompute/label_check.h"

#include <algorithm>

#include "traces/format/core/prose.h"
#include "traces/format/trace/capture_advice.h"
#include "traces/format/trace/framework.h"
#include "traces/format/trace/sequence_groups.h"

namespace ringscope::traces {
namespace {

std::string named(const LabelCheck::Hypothesis& tried) {
  return "`" + tried.mistake + "`" + (tried.how.empty() ? "" : " (" + tried.how + ")");
}

/// Returns "12 of 70 are not the next token of the sequence, and the last token of a shard has none
/// in 4 places".
std::string wrongWords(const LabelCounts& counts) {
  std::string words = describeCount(counts.wrong) + " of " + describeCount(counts.targets) +
                      " are not the next token of the sequence";
  if (counts.lost > 0)
    words += ", and the last token of a shard has none in " + describeCount(counts.lost, "place");
  return words;
}

}  // namespace

bool LabelCheck::mayBeDocuments() const {
  return !stated && counts.wrong == 0 && counts.sure == 0;
}

bool LabelCheck::isWrong() const {
  return std::ranges::any_of(hypotheses, &Hypothesis::reproduces) && !mayBeDocuments();
}

LabelCheck checkLabels(const Trace& trace, std::int32_t train_step) {
  LabelCheck check;
  check.stated = !isForeign(trace);
  for (const auto& members : sequenceGroups(trace))
    if (const auto tokens = SequenceTokens::of(trace, train_step, members))
      check.counts += countLabels(*tokens, trace.intent(train_step, members.front()),
                                  RestartedPositions(trace, train_step, members));
  if (check.counts.targets < kFewTargets)
    check.skipped = "too few whose next token is recorded; " +
                    captureAdvice(trace, "full", "records input_ids and labels");
  return check;
}

nlohmann::json toJson(const LabelCheck& check) {
  nlohmann::json json = {{"compared", check.counts.targets},
                         {"wrong", check.counts.wrong},
                         {"lost", check.counts.lost},
                         {"skipped", check.skipped}};
  if (check.areNextTokens()) return json;
  json["hypotheses"] = {{"skipped", ""}, {"mistakes", nlohmann::json::array()}};
  for (const LabelCheck::Hypothesis& tried : check.hypotheses)
    json["hypotheses"]["mistakes"].push_back({{"mistake", tried.mistake},
                                              {"how", tried.how},
                                              {"reproduces", tried.reproduces()},
                                              {"unlike", tried.unlike}});
  return json;
}

std::string toText(const LabelCheck& check) {
  if (!check.skipped.empty()) return "  – labels: " + check.skipped + "\n";
  if (check.areNextTokens())
    return "  ✓ labels: all of " + describeCount(check.counts.targets) +
           " that could be compared are the next token of the sequence\n";
  std::string text = std::string(check.isWrong() ? "  ✗" : "  –") +
                     " labels: " + wrongWords(check.counts),
              excluded;
  const bool reproduced =
      std::ranges::any_of(check.hypotheses, &LabelCheck::Hypothesis::reproduces);
  if (!check.isWrong())
    text += reproduced ? "; whether documents end there is not declared "
                         "(declare={\"positions\": …})"
                       : "; which ones were meant is not recorded";
  if (!reproduced && !check.hypotheses.empty())
    text += ", and no mistake that was tried gives them";
  text += "\n";
  for (const LabelCheck::Hypothesis& tried : check.hypotheses)
    if (tried.reproduces())
      text += "    = all of them are what " + named(tried) + " gives\n";
    else
      excluded += (excluded.empty() ? "" : ", ") + named(tried) + " contradicts " +
                  describeCount(tried.unlike);
  return text + (excluded.empty() ? "" : "    ≠ excluded: " + excluded + "\n");
}

}  // namespace ringscope::traces
