// SPDX-License-Identifier: Apache-2.0
// When PyTorch's context_parallel was active, and calls of it that raised an error.
#include <set>

#include "traces/exchange/import/recording/called.h"
#include "traces/exchange/import/recording/job.h"
#include "traces/format/trace/context_facts.h"

namespace ringscope::traces {
namespace {

/// Follows one rank's lines, and finds backwards outside of the context.
class ContextLines {
 public:
  explicit ContextLines(const RankLines& rank) : rank_(rank) {}

  std::vector<OutsideBackward> read() {
    for (const Line& line : rank_.lines) {
      if (line.kind() == "context") active_ = line.flag("active");
      if (line.kind() == "attention") addAttention(line);
      if (line.kind() == "loss") addLoss(line);
      if (line.kind() == "loss_gradient" && !active_) began_.insert(line.whole("number"));
      if (line.kind() == "step") endStep("");
      if (line.kind() == "end") endOfFile(line.text("why"));
    }
    return std::move(found_);
  }

 private:
  /// A backward takes its forward off the calls that still need one. One of a single rank shows
  /// that gradients of attention were needed outside: a job may train no more than its last layers.
  void addAttention(const Line& line) {
    const bool forward = line.text("direction") == "forward";
    if (!line.has("ring")) needed_ = needed_ || (!forward && !active_ && !began_.empty());
    if (!line.has("ring") || isOfJob(line)) return;
    if (forward) {
      calls_.insert(line.whole("call"));
      return;
    }
    for (auto& [number, loss] : losses_) loss.calls.erase(line.whole("forward_call"));
  }

  /// The attention since the last loss belongs to this one, unless this is an evaluation.
  void addLoss(const Line& line) {
    if (line.flag("grad"))
      losses_[line.whole("number")] = {line.place(Direction::kForward).train_step, calls_,
                                       calls_.size()};
    calls_.clear();
  }

  void endStep(const std::string& error) {
    needed_ = needed_ || error.find("attention") != std::string::npos;
    for (const std::int64_t number : needed_ ? began_ : std::set<std::int64_t>()) {
      const auto loss = losses_.find(number);
      if (loss != losses_.end() && !loss->second.calls.empty() &&
          loss->second.calls.size() == loss->second.all)
        found_.push_back({loss->second.train_step, rank_.rank,
                          static_cast<std::int64_t>(loss->second.all), error});
    }
    losses_.clear();
    began_.clear();
    calls_.clear();
    needed_ = false;
  }

  /// PyTorch's error of a backward whose inputs were restored when the context was left comes
  /// before any gradient.
  void endOfFile(const std::string& why) {
    const bool restored = why.find("modified by an inplace operation") != std::string::npos;
    if (restored && !active_ && !losses_.empty()) {
      began_.insert(losses_.rbegin()->first);
      needed_ = true;
    }
    endStep(why.starts_with("failed") ? why : "");
  }

  struct LossInContext {
    std::int32_t train_step = 0;
    std::set<std::int64_t> calls;  ///< forwards whose backward has not run
    std::size_t all = 0;
  };
  const RankLines& rank_;
  bool active_ = true;                            ///< until the first line says otherwise
  std::set<std::int64_t> calls_;                  ///< forwards since the last loss
  std::map<std::int64_t, LossInContext> losses_;  ///< of this training step, by number
  std::set<std::int64_t> began_;                  ///< losses whose backward began outside
  bool needed_ = false;  ///< the backward that began outside needs gradients of attention
  std::vector<OutsideBackward> found_;
};

}  // namespace

void addContext(RecordedJob& job) {
  nlohmann::json outside = nlohmann::json::array(), uncut = nlohmann::json::array();
  bool observed = false;
  for (const RankLines& rank : job.ranks) {
    for (const OutsideBackward& backward : ContextLines(rank).read())
      outside.push_back(toJson(backward));
    for (const Line& line : rank.lines) {
      observed = observed || line.kind() == "context";
      if (line.kind() == "uncut")
        uncut.push_back(toJson(UncutBuffer{line.place(Direction::kForward).train_step, rank.rank,
                                           line.text("name"), line.whole("seq_dim", 0),
                                           line.wholes("full_shape")}));
    }
  }
  if (observed) job.notes.push_back({kOutsideNote, outside.dump()});
  if (!uncut.empty()) job.notes.push_back({kUncutNote, uncut.dump()});
}

}  // namespace ringscope::traces
