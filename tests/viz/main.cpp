// SPDX-License-Identifier: GPL-3.0-or-later
// Tests that draw need an application and its fonts, offscreen where there is no display.
#include <gtest/gtest.h>

#include "viz/style/theme.h"
#include "viz/window/application.h"

int main(int argc, char** argv) {
  if (qEnvironmentVariableIsEmpty("DISPLAY")) qputenv("QT_QPA_PLATFORM", "offscreen");
  ringscope::viz::Application app(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  ringscope::viz::loadFonts();
  return RUN_ALL_TESTS();
}
