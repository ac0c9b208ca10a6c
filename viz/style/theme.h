// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QColor>
#include <QFont>
#include <QString>
#include <vector>

#include "traces/format/schema/ids.h"

namespace ringscope::viz {

/// The colours that everything is drawn in. One set a theme; views name no other colour.
struct Theme {
  QString name;
  QColor background, panel, raised, line;
  QColor text, dim, faint;
  QColor accent, on_accent;
  QColor right, wait, wrong;
  QColor plate, on_plate;  ///< the light label on a block's face
  bool is_dark = true;

  static const std::vector<Theme>& all();
  /// Throws inputError that lists the names.
  static const Theme& named(const QString& name);
};

/// Returns the theme without the colours of verdicts, for a quiz round.
Theme withoutVerdicts(Theme theme);

/// Rank colours in the Okabe-Ito order; from 8 on the tint changes, after the pattern.
QColor rankColor(traces::WorldRank rank);

/// Contrast ratio of WCAG 2, from 1 to 21.
double contrast(const QColor& a, const QColor& b);

/// Inter and JetBrains Mono from the resources. Call once after the application is made.
void loadFonts();
/// Sizes are in logical pixels.
QFont textFont(int size, QFont::Weight weight = QFont::Normal);
QFont monoFont(int size, QFont::Weight weight = QFont::Normal);

/// The style sheet of all standard controls; `zoom` makes their type larger.
QString themeStyleSheet(const Theme& theme, double zoom = 1);

}  // namespace ringscope::viz
