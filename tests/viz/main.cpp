// SPDX-License-Identifier: GPL-3.0-or-later
// Tests that draw need an application and its fonts, offscreen when there is no display. The
// settings and runs that a window keeps for its user go into a folder that the tests remove.
#include <gtest/gtest.h>

#include <QTemporaryDir>

#include "viz/style/theme.h"
#include "viz/window/application.h"

int main(int argc, char** argv) {
  if (qEnvironmentVariableIsEmpty("DISPLAY")) qputenv("QT_QPA_PLATFORM", "offscreen");
  const QTemporaryDir home;
  for (const char* folder : {"XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"})
    qputenv(folder, (home.path() + "/" + folder).toUtf8());
  ringscope::viz::Application app(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  ringscope::viz::loadFonts();
  return RUN_ALL_TESTS();
}
