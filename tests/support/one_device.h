// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "engine/attend/attend.h"
#include "engine/kernels/block_attention.h"

namespace ringscope::test {

/// Returns out, lse, dq, dk, dv of one device in the input's own type.
inline std::map<std::string, at::Tensor> oneDevice(const engine::AttendInput& in) {
  engine::DeviceAttention device(in.mask, {in.scale});
  const auto r = device.forward(in.q, in.k, in.v, engine::Layer::of(0));
  const auto g = device.backward(in.dout, in.q, in.k, in.v, r, engine::Layer::of(0));
  return {{"out", r.out}, {"lse", r.lse}, {"dq", g.dq}, {"dk", g.dk}, {"dv", g.dv}};
}

}  // namespace ringscope::test
