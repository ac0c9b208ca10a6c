// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace ringscope::viz {

/// True when the desktop is set to less motion: GTK's and GNOME's "enable animations" off, KDE's
/// animation speed at instant, or RINGSCOPE_REDUCED_MOTION=1. Qt 6.4 does not tell by itself.
bool desktopReducesMotion();

}  // namespace ringscope::viz
