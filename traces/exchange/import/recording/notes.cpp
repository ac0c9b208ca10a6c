// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "traces/exchange/import/recording/called.h"
#include "traces/exchange/import/recording/job.h"
#include "traces/exchange/waits/who_waits.h"
#include "traces/format/core/prose.h"
#include "traces/format/schema/attention_facts.h"
#include "traces/format/schema/declared.h"
#include "traces/format/schema/framework.h"
#include "traces/format/trace/lacks.h"
#include "traces/format/trace/observed_model.h"

namespace ringscope::traces {
namespace {

/// Adds the numbers of each training step, from the first rank that logged them. If no norm was
/// logged, it is the result of clip_grad_norm_.
void addSteps(RecordedJob& job) {
  std::map<std::int32_t, nlohmann::json> steps;
  for (const RankLines& rank : job.ranks)
    for (const Line& line : rank.lines) {
      if (line.kind() != "log" && line.kind() != "clip") continue;
      const std::int32_t step = line.place(Direction::kForward).train_step;
      if (line.kind() == "log") {
        const nlohmann::json logged = line.part("values").json();
        for (const auto& [name, value] : logged.items())
          // The recorder writes null for NaN and infinities, as the note does.
          if (value.is_number() || value.is_null()) steps[step].emplace(name, value);
      }
      if (line.kind() == "clip" && line.real("norm") && line.real("norm_type") == 2)
        steps[step].emplace("grad_norm", *line.real("norm"));
    }
  for (auto& [step, numbers] : steps) {
    numbers["step"] = step;
    job.notes.push_back({"step." + std::to_string(step), numbers.dump()});
  }
}

void addFramework(RecordedJob& job) {
  Framework framework = Framework::kPyTorch;
  for (const Line& line : job.ranks.front().lines)
    if (line.kind() == "model" && line.text("library") == "transformers")
      framework = Framework::kTransformers;
  job.notes.push_back({kFrameworkNote, nlohmann::json(name(framework)).dump()});
}

/// Returns the numbers of tensors without values over all ranks, by the recorder's reason; null
/// when a rank did not write its last line, which counts them.
nlohmann::json leftOut(const RecordedJob& job) {
  std::map<std::string, std::int64_t> counts;
  for (const RankLines& rank : job.ranks) {
    const auto end = std::ranges::find(rank.lines, "end", &Line::kind);
    if (end == rank.lines.end()) return nullptr;
    for (const char* reason : {"policy", "budget"})
      counts[reason] += end->part("left_out").whole(reason, 0);
  }
  return counts;
}

/// Adds the recorder's options, from the first rank.
void addRecorder(RecordedJob& job) {
  nlohmann::json asked = nlohmann::json::object();
  for (const Line& line : job.ranks.front().lines)
    if (line.kind() == "options") asked = line.json();
  asked.erase("line");
  asked["left_out"] = leftOut(job);
  const Called called = calledWith(job.ranks.front());
  asked["attention"] = called.recognised ? "recognised"
                       : called.by_job   ? "annotated"
                       : called.ring     ? "ring"
                                         : "whole";
  asked["own_mask"] = called.own_mask;
  job.notes.push_back({kRecorderNote, asked.dump()});
}

/// Adds what the recorder saw of the model.
void addModel(RecordedJob& job) {
  std::set<std::string> embeddings;
  nlohmann::json projection, unwatched = nlohmann::json::array();
  for (const RankLines& rank : job.ranks)
    for (const Line& line : rank.lines) {
      if (line.kind() == "embedding") embeddings.insert(line.text("parameter"));
      if (line.kind() == "head" && projection.is_null())
        projection = {{"parameter", line.text("parameter")}};
      if (line.kind() != "unwatched") continue;
      const nlohmann::json all = line.json();
      if (!all.contains("modules") || !all["modules"].is_array()) continue;
      for (const auto& module : all["modules"])
        if (std::ranges::find(unwatched, module) == unwatched.end()) unwatched.push_back(module);
    }
  if (!projection.is_null()) {
    projection["tied"] = embeddings.contains(projection["parameter"].get<std::string>());
    job.notes.push_back({kProjectionNote, projection.dump()});
  }
  if (!unwatched.empty()) job.notes.push_back({kUnwatchedNote, unwatched.dump()});
}

/// Reports values that exceeded the recorder's budget.
void addLeftOut(RecordedJob& job, const RankLines& rank) {
  for (const Line& line : rank.lines)
    if (line.kind() == "end" && line.part("left_out").whole("budget", 0) > 0)
      job.problems.push_back("rank " + toString(rank.rank) + ": the values of " +
                             describeCount(line.part("left_out").whole("budget"), "tensor") +
                             " did not fit into the recorder's budget_bytes");
}

/// Reports whether the user interrupted the program, which older recorders recorded as an error.
bool isInterrupted(const std::string& why) {
  return why == "interrupted" || why.starts_with("failed: KeyboardInterrupt");
}

/// Reports whether the program left by sys.exit() with success, which older recorders recorded as
/// an error.
bool exitedWithSuccess(const std::string& why) {
  return why == "failed: SystemExit: 0" || why == "failed: SystemExit: None" ||
         why == "failed: SystemExit: ";
}

}  // namespace

Ending findEnding(const RankLines& rank) {
  for (const Line& line : rank.lines) {
    if (line.kind() != "end") continue;
    const std::string why = line.text("why");
    if (why == "finished" || exitedWithSuccess(why)) return {HowEnded::kFinished, ""};
    const bool failed = why.starts_with("failed") && !isInterrupted(why);
    return {failed ? HowEnded::kFailed : HowEnded::kStopped,
            "rank " + toString(rank.rank) + ": " + why};
  }
  return {HowEnded::kCut, "rank " + toString(rank.rank) + " wrote no last line"};
}

std::int32_t countWholeSteps(const RecordedJob& job) {
  if (std::ssize(job.ranks) != job.ranks.front().world_size) return 0;
  std::int32_t common = std::numeric_limits<std::int32_t>::max();
  for (const RankLines& rank : job.ranks) {
    std::int32_t recorded = -1, ended = 0;
    for (const Line& line : rank.lines) {
      const bool computes = line.kind() == "attention" || line.kind() == "loss";
      if (!computes && line.kind() != "step") continue;
      const std::int32_t step = line.place(Direction::kForward).train_step;
      if (computes) recorded = std::max(recorded, step);
      if (!computes && step <= recorded) ended = std::max(ended, step + 1);
    }
    common = std::min(common, ended);
  }
  return common;
}

/// Adds what recorders say that they cannot observe, once for all ranks that say it.
void addLimits(RecordedJob& job) {
  std::map<std::string, std::vector<WorldRank>> limits;
  for (const RankLines& rank : job.ranks)
    for (const Line& line : rank.lines) {
      if (line.kind() != "limit") continue;
      std::vector<WorldRank>& ranks = limits[line.text("why")];
      if (ranks.empty() || ranks.back() != rank.rank) ranks.push_back(rank.rank);
    }
  for (const auto& [limit, ranks] : limits)
    job.lacks.push_back(describeRanks(ranks) + ": " + limit);
}

void addNotes(RecordedJob& job) {
  addSteps(job);
  addFramework(job);
  addRecorder(job);
  job.notes.push_back({kAttentionNote, attentionFacts(job)});
  addModel(job);
  if (job.declared) {
    nlohmann::json declared = job.declared->json();
    declared.erase("line");
    job.notes.push_back({kDeclaredNote, declared.dump()});
  }
  Ending worst{HowEnded::kFinished, ""};
  bool caused = false;
  for (const RankLines& rank : job.ranks) {
    const Ending ending = findEnding(rank);
    const bool causes = failedByItself(rank);
    if (ending.how > worst.how || (causes && !caused)) worst = ending;
    caused = caused || causes;
    addLeftOut(job, rank);
    for (const Line& line : rank.lines)
      if (line.kind() == "trouble" || line.kind() == "full")
        job.problems.push_back("rank " + toString(rank.rank) + ": " +
                               (line.kind() == "trouble"
                                    ? line.text("where") + ": " + line.text("error")
                                    : "the recorder's budget was used up"));
  }
  addLimits(job);
  const std::vector<Hang> hangs = hangsIn(job);
  if (!hangs.empty()) job.notes.push_back({kHangNote, hangNote(hangs)});
  if (!job.lacks.empty()) job.notes.push_back({kLacksNote, lacksNote(job.lacks)});
  if (worst.how == HowEnded::kCut && hangs.empty()) worst.reason += whyNoHang(job);
  if (worst.how != HowEnded::kFinished) worst.whole_until = countWholeSteps(job);
  job.notes.push_back({kEndedNote, endedNote(worst)});
}

}  // namespace ringscope::traces
