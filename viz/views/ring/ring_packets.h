// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainterPath>
#include <optional>

#include "viz/views/ring/ring_canvas.h"

namespace ringscope::viz {

/// Where a packet is drawn at the viewed moment.
struct PacketShape {
  QPainterPath trail;
  double stroke = 0;  ///< of the trail
  QRectF face, label;
  QString name;   ///< on the face
  QString words;  ///< of the label

  /// What it touches. A long trail bends round the middle, and what it bends round is not part.
  QRegion region() const;
};

/// Nothing while the packet is not under way, or when it leaves the group. Neighbours in a ring
/// pass packets along the track; what goes to other ranks, as in gathers and all-to-alls, and what
/// has no room between the cards goes by a lane inside the cards, round the words in the middle.
std::optional<PacketShape> packetShape(const RingCanvas& canvas, const MovingPacket& packet);

void drawPacket(const RingCanvas& canvas, const MovingPacket& packet);

}  // namespace ringscope::viz
