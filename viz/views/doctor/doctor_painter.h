// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainter>

#include "viz/style/theme.h"
#include "viz/views/doctor/doctor_scene.h"

namespace ringscope::viz {

/// Draws the headline and the cards from the top, as many as have room.
void paintDoctor(QPainter& painter, const QRectF& area, const DoctorScene& scene,
                 const Theme& theme);

/// Draws the headline with how far it reaches, or why there are no cards.
void paintDoctorHead(QPainter& painter, const QRectF& area, const DoctorScene& scene,
                     const Theme& theme);
/// Returns the area of the cards within the area of a drawn doctor.
QRectF doctorCards(const QRectF& area, const DoctorScene& scene);

/// Draws a finding: what, the evidence in numbers, what to change, and where it shows.
void paintFindingCard(QPainter& painter, const QRectF& box, const FindingCard& card, bool selected,
                      const Theme& theme);
/// The height that its words need in a box of this width.
double findingCardHeight(const FindingCard& card, double width);

}  // namespace ringscope::viz
