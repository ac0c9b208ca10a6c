// SPDX-License-Identifier: Apache-2.0
#include "engine/transport/group.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace ringscope::engine {

Group::Group(Communicator& communicator, std::vector<GroupRank> ranks)
    : communicator_(&communicator), ranks_(std::move(ranks)) {
  const auto mine = std::find(ranks_.begin(), ranks_.end(), communicator.rank());
  TORCH_CHECK(mine != ranks_.end(), "a rank is not in its own group");
  rank_ = GroupRank::of(mine - ranks_.begin());
}

Exchange Group::exchange(std::vector<Outgoing> sends, std::vector<Incoming> receives,
                         Posting posting) const {
  for (Outgoing& send : sends) send.to = communicatorRank(send.to);
  for (Incoming& receive : receives) receive.from = communicatorRank(receive.from);
  return communicator_->exchange(sends, receives, posting);
}

Exchange Group::allToAll(const std::vector<at::Tensor>& sends,
                         const std::vector<at::Tensor>& receives) const {
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  auto used = [](const at::Tensor& t) { return t.defined() && t.numel() > 0; };
  for (int r = 0; r < size(); ++r) {
    const auto i = static_cast<std::size_t>(r);
    const GroupRank peer = GroupRank::of(r);
    if (peer == rank_) {
      if (used(sends[i])) at::Tensor(receives[i]).copy_(sends[i]);
      continue;
    }
    if (used(sends[i])) out.push_back({sends[i], peer});
    if (used(receives[i])) in.push_back({receives[i], peer});
  }
  return exchange(std::move(out), std::move(in));
}

}  // namespace ringscope::engine
