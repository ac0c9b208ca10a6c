// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QWidget>

namespace ringscope::viz {

/// Shows what every key does.
void showKeyHelp(QWidget* parent);

}  // namespace ringscope::viz
