// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "engine/mistakes/seams.h"

namespace ringscope::engine::test {

/// A log of every call of every seam, with the place of the call. Thread-safe.
class SeamLog {
 public:
  SeamLog() { watchAll(); }
  SeamLog(const SeamLog&) = delete;
  SeamLog& operator=(const SeamLog&) = delete;

  /// Returns the correct seams, each with logging. They refer to this log.
  const Seams& seams() const { return seams_; }
  /// Returns the names of all seams, as in the README beside seams.h.
  const std::set<std::string>& names() const { return names_; }
  std::vector<SeamPlace> calls(const std::string& seam) const {
    const std::lock_guard lock(mutex_);
    const auto found = calls_.find(seam);
    return found == calls_.end() ? std::vector<SeamPlace>() : found->second;
  }
  std::set<std::string> reached() const {
    const std::lock_guard lock(mutex_);
    std::set<std::string> reached;
    for (const auto& [name, calls] : calls_) reached.insert(name);
    return reached;
  }

 private:
  /// Adds logging to every seam. A new seam in a group fails to compile here until it is added.
  void watchAll() {
    [[maybe_unused]] auto& [data, buffers, attention, ring, model, loss, gradients, checks,
                            watched] = seams_;
    auto& [batch] = data;
    watch("data.batch", batch);
    auto& [layout, padding, cuts, cut, sharded, joined] = buffers;
    watch("buffers.layout", layout);
    watch("buffers.padding", padding);
    watch("buffers.cuts", cuts);
    watch("buffers.cut", cut);
    watch("buffers.sharded", sharded);
    watch("buffers.joined", joined);
    auto& [attended, schedule, heads, dropout, scores, block, merge, running, stage, sinks,
           first_sink, backward] = attention;
    watch("attention.layout", attended);
    watch("attention.schedule", schedule);
    watch("attention.heads", heads);
    watch("attention.dropout", dropout);
    watch("attention.scores", scores);
    watch("attention.block", block);
    watch("attention.merge", merge);
    watch("attention.running", running);
    watch("attention.stage", stage);
    watch("attention.sinks", sinks);
    watch("attention.first_sink", first_sink);
    watch("attention.backward", backward);
    auto& [group, kv, dkv] = ring;
    watch("ring.group", group);
    watch("ring.kv", kv);
    watch("ring.dkv", dkv);
    auto& [rotary, embedded, recomputed] = model;
    watch("model.rotary", rotary);
    watch("model.embedded", embedded);
    watch("model.recomputed", recomputed);
    auto& [reduce_loss, logged] = loss;
    watch("loss.reduce", reduce_loss);
    watch("loss.logged", logged);
    auto& [local, reduce, norm, clip] = gradients;
    watch("gradients.local", local);
    watch("gradients.reduce", reduce);
    watch("gradients.norm", norm);
    watch("gradients.clip", clip);
    [[maybe_unused]] auto& [refusal, made] = checks;
    watch("checks.refusal", refusal);
  }

  template <typename Result, typename... Given>
  void watch(const std::string& name, std::function<Result(Given...)>& seam) {
    names_.insert(name);
    seam = [this, name, correct = seam](Given... given) -> Result {
      note(name, given...);
      return correct(std::forward<Given>(given)...);
    };
  }
  template <typename First, typename... Rest>
  void note(const std::string& name, const First& first, const Rest&...) {
    const std::lock_guard lock(mutex_);
    if constexpr (std::is_same_v<First, SeamPlace>)
      calls_[name].push_back(first);
    else
      calls_[name].emplace_back();  // outside of any rank
  }

  mutable std::mutex mutex_;
  Seams seams_;
  std::set<std::string> names_;
  std::map<std::string, std::vector<SeamPlace>> calls_;
};

}  // namespace ringscope::engine::test
