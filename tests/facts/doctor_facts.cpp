// SPDX-License-Identifier: Apache-2.0
// Checks what the doctor says in its view and in the inspector: the answer of each rule, the reason
// when a rule cannot tell, and the counts of answers.
#include <algorithm>
#include <map>

#include "tests/facts/rule_facts.h"
#include "traces/analysis/diff/summary.h"
#include "traces/analysis/doctor/checks.h"
#include "traces/analysis/doctor/unknown_mistake.h"
#include "viz/views/doctor/doctor_scene.h"
#include "viz/views/inspector/inspector_scene.h"

namespace ringscope::facts {
namespace {

using traces::Diagnosis;
using traces::Verdict;

bool has(const std::string& words, const std::string& part) {
  return words.find(part) != std::string::npos;
}

/// How much a capture keeps: 0 events, 1 statistics, 2 values of some steps, 3 all.
int amountOf(const std::string& capture) {
  return capture == "none" ? 0 : capture == "stats" ? 1 : capture == "full" ? 3 : 2;
}

/// One attention has what these look at.
bool isOfAttention(const std::string& rule) {
  static const std::set<std::string> kRules = {"balance_without_causal",
                                               "unbalanced_unshard",
                                               "naive_sum_merge",
                                               "dropped_hop",
                                               "nan_from_one_rank",
                                               "ring_bypassed",
                                               "no_skip_future_block",
                                               "causal_on_every_block",
                                               "mask_dropped",
                                               "documents_ignored",
                                               "kv_not_rotated",
                                               "wrong_ring_direction",
                                               "non_contiguous_kv",
                                               "stale_kv_in_backward",
                                               "dkv_not_returned",
                                               "lse_low_precision",
                                               "lse_overflow"};
  static const std::set<std::string> kOfShardsAndPairs = {
      "balance_cuts_documents",
      "heads_not_divisible",
      "cp_not_applied",
      "wrong_buffer_dim",
      "uneven_shards",
      "padding_unmasked",
      "positions_read_as_documents",
      "wrong_process_group",
  };
  return kRules.contains(rule) || kOfShardsAndPairs.contains(rule);
}

/// Statistics are not enough for these.
bool isOfValues(const std::string& rule) {
  static const std::set<std::string> kRules = {
      "naive_sum_merge",       "missing_rope_buffer",     "lse_base2",
      "lse_low_precision",     "local_delta_in_backward", "lse_overflow",
      "gqa_group_broken",      "dropout_rng_reused",      "recompute_differs",
      "sinks_dropped",         "sinks_on_every_block",    "sinks_not_cut_by_heads",
      "neutral_element_wrong", "softcap_dropped",         "attention_scale_dropped"};
  return kRules.contains(rule);
}

/// Values of gradients and weights, which only the largest capture keeps.
bool isOfGradients(const std::string& rule) {
  return rule == "grad_scaled_by_cp" || rule == "clip_before_reduce" ||
         rule == "norm_counts_replicas";
}

/// Hashes of the blocks that go round.
bool isOfBlocks(const std::string& rule) {
  return rule == "kv_not_rotated" || rule == "wrong_ring_direction" ||
         rule == "non_contiguous_kv" || rule == "stale_kv_in_backward";
}

/// Why a rule cannot tell. A capture is named where it keeps more than the run's, and would help.
void expectReason(const Case& c, const Diagnosis::Entry& entry) {
  const std::string& why = entry.result.would_settle;
  SCOPED_TRACE(why);
  EXPECT_TRUE(why.starts_with("needs ")) << "it is said after “This”";
  std::smatch words;
  const bool names_capture = std::regex_search(why, words, std::regex("; --capture (\\w+) "));
  EXPECT_EQ(names_capture, entry.result.capture_helps);
  if (names_capture) {
    EXPECT_GT(amountOf(words[1]), amountOf(c.capture));
  }
  const bool never = !c.train && !isOfAttention(entry.rule);
  EXPECT_EQ(has(why, "a run that trains"), never);
  const bool other_program = has(entry.does_not_apply, "engine cannot make it");
  if (c.mistake.empty() && !other_program) {
    const bool recorded = isOfGradients(entry.rule) ? amountOf(c.capture) == 3
                          : isOfValues(entry.rule)  ? c.values
                                                    : c.stats;
    EXPECT_EQ(names_capture, !never && !recorded && !(isOfBlocks(entry.rule) && isGathered(c)));
  }
}

/// The cards of one rule: a finding each, or why there is none.
void expectCards(const viz::DoctorScene& scene, const Diagnosis::Entry& entry) {
  const auto& result = entry.result;
  for (const auto& finding : result.findings)
    EXPECT_TRUE(std::ranges::any_of(scene.cards, [&](const viz::FindingCard& card) {
      return card.verdict == Verdict::kFound && card.title == finding.title &&
             card.evidence == finding.evidence && card.remedy == finding.remedy &&
             card.rank.has_value() == finding.rank.exists() &&
             (!card.rank || *card.rank == finding.rank);
    })) << "a finding without its card";
  if (!traces::isNotMade(entry)) return;
  const std::string lead =
      result.capture_helps ? "Not recorded. This " : "What was recorded cannot tell. This ";
  EXPECT_TRUE(std::ranges::any_of(scene.cards,
                                  [&](const viz::FindingCard& card) {
                                    return card.evidence == lead + result.would_settle + "." &&
                                           card.title.starts_with("Cannot tell whether ");
                                  }))
      << lead << result.would_settle;
}

/// The rules that apply to the run.
struct RuleCounts {
  int clear = 0, open = 0;
};

RuleCounts countRules(const Diagnosis& diagnosis) {
  RuleCounts counts;
  for (const auto& entry : diagnosis.entries) {
    if (!entry.does_not_apply.empty()) continue;
    counts.clear += entry.result.verdict == Verdict::kClear;
    counts.open += entry.result.verdict == Verdict::kNotObservable;
  }
  return counts;
}

std::string headlineWithoutFinding(const Diagnosis& diagnosis) {
  const auto [clear, open] = countRules(diagnosis);
  if (open == 0) return "✓ Nothing found";
  return "– Nothing wrong in the " + std::to_string(clear) + (clear == 1 ? " check" : " checks") +
         " that this recording allows; " + std::to_string(open) + " could not be made";
}

/// The view names the steps whose values were kept, unless the values of all steps were kept.
void expectReach(const Case& c, const viz::DoctorScene& scene) {
  if (c.mistake == "dropped_hop") return;  // which ends a step before its values are kept
  const bool of_some = c.values && c.capture != "full" && c.steps == 2;
  EXPECT_EQ(scene.reach, of_some ? "Values of attention were kept of step 0 alone, of 2 recorded "
                                   "training steps: a mistake of the others shows only as far as "
                                   "events and statistics tell."
                                 : "");
}

void expectScene(const Case& c, const Diagnosis& diagnosis, int found) {
  const auto scene = viz::makeDoctorScene(diagnosis, false);
  expectReach(c, scene);
  EXPECT_EQ(scene.note, "");
  EXPECT_EQ(scene.found, found);
  EXPECT_EQ(std::ranges::count(scene.cards, false, &viz::FindingCard::advice),
            std::ssize(diagnosis.entries));
  EXPECT_EQ(scene.clear, found == 0 && countRules(diagnosis).open == 0);
  const std::string failed = diagnosis.failure.empty() ? "" : "; " + diagnosis.failure;
  EXPECT_EQ(scene.headline, (found == 0   ? headlineWithoutFinding(diagnosis)
                             : found == 1 ? "▲ One finding"
                                          : "▲ " + std::to_string(found) + " findings") +
                                failed);
  const auto order = [](const viz::FindingCard& card) {
    if (!card.applies) return 3;
    return card.verdict == Verdict::kFound ? 0 : card.verdict == Verdict::kNotObservable ? 1 : 2;
  };
  EXPECT_TRUE(std::ranges::is_sorted(scene.cards, {}, order));
  for (const auto& entry : diagnosis.entries) {
    SCOPED_TRACE(entry.rule);
    expectCards(scene, entry);
  }
}

/// The inspector repeats it in short.
void expectInShort(const Case& c, const Diagnosis& diagnosis, int found) {
  const Look look;
  const auto ring = viz::makeRingScene(*c.trace, look.cursor(c));
  const std::optional<Diagnosis> said = diagnosis;
  const auto scene = viz::makeInspectorScene(
      *c.trace, look.cursor(c),
      {ring, traces::WorstDiffs(), said, std::make_shared<const viz::MemorySeries>(), false});
  EXPECT_EQ(scene.doctor, "");
  EXPECT_EQ(std::ssize(scene.findings), found);
  const RuleCounts counts = countRules(diagnosis);
  EXPECT_EQ(scene.doctor_clear, found == 0 && counts.open == 0);
  EXPECT_EQ(scene.doctor_headline, found == 0 ? headlineWithoutFinding(diagnosis) : "");
  EXPECT_EQ(scene.clear, counts.clear);
  EXPECT_EQ(scene.not_observable, counts.open);
  for (const auto& finding : scene.findings) {
    std::smatch words;
    ASSERT_TRUE(std::regex_match(finding.source, words,
                                 std::regex("(\\w+) · (?:certain|likely) · step (\\d+).*")))
        << finding.source;
    EXPECT_TRUE(c.mistake == words[1] || c.of_doctor || words[1] == traces::kUnknownMistake)
        << finding.source;
    EXPECT_LT(std::stoi(words[2]), c.steps);
  }
}

/// The doctor reports an unknown mistake when a verdict calls a tensor wrong and no rule has a
/// finding. The report names a tensor of the first wrong step.
void expectUnknown(const Case& c, const Diagnosis& diagnosis) {
  const auto& last = diagnosis.entries.back();
  const bool said = last.rule == traces::kUnknownMistake;
  std::map<int, std::map<bool, std::set<std::string>>> wrong;  // by step and isolated
  for (const auto& diff : c.trace->diffs())
    if (!(diff.ratio <= 1)) wrong[diff.place.train_step][diff.isolated].insert(diff.tensor);
  const bool named = std::ranges::any_of(diagnosis.entries, [](const Diagnosis::Entry& entry) {
    return entry.rule != traces::kUnknownMistake && entry.result.verdict == Verdict::kFound;
  });
  EXPECT_EQ(said, !wrong.empty() && !named);
  if (!said || wrong.empty()) return;
  const auto& finding = last.result.findings.front();
  const auto& [step, kinds] = *wrong.begin();
  EXPECT_EQ(finding.place.train_step, step);
  EXPECT_TRUE(kinds.rbegin()->second.contains(finding.buffer)) << finding.buffer;
}

}  // namespace

void expectDoctor(const Case& c) {
  const auto diagnosis = traces::diagnose(*c.trace);
  SCOPED_TRACE(traces::toText(diagnosis));
  EXPECT_TRUE(diagnosis.unread.empty());
  EXPECT_EQ(diagnosis.failure.empty(), c.mistake != "dropped_hop");
  expectUnknown(c, diagnosis);
  const bool unknown = diagnosis.entries.back().rule == traces::kUnknownMistake;
  EXPECT_EQ(diagnosis.entries.size(), unknown ? 64u : 63u) << "the oracle knows so many rules";
  int found = 0;
  for (const auto& entry : diagnosis.entries) {
    SCOPED_TRACE(entry.rule);
    if (entry.rule == traces::kUnknownMistake) {
      ++found;
      continue;
    }
    if (const auto right = rightVerdict(c, entry.rule)) {
      EXPECT_EQ(traces::name(entry.result.verdict), std::string(traces::name(*right)));
    }
    if (entry.result.verdict == Verdict::kNotObservable) expectReason(c, entry);
    EXPECT_EQ(entry.result.findings.size(), entry.result.verdict == Verdict::kFound ? 1u : 0u);
    for (const auto& finding : entry.result.findings) {
      ++found;
      EXPECT_EQ(finding.rule, entry.rule);
      expectEvidence(c, finding);
    }
  }
  EXPECT_LE(found, 1) << "one cause, one finding";
  expectScene(c, diagnosis, found);
  expectInShort(c, diagnosis, found);
}

}  // namespace ringscope::facts
