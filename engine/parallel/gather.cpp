// SPDX-License-Identifier: Apache-2.0
#include "engine/parallel/gather.h"

#include <ATen/ATen.h>

namespace ringscope::engine {

std::vector<at::Tensor> gatherToFirst(Communicator& group, const at::Tensor& mine) {
  const at::Tensor own = mine.detach().contiguous();
  if (group.rank() != 0) {
    group.exchange({{own, 0}}, {}).wait();
    return {};
  }
  std::vector<at::Tensor> all = {own};
  std::vector<Incoming> receives;
  for (int r = 1; r < group.size(); ++r) {
    all.push_back(at::empty_like(own));
    receives.push_back({all.back(), r});
  }
  if (!receives.empty()) group.exchange({}, receives).wait();
  for (at::Tensor& t : all) t = t.cpu().clone();
  return all;
}

}  // namespace ringscope::engine
