// SPDX-License-Identifier: Apache-2.0
// The losses of heads that predict later tokens than the next one.
#include <algorithm>
#include <set>

#include "traces/exchange/import/recording/job.h"
#include "traces/exchange/import/recording/tensor_lines.h"

namespace ringscope::traces {
namespace {

/// The losses of all tokens of one rank's microbatch, in order, and its token ids.
struct Heads {
  RankLines* rank = nullptr;
  const Line* ids = nullptr;
  std::vector<std::size_t> losses;  ///< indices into the rank's lines
};

/// The targets of one loss of a microbatch over all ranks.
struct Evidence {
  std::int64_t targets = 0, compared = 0, next = 0;  ///< next: targets that are the next token
};

class FurtherLosses {
 public:
  explicit FurtherLosses(RecordedJob& job) : job_(job) {}

  void mark() {
    for (RankLines& rank : job_.ranks) {
      const TensorLines lines(rank, job_.problems);
      for (auto& [place, heads] : headsOf(rank, lines))
        if (heads.losses.size() > 1) take(place.first, heads, lines);
    }
    for (const auto& [train_step, several] : heads_)
      for (const Heads& heads : several) markAll(heads, mainLoss(train_step));
  }

 private:
  using Microbatch = std::pair<std::int32_t, std::int64_t>;  // and its training step

  /// Returns the losses by microbatch. Losses of parts of the tokens are no heads.
  std::map<Microbatch, Heads> headsOf(RankLines& rank, const TensorLines& lines) const {
    std::map<Microbatch, Heads> all;
    std::set<Microbatch> in_parts;
    for (std::size_t i = 0; i < rank.lines.size(); ++i) {
      const Line& line = rank.lines[i];
      const Microbatch place = {line.place(Direction::kForward).train_step,
                                line.whole("microbatch", 0)};
      if (line.kind() == "embedding" && !all[place].ids)
        all[place].ids = lines.of(line.whole("ids"));
      if (line.kind() != "loss") continue;
      Heads& heads = all[place];
      heads.rank = &rank;
      heads.losses.push_back(i);
      if (!heads.ids || !isOfEveryToken(line, *heads.ids)) in_parts.insert(place);
    }
    for (const Microbatch& place : in_parts) all.erase(place);
    return all;
  }

  static bool isOfEveryToken(const Line& loss, const Line& ids) {
    const std::int64_t targets = countElements(loss.wholes("shape"));
    const auto shape = ids.wholes("shape");
    const std::int64_t tokens = countElements(shape);
    return targets > 0 && !shape.empty() &&
           (targets == tokens || targets == tokens - shape.front());
  }

  void take(std::int32_t train_step, const Heads& heads, const TensorLines& lines) {
    heads_[train_step].push_back(heads);
    const std::vector<std::int64_t> ids = readIntegers(job_, *heads.ids, heads.rank->hash);
    auto& evidence = evidence_[train_step];
    evidence.resize(std::max(evidence.size(), heads.losses.size()));
    for (std::size_t at = 0; at < heads.losses.size(); ++at) {
      const Line& loss = heads.rank->lines[heads.losses[at]];
      evidence[at].targets += loss.whole("targets", 0);
      const Line* targets = lines.of(loss.part("tensors").whole("targets"));
      if (targets)
        compare(ids, readIntegers(job_, *targets, heads.rank->hash),
                heads.ids->wholes("shape").back(), evidence[at]);
    }
  }

  /// Counts targets that are the token after theirs on the same rank.
  static void compare(const std::vector<std::int64_t>& ids,
                      const std::vector<std::int64_t>& targets, std::int64_t length,
                      Evidence& evidence) {
    if (targets.size() != ids.size() || length < 2) return;
    for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
      if (targets[i] < 0 || (i + 1) % static_cast<std::size_t>(length) == 0) continue;
      ++evidence.compared;
      evidence.next += targets[i] == ids[i + 1];
    }
  }

  /// Returns the position of the loss whose targets are the next tokens. If no loss or several have
  /// such targets, it is the first of those with most targets: heads that predict later tokens have
  /// fewer.
  std::size_t mainLoss(std::int32_t train_step) const {
    const std::vector<Evidence>& all = evidence_.at(train_step);
    const auto follows = [](const Evidence& one) { return 2 * one.next > one.compared; };
    if (std::ranges::count_if(all, follows) == 1)
      return static_cast<std::size_t>(std::ranges::find_if(all, follows) - all.begin());
    const auto most = std::ranges::max_element(all, {}, &Evidence::targets);
    return static_cast<std::size_t>(most - all.begin());
  }

  /// Marks all losses but the main one.
  static void markAll(const Heads& heads, std::size_t main) {
    for (std::size_t at = 0; at < heads.losses.size(); ++at) {
      if (at == main) continue;
      Line& loss = heads.rank->lines[heads.losses[at]];
      nlohmann::json further = loss.json();
      further["further"] = true;
      loss = Line(further);
    }
  }

  RecordedJob& job_;
  std::map<std::int32_t, std::vector<Heads>> heads_;        // by training step
  std::map<std::int32_t, std::vector<Evidence>> evidence_;  // by position in a microbatch
};

}  // namespace

void markFurtherLosses(RecordedJob& job) {
  FurtherLosses(job).mark();
  for (RankLines& rank : job.ranks) {
    std::set<std::int64_t> logits;
    for (const Line& line : rank.lines)
      if (isOfFurtherHead(line)) logits.insert(line.part("tensors").whole("logits"));
    if (logits.empty()) continue;
    std::erase_if(rank.lines, [&](const Line& line) {
      return line.kind() == "tensor" && logits.contains(line.whole("id"));
    });
  }
}

bool isOfFurtherHead(const Line& loss) {
  return loss.kind() == "loss" && loss.flag("further");
}

}  // namespace ringscope::traces
