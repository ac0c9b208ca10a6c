// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPaintEngine>
#include <QPainter>

namespace ringscope::viz {

/// Reports whether a painter writes shapes and text into a file. Painters then copy no kept
/// pictures, so that a reader can select their words.
inline bool writesShapes(const QPainter& painter) {
  const QPaintEngine* engine = painter.paintEngine();
  return engine && (engine->type() == QPaintEngine::SVG || engine->type() == QPaintEngine::Pdf);
}

}  // namespace ringscope::viz
