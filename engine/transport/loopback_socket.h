// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ringscope::engine {

/// A socket that listens where only this machine reaches it, so that nobody can take its port from
/// whoever it is handed to. Not inherited by programs that are started. Its owner closes it.
struct LoopbackSocket {
  int descriptor = -1;
  int port = 0;
};

/// `port` 0: any that is free. Throws runFailed when it cannot be had.
LoopbackSocket listenOnLoopback(int port = 0);

}  // namespace ringscope::engine
