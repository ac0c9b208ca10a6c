// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainter>

#include "viz/style/theme.h"
#include "viz/views/compare/run_card.h"

namespace ringscope::viz {

/// Width and height of a button on a card, and the gap between two.
inline constexpr double kCardButton = 72, kCardButtonHigh = 29, kCardButtonGap = 8;

/// The layout of the cards of two recordings, beside each other at the top of a view. All words can
/// be read: if they have no room beside the buttons of the second card, lines wrap, and the buttons
/// lie beside its name or under all words.
struct CompareCards {
  CompareCards(double width, const RunCard& a, const RunCard& b);

  QRectF first, second;  ///< in a view whose left upper corner is (0, 0)
  QRectF buttons;        ///< what is left to them on the second card
  double head;           ///< the height that stays in sight

  /// So many buttons have room.
  int buttonCount() const;
  /// At the top of what is `seen`, over whatever lies there.
  void paint(QPainter& painter, const QRectF& seen, const RunCard& a, const RunCard& b,
             const Theme& theme) const;

 private:
  /// The top of the words under the name.
  double words_top_, name_width_[2], words_width_[2];

  void placeButtons(const RunCard& card);
  void paintCard(QPainter& painter, const QPointF& shift, int which, const RunCard& card,
                 const Theme& theme) const;
};

}  // namespace ringscope::viz
