// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QImage>

#include "viz/session/session.h"
#include "viz/style/theme.h"
#include "viz/views/doctor/explanation_document.h"
#include "viz/views/doctor/finding_card_scene.h"

namespace ringscope::viz {

/// A view of the recording at a place, drawn beside what is on show and without moving it. `ratio`:
/// dots to a logical pixel. Throws usageError where there is no such view. Only while no chunks are
/// being added.
QImage drawPicture(const Session& session, const QString& view, const Cursor& cursor,
                   const Theme& theme, double ratio);

/// The view that a finding names, at its place; `cursor` says what the finding leaves open.
ExplanationPicture drawPicture(const Session& session, const FindingCard& card,
                               const Cursor& cursor, const Theme& theme, double ratio);

}  // namespace ringscope::viz
