// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPalette>

#include "viz/style/theme.h"

namespace ringscope::viz {

/// Returns the colour of disabled controls. It differs from the text also in high contrast.
QColor disabledColor(const Theme& theme);

/// The theme for what its style sheet does not name: file dialogs, menus, tips.
QPalette makePalette(const Theme& theme);

}  // namespace ringscope::viz
