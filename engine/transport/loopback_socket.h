// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ringscope::engine {

/// A socket that listens on this machine only, opened early so that no other program can take its
/// port. Started programs do not inherit it. Its owner closes it.
struct LoopbackSocket {
  int descriptor = -1;
  int port = 0;
};

/// Listens on `port`, or on any free port if `port` is 0. Throws runFailed if that is impossible.
LoopbackSocket listenOnLoopback(int port = 0);

}  // namespace ringscope::engine
