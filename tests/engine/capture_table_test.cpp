// SPDX-License-Identifier: Apache-2.0
// The table of traces/analysis/mistakes/README.md, which says what each capture shows of each
// mistake. It is compared with a small run of each mistake under each capture.
#include <fstream>
#include <sstream>

#include "tests/engine/hidden_mistakes.h"
#include "tests/engine/injected_harness.h"
#include "tests/support/places.h"
#include "traces/analysis/mistakes/catalogue.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/trace/ending.h"

namespace ringscope::engine {
namespace {

using traces::MaskKind;
using traces::Strategy;

const std::vector<std::string> kCaptures = {"none", "stats", "values:steps=0", "full"};

/// The documented answers under each of kCaptures, by mistake.
using Answers = std::map<std::string, std::vector<std::string>>;

Answers documented() {
  std::ifstream file(test::inSources("traces/analysis/mistakes/README.md"));
  Answers answers;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("| mistake |")) inside = line.find("| none |") != std::string::npos;
    if (!inside || !line.starts_with("| `")) continue;
    std::istringstream cells(line.substr(2));
    std::vector<std::string> words;
    for (std::string cell; std::getline(cells, cell, '|');) {
      const auto first = cell.find_first_not_of(" `"), last = cell.find_last_not_of(" `");
      words.push_back(first == std::string::npos ? "" : cell.substr(first, last - first + 1));
    }
    answers[words.at(0)] = {words.begin() + 1, words.end()};
  }
  return answers;
}

/// A setting that a mistake needs to have an effect. The other mistakes are injected into a
/// training over 2 ranks.
struct Prepared {
  std::string mistake;
  void (*prepare)(TrainConfig& config);
};

void ofDocuments(TrainConfig& config) {
  config.mask = MaskKind::kDocuments;
  config.separator = "\n\n";
  config.seq_len = 512;
}

void useGemma2(TrainConfig& config) {
  config.model_dir = ringscope::test::reference("family/gemma2/model");
  config.tokens = ringscope::test::reference("family/gemma2/tokens.safetensors");
  config.text.clear();
}

const std::vector<Prepared> kPrepared = {
    {"positions_not_reset_per_document", ofDocuments},
    {"wrong_buffer_dim", [](TrainConfig& c) { c.batch = 2; }},
    {"aliased_buffer", [](TrainConfig& c) { c.batch = 2; }},
    {"balance_without_causal",
     [](TrainConfig& c) {
       c.mask = MaskKind::kFull;
       c.balance = Balance::kHeadTail;
     }},
    {"uneven_shards", [](TrainConfig& c) { c.seq_len = 71; }},
    {"sinks_dropped", [](TrainConfig& c) { c.sinks = true; }},
    {"attention_scale_dropped", useGemma2},
    {"softcap_dropped", useGemma2},
    {"sinks_on_every_block", [](TrainConfig& c) { c.sinks = true; }},
    {"sinks_not_cut_by_heads",
     [](TrainConfig& c) {
       c.sinks = true;
       c.strategy = Strategy::kUlysses;
     }},
    {"neutral_element_wrong", [](TrainConfig& c) { c.balance = Balance::kNone; }},
    {"same_batch_on_dp_ranks",
     [](TrainConfig& c) {
       c.cp = 1;
       c.dp = c.batch = c.steps = 2;
     }},
    {"mask_dropped",
     [](TrainConfig& c) {
       c.mask = MaskKind::kWindow;
       c.window = 20;
     }},
    {"documents_ignored", ofDocuments},
    {"balance_cuts_documents",
     [](TrainConfig& c) {
       ofDocuments(c);
       c.balance = Balance::kPerDocument;
     }},
    {"heads_not_divisible",
     [](TrainConfig& c) {
       c.cp = 3;
       c.strategy = Strategy::kUlysses;
     }},
    {"gqa_group_broken", [](TrainConfig& c) { c.strategy = Strategy::kUlysses; }},
    {"dropout_rng_reused", [](TrainConfig& c) { c.dropout = 0.3; }},
    {"recompute_differs", [](TrainConfig& c) { c.recompute = true; }},
    {"wrong_ring_direction", [](TrainConfig& c) { c.cp = 3; }},
    {"dropped_hop",
     [](TrainConfig& c) {
       c.cp = 3;
       c.timeout = std::chrono::milliseconds(400);
     }},
    {"wrong_process_group", [](TrainConfig& c) { c.dp = c.batch = 2; }},
    {"mean_of_local_means", ofDocuments},
    {"clip_before_reduce", [](TrainConfig& c) { c.max_norm = 0.1; }},
};

TrainConfig configOf(const std::string& mistake) {
  TrainConfig config = training(2);
  const auto at = std::ranges::find(kPrepared, mistake, &Prepared::mistake);
  if (at != kPrepared.end()) at->prepare(config);
  return config;
}

/// Returns the input of the two mistakes that only a single attention can have.
std::optional<Attention> runAttention(const std::string& mistake) {
  if (mistake == "lse_overflow") {
    Attention a = attention(2);
    a.in.scale = 40;
    return a;
  }
  if (mistake != "padding_unmasked") return std::nullopt;
  Attention a = attention(2, 61);
  a.config.pad = true;
  a.in.mask = Mask::full();
  return a;
}

