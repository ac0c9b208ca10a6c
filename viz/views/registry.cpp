// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/view.h"

namespace ringscope::viz {

View* makeRingView(Hub& hub, QWidget* parent);
View* makeCoverageView(Hub& hub, QWidget* parent);
View* makeMergeView(Hub& hub, QWidget* parent);
View* makeDiffView(Hub& hub, QWidget* parent);

const std::vector<ViewEntry>& viewRegistry() {
  static const std::vector<ViewEntry> kViews = {
      {"ring", "Ring", makeRingView},
      {"coverage", "Coverage", makeCoverageView},
      {"merge", "Merge", makeMergeView},
      {"diff", "Diff", makeDiffView},
  };
  return kViews;
}

}  // namespace ringscope::viz
