// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/timeline/timeline_account.h"

#include "viz/views/timeline/rank_caption_scene.h"

namespace ringscope::viz {

bool TimelineAccount::update(const Cursor& watched, std::uint64_t version, TimelineAxis& axis,
                             ChartScene& scene) {
  const Sources now{watched, version, axis.clock(), axis.showsPath(), axis.ownDevices()};
  if (made_ == now && step_ == axis.recorded()) return false;
  made_ = now;
  account_ = axis.account(scene);
  scene.chain = axis.findChain(scene, account_);
  step_ = axis.recorded();  // findChain() may have read it
  scene.captions.clear();
  if (account_.timed)
    for (const RankAccount& rank : account_.ranks)
      scene.captions.push_back(rankCaption(rank, account_.model));
  return true;
}

}  // namespace ringscope::viz
