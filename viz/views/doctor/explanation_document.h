// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QImage>
#include <QTextDocument>

#include "traces/analysis/mistakes/explanation.h"
#include "viz/style/theme.h"

namespace ringscope::viz {

/// The parts of an explanation that come from the recording with the mistake: a view, and evidence.
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

/// Sets type, colours and gaps of every paragraph of a document that was read from Markdown.
void setParagraphs(QTextDocument& document, const ExplanationLayout& layout, const Theme& theme);

/// Writes the explanation into the document, which must have the picture's device. The sections
/// are: what happens, the recording's evidence and picture, the fix per framework, the sample run
/// and the source of its figures, and the reports.
void fillExplanation(QTextDocument& document, const traces::Explanation& explanation,
                     const ExplanationPicture& picture, const ExplanationLayout& layout,
                     const Theme& theme);

/// Fills the document at the width at which it fits into `room` when it is drawn smaller. Returns
/// the scale of the drawing; 1 is the size of type in a window.
double fitExplanation(QTextDocument& document, const traces::Explanation& explanation,
                      const ExplanationPicture& picture, const QSizeF& room);

}  // namespace ringscope::viz
