// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainterPath>
#include <optional>

#include "viz/views/ring/ring_canvas.h"

namespace ringscope::viz {

/// The place of a packet at the viewed moment.
struct PacketShape {
  QPainterPath trail;
  double stroke = 0;  ///< of the trail
  QRectF face, label;
  QString name;   ///< on the face
  QString words;  ///< of the label

  /// What it touches. A long trail bends round the middle, and what it bends round is not part.
  QRegion region() const;
};

/// Returns the place of a packet; none while it is not in flight, or when it leaves the group.
/// Neighbours in a ring pass packets along the track. Packets to other ranks, and packets without
/// room between the cards, take a lane inside the cards.
std::optional<PacketShape> packetShape(const RingCanvas& canvas, const MovingPacket& packet);

void drawPacket(const RingCanvas& canvas, const MovingPacket& packet);

}  // namespace ringscope::viz
