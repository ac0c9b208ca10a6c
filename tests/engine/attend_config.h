// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/attend/attend.h"

namespace ringscope::test {

/// Returns the configuration of an attention over `cp` ranks that keeps no values.
inline engine::AttendConfig attendConfig(int cp,
                                         traces::Balance balance = traces::Balance::kHeadTail) {
  engine::AttendConfig config;
  config.cp = cp;
  config.balance = balance;
  config.capture = "none";
  return config;
}

}  // namespace ringscope::test
