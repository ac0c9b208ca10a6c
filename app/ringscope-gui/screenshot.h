// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QApplication>

#include "viz/window/main_window.h"

namespace ringscope::app {

/// A picture of the window that --screenshot asks for.
struct ScreenshotRequest {
  QString trace;   ///< the recording; empty: the picture shows the start page
  QString output;  ///< the PNG file
  QString at;      ///< the moment, as --at takes it; empty: the second ring step
  QString size;    ///< "WxH"
};

/// Draws the window into the file, and returns the program's exit code. A recording is opened
/// first, and the doctor and the comparison end. Throws usageError for a wrong size.
int takeScreenshot(QApplication& app, viz::MainWindow& window, const ScreenshotRequest& request);

}  // namespace ringscope::app
