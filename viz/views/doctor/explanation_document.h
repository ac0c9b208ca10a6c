// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QImage>
#include <QTextDocument>

#include "traces/analysis/mistakes/explanation.h"
#include "viz/style/theme.h"

namespace ringscope::viz {

/// What an explanation shows of the recording in which the mistake was found: a view, and evidence.
struct ExplanationPicture {
  QImage image;  ///< null: there is no recording, or the mistake was not found in it
  QString caption;
  std::string evidence;  ///< what the doctor says of the recording, with its own numbers
};

/// How it is set.
struct ExplanationLayout {
  double width = 600;  ///< of the text
  double picture_width = 640;
  double zoom = 1;  ///< how much larger than normal its type is
  bool has_title = true;
};

/// Writes the explanation into the document, which must have the picture's device: what happens,
/// the recording's evidence and picture, how to fix it in each framework, how to see it in the
/// sample run and whose figures these are, where it was reported.
void fillExplanation(QTextDocument& document, const traces::Explanation& explanation,
                     const ExplanationPicture& picture, const ExplanationLayout& layout,
                     const Theme& theme);

/// Makes the document as wide as it has to be to fit into `room` when it is drawn smaller, and
/// returns by how much: 1 is the size of type that a window has.
double fitExplanation(QTextDocument& document, const traces::Explanation& explanation,
                      const ExplanationPicture& picture, const QSizeF& room);

}  // namespace ringscope::viz
