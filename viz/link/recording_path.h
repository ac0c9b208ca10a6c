// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>

namespace ringscope::viz {

/// Reports whether a path is the address of a recording on another machine.
bool isOnOtherMachine(const QString& path);

/// Returns the file name of a recording, and the machine where it lies if that is another one:
/// "run.rscope on gpu-box".
QString recordingName(const QString& path);

/// Returns the path that is proposed for a file made from a recording: beside the recording, or in
/// the home folder when the recording lies on another machine.
QString proposedOutput(const QString& recording, const QString& extension);

/// Returns the file for notes about a recording: beside a file, or hidden in a folder. Empty for a
/// recording on another machine.
QString notesBeside(const QString& recording);

}  // namespace ringscope::viz
