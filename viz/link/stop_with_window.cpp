// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/link/stop_with_window.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>

namespace ringscope::viz {

void stopWithThisWindow(QProcess& process) {
  process.setChildProcessModifier([window = ::getpid()] {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != window) ::_exit(1);  // it ended before it could be listened for
  });
}

}  // namespace ringscope::viz
