// SPDX-License-Identifier: Apache-2.0
#include "engine/mistakes/limited_seams.h"

#include <utility>

namespace ringscope::engine {
namespace {

bool isThere(const traces::AskedMistake& asked, const SeamPlace& at) {
  return (!asked.rank || at.worldRank() == WorldRank::of(*asked.rank)) &&
         (!asked.layer || at.place.layer == Layer::of(*asked.layer)) &&
         (!asked.step || at.place.train_step == *asked.step);
}

class Limiting {
 public:
  explicit Limiting(const traces::AskedMistake& asked) : asked_(asked) {}

  template <typename Result, typename... Given>
  void operator()(std::function<Result(const SeamPlace&, Given...)>& seam,
                  const std::function<Result(const SeamPlace&, Given...)>& before) const {
    seam = [asked = asked_, before, wrong = std::move(seam)](const SeamPlace& at, Given... given) {
      return isThere(asked, at) ? wrong(at, std::forward<Given>(given)...)
                                : before(at, std::forward<Given>(given)...);
    };
  }

 private:
  traces::AskedMistake asked_;
};

}  // namespace

Seams limitedTo(const traces::AskedMistake& asked, const Seams& before, const Seams& wrong) {
  const Limiting limit(asked);
  Seams seams = wrong;
  limit(seams.data.batch, before.data.batch);
  limit(seams.buffers.cuts, before.buffers.cuts);
  limit(seams.buffers.cut, before.buffers.cut);
  limit(seams.buffers.sharded, before.buffers.sharded);
  limit(seams.attention.layout, before.attention.layout);
  limit(seams.attention.schedule, before.attention.schedule);
  limit(seams.attention.heads, before.attention.heads);
  limit(seams.attention.dropout, before.attention.dropout);
  limit(seams.attention.block, before.attention.block);
  limit(seams.attention.merge, before.attention.merge);
  limit(seams.attention.running, before.attention.running);
  limit(seams.attention.backward, before.attention.backward);
  limit(seams.ring.group, before.ring.group);
  limit(seams.ring.kv, before.ring.kv);
  limit(seams.ring.dkv, before.ring.dkv);
  limit(seams.model.rotary, before.model.rotary);
  limit(seams.model.embedded, before.model.embedded);
  limit(seams.model.recomputed, before.model.recomputed);
  limit(seams.loss.reduce, before.loss.reduce);
  limit(seams.loss.logged, before.loss.logged);
  limit(seams.gradients.local, before.gradients.local);
  limit(seams.gradients.reduce, before.gradients.reduce);
  limit(seams.gradients.norm, before.gradients.norm);
  limit(seams.gradients.clip, before.gradients.clip);
  return seams;
}

}  // namespace ringscope::engine
