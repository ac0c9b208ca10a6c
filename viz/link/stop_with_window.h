// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QProcess>

namespace ringscope::viz {

/// The engine that `process` will be is asked to stop, by SIGTERM, when this window's process ends
/// in any way. A window that is killed may not have told it yet to stop with the connection, and a
/// run that nobody sees would go on for ever.
void stopWithThisWindow(QProcess& process);

}  // namespace ringscope::viz
