// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "viz/share/view_frames.h"

namespace ringscope::viz {

/// One view of a recording at one ring step.
struct PictureChoice {
  QString view;
  std::optional<Place> at;  ///< nothing: the place of the first finding, or the first ring step
  QString theme = "light";
};

/// Draws a view into a file. The end of the file's name says the format: .svg, .pdf or .png. Throws
/// usageError for another name, an unknown view, or a place that was not recorded, and inputError
/// when the file cannot be written.
void writePicture(const Session& session, const PictureChoice& choice, const std::string& output);

}  // namespace ringscope::viz
