// SPDX-License-Identifier: Apache-2.0
#include "engine/mistakes/limited_seams.h"

#include <utility>

namespace ringscope::engine {
namespace {

/// The ranks at which a limited mistake is made. Ranks of one tp group read the same batch, so a
/// mistake in the batch of one of them is made on all of them.
enum class Of { kRank, kTpGroup };

bool isThere(const traces::AskedMistake& asked, const SeamPlace& at, Of whom) {
  SeamPlace place = at;
  if (whom == Of::kTpGroup && asked.rank)
    place.rank.tp = at.mesh.placeFor(WorldRank::of(*asked.rank)).tp;
  return (!asked.rank || place.worldRank() == WorldRank::of(*asked.rank)) &&
         (!asked.layer || at.place.layer == Layer::of(*asked.layer)) &&
         (!asked.step || at.place.train_step == *asked.step);
}

class Limiting {
 public:
  Limiting(const traces::AskedMistake& asked, Of whom) : asked_(asked), whom_(whom) {}

  template <typename Result, typename... Given>
  void operator()(std::function<Result(const SeamPlace&, Given...)>& seam,
                  const std::function<Result(const SeamPlace&, Given...)>& before) const {
    seam = [asked = asked_, whom = whom_, before, wrong = std::move(seam)](const SeamPlace& at,
                                                                           Given... given) {
      return isThere(asked, at, whom) ? wrong(at, std::forward<Given>(given)...)
                                      : before(at, std::forward<Given>(given)...);
    };
  }

 private:
  traces::AskedMistake asked_;
  Of whom_;
};

using Cuts = Adjust<std::vector<BufferCut>&>;

/// Returns cuts in which `wrong` changes one buffer, and `before` decides about the others.
Cuts ofBuffer(const std::string& buffer, const Cuts& before, const Cuts& wrong) {
  return [buffer, before, wrong](const SeamPlace& at, std::vector<BufferCut>& cuts) {
    std::vector<BufferCut> changed = cuts;
    wrong(at, changed);
    before(at, cuts);
    for (BufferCut& cut : cuts)
      for (const BufferCut& other : changed)
        if (cut.buffer == buffer && other.buffer == buffer) cut = other;
  };
}

}  // namespace

Seams limitedTo(const traces::AskedMistake& asked, const Seams& before, const Seams& wrong) {
  const Limiting limit(asked, Of::kRank), limit_what_is_read(asked, Of::kTpGroup);
  Seams seams = wrong;
  if (!asked.buffer.empty())
    seams.buffers.cuts = ofBuffer(asked.buffer, before.buffers.cuts, wrong.buffers.cuts);
  limit_what_is_read(seams.data.batch, before.data.batch);
  limit_what_is_read(seams.buffers.cuts, before.buffers.cuts);
  limit_what_is_read(seams.buffers.cut, before.buffers.cut);
  limit_what_is_read(seams.buffers.sharded, before.buffers.sharded);
  limit(seams.attention.layout, before.attention.layout);
  limit(seams.attention.schedule, before.attention.schedule);
  limit(seams.attention.heads, before.attention.heads);
  limit(seams.attention.dropout, before.attention.dropout);
  limit(seams.attention.scores, before.attention.scores);
  limit(seams.attention.block, before.attention.block);
  limit(seams.attention.merge, before.attention.merge);
  limit(seams.attention.running, before.attention.running);
  limit(seams.attention.stage, before.attention.stage);
  limit(seams.attention.sinks, before.attention.sinks);
  limit(seams.attention.first_sink, before.attention.first_sink);
  limit(seams.attention.backward, before.attention.backward);
  limit(seams.ring.group, before.ring.group);
  limit(seams.ring.kv, before.ring.kv);
  limit(seams.ring.dkv, before.ring.dkv);
  limit(seams.model.rotary, before.model.rotary);
  limit(seams.model.embedded, before.model.embedded);
  limit(seams.model.recomputed, before.model.recomputed);
  limit_what_is_read(seams.loss.reduce, before.loss.reduce);
  limit_what_is_read(seams.loss.logged, before.loss.logged);
  limit(seams.gradients.local, before.gradients.local);
  limit(seams.gradients.reduce, before.gradients.reduce);
  limit(seams.gradients.norm, before.gradients.norm);
  limit(seams.gradients.clip, before.gradients.clip);
  return seams;
}

}  // namespace ringscope::engine
