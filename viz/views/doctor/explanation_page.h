// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "viz/views/doctor/explanation_document.h"

namespace ringscope::viz {

/// Writes an explanation as one page of A4. Throws inputError where the file cannot be written.
void writeExplanationPage(const QString& path, const traces::Explanation& explanation,
                          const ExplanationPicture& picture);

}  // namespace ringscope::viz
