// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "traces/format/schema/band.h"
#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// The events of one layer's attention in one direction, over the ranks of a group. Pointers are
/// valid until the next pass is read.
struct AttentionPass {
  Place place;  ///< without a ring step
  std::int32_t microbatch = 0;
  /// By the group's rank: pieces attended, in the order of time; messages of KV, dK and dV, in that
  /// of recording.
  std::vector<std::vector<const Event*>> attended, messages;
  /// Nothing that these ranks did in it is missing.
  bool complete = false;
};

/// The passes of which an event was recorded, in the order of visiting, for one loop. Events are
/// read pass by pass, and let go. The trace must not change meanwhile.
class AttentionPasses {
 public:
  /// `members`: the ranks that share a sequence.
  AttentionPasses(const Trace& trace, std::vector<WorldRank> members);

  class Iterator {
   public:
    explicit Iterator(AttentionPasses* passes) : passes_(passes) {}
    const AttentionPass& operator*() const { return passes_->ready_.front(); }
    Iterator& operator++() {
      passes_->ready_.pop_front();
      passes_->fetch();
      return *this;
    }
    bool operator==(std::default_sentinel_t) const { return passes_->ready_.empty(); }

   private:
    AttentionPasses* passes_;
  };
  Iterator begin() {
    fetch();
    return Iterator(this);
  }
  std::default_sentinel_t end() const { return {}; }

 private:
  void fetch();
  void readAt(const Place& place);
  Place findLast(std::size_t seat) const;

  const Trace& trace_;
  const std::vector<WorldRank> members_;
  std::vector<Place> places_;  // without ring steps
  std::size_t next_ = 0;       // of places
  bool whole_ = false, finished_ = false;
  std::int32_t whole_until_ = 0;            // the training steps before it are recorded to the end
  std::vector<Place> last_;                 // of each rank
  std::vector<std::vector<Event>> events_;  // of each rank at the place that is read
  std::deque<AttentionPass> ready_;         // at that place
};
inline AttentionPasses attentionPasses(const Trace& trace, const std::vector<WorldRank>& members) {
  return {trace, members};
}

/// Returns the band that a piece attends, by local rows; nullopt for a tile mask that no schedule
/// names.
std::optional<Band> attendedBand(const Trace& trace, const Event& piece);

/// Returns the same, and for a tile mask that a schedule names only as part of another, that part.
std::optional<Band> likelyBand(const Trace& trace, const Event& piece);

/// Returns what would settle whether all events of a run are recorded; empty when they are known to
/// be. Decodes all events.
std::string missingEvents(const Trace& trace);

}  // namespace ringscope::traces
