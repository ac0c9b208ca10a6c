// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <functional>

namespace ringscope::viz {

/// Copies a recording whole: the file or the folder, with its values and notes. Calls
/// `go_on(copied, total)` in bytes now and then, and stops when it returns false. Nothing is left
/// of a copy that was stopped or has failed. Returns false when it was stopped.
///
/// Throws inputError when `to` is the recording itself, lies in it, or is a folder that exists.
/// Also throws when the recording cannot be read or the disk cannot store the copy.
bool copyRecording(const QString& from, const QString& to,
                   const std::function<bool(qint64 copied, qint64 total)>& go_on);

}  // namespace ringscope::viz