/// Records the run that is prepared for a mistake, with the mistake if `made` is true.
void runInto(traces::Recorder& recorder, const std::string& mistake, bool made,
             const std::string& capture) {
  const std::string injected = made ? mistake : "";
  try {
    if (auto a = runAttention(mistake)) {
      a->config.capture = capture;
      attendWith(*a, injected, &recorder);
      return;
    }
    TrainConfig config = configOf(mistake);
    config.capture = capture;
    train(config, injected, &recorder);
  } catch (const Error& error) {
    if (injected != "dropped_hop") throw;
    recorder.note(traces::kEndedNote, traces::endedNote({traces::HowEnded::kFailed, error.what()}));
  }
}

traces::Diagnosis diagnosisOf(const std::string& mistake, bool made, const std::string& capture) {
  ringscope::test::TempDir dir;
  const auto a = runAttention(mistake);
  const int ranks = a ? a->config.cp : configOf(mistake).worldSize();
  {
    std::vector<std::unique_ptr<traces::ChunkSink>> sinks;
    sinks.push_back(std::make_unique<traces::SqliteSink>(dir.file("a.rscope")));
    traces::Recorder recorder(ranks, std::move(sinks));
    runInto(recorder, mistake, made, capture);
  }
  return traces::diagnose(*traces::openTrace(dir.file("a.rscope")));
}

std::string answerFrom(const traces::Diagnosis& diagnosis, const std::string& rule) {
  for (const auto& entry : diagnosis.entries)
    if (entry.rule == rule)
      return entry.result.verdict == traces::Verdict::kFound           ? "found"
             : entry.result.verdict == traces::Verdict::kNotObservable ? "not observable"
                                                                       : "clear";
  return "no rule";
}

/// Returns the mistakes of the catalogue that the engine can make.
std::vector<traces::Mistake> injectedByEngine() {
  std::vector<traces::Mistake> all = traces::mistakeCatalogue();
  std::erase_if(all, [](const traces::Mistake& mistake) { return !mistake.injectable; });
  return all;
}

/// Returns the index of the first of kCaptures that keeps what the catalogue requires.
std::ptrdiff_t enoughFor(const traces::Mistake& mistake) {
  switch (mistake.capture) {
    case traces::CaptureNeeded::kEvents:
      return 0;
    case traces::CaptureNeeded::kStats:
      return 1;
    case traces::CaptureNeeded::kFull:
      return 3;
  }
  return 3;
}

TEST(CaptureTableTest, EachMistakeIsFoundOrNotObservableAsTheTableSays) {
  const Answers table = documented();
  const auto all = injectedByEngine();
  EXPECT_EQ(table.size(), all.size());
  for (const traces::Mistake& mistake : all) {
    std::vector<std::string> answers;
    for (const std::string& capture : kCaptures) {
      const auto diagnosis = diagnosisOf(mistake.id, true, capture);
      answers.push_back(answerFrom(diagnosis, mistake.id));
      for (const traces::Finding& finding : diagnosis.findings())
        EXPECT_TRUE(finding.rule == mistake.id || test::isEffect(mistake.id, finding.rule))
            << mistake.id << " with " << capture << " is called " << finding.rule;
    }
    EXPECT_TRUE(std::all_of(answers.begin() + enoughFor(mistake), answers.end(),
                            [](const std::string& answer) { return answer == "found"; }))
        << mistake.id << " is not found with the capture that the catalogue lists";
    EXPECT_EQ(std::ranges::count(answers, "clear"), 0) << mistake.id;
    std::string row = "| `" + mistake.id + "` |";
    for (const std::string& answer : answers) row += " " + answer + " |";
    const auto said = table.find(mistake.id);
    EXPECT_TRUE(said != table.end() && said->second == answers) << row;
  }
}

/// Reports whether the run works without the mistake. The other runs are rejected then.
bool runsWithout(const std::string& mistake) {
  return mistake != "balance_without_causal" && mistake != "heads_not_divisible" &&
         mistake != "uneven_shards";
}

TEST(CaptureTableTest, TheRuleIsClearWithoutItsMistakeUnderTheListedCapture) {
  std::map<std::string, traces::Diagnosis> usual;  // by capture: the diagnosis of the run that most
                                                   // mistakes share
  for (const traces::Mistake& mistake : injectedByEngine()) {
    if (!runsWithout(mistake.id)) continue;
    const bool own =
        runAttention(mistake.id) ||
        std::ranges::find(kPrepared, mistake.id, &Prepared::mistake) != kPrepared.end();
    for (std::ptrdiff_t i = 0; i < std::ssize(kCaptures); ++i) {
      const std::string& capture = kCaptures[static_cast<std::size_t>(i)];
      if (!own && !usual.contains(capture))
        usual[capture] = diagnosisOf(mistake.id, false, capture);
      const auto diagnosis = own ? diagnosisOf(mistake.id, false, capture) : usual[capture];
      EXPECT_TRUE(diagnosis.findings().empty()) << mistake.id << " with " << capture;
      if (i >= enoughFor(mistake)) {
        EXPECT_EQ(answerFrom(diagnosis, mistake.id), "clear") << mistake.id << " with " << capture;
      }
    }
  }
}

}  // namespace
}  // namespace ringscope::engine
