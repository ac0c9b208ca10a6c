// SPDX-License-Identifier: Apache-2.0
#include "engine/parallel/gather.h"

#include <ATen/ATen.h>

namespace ringscope::engine {
namespace {

void sendToFirst(Communicator& group, const std::vector<at::Tensor>& mine) {
  std::vector<Outgoing> sends;
  sends.reserve(mine.size());
  for (const at::Tensor& t : mine) sends.push_back({t.detach().contiguous(), GroupRank::of(0)});
  group.exchange(sends, {}).wait();
}

}  // namespace

std::vector<std::vector<at::Tensor>> gatherToFirst(Communicator& group,
                                                   const std::vector<at::Tensor>& mine) {
  if (group.rank() != GroupRank::of(0)) {
    sendToFirst(group, mine);
    return {};
  }
  std::vector<std::vector<at::Tensor>> all;
  std::vector<Incoming> receives;
  for (const at::Tensor& own : mine) {
    all.push_back(
        {own.detach().to(at::kCPU, own.scalar_type(), false, /*copy=*/true).contiguous()});
    for (int r = 1; r < group.size(); ++r) {
      all.back().push_back(at::empty(own.sizes(), own.options().requires_grad(false)));
      receives.push_back({all.back().back(), GroupRank::of(r)});
    }
  }
  if (!receives.empty()) group.exchange({}, receives).wait();
  for (auto& of_ranks : all)
    for (at::Tensor& t : of_ranks) t = t.cpu();
  return all;
}

std::vector<at::Tensor> gatherToFirst(Communicator& group, const at::Tensor& mine) {
  auto all = gatherToFirst(group, std::vector<at::Tensor>{mine});
  return all.empty() ? std::vector<at::Tensor>() : std::move(all.front());
}

}  // namespace ringscope::engine
