// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/view.h"

namespace ringscope::viz {

View* makeRingView(Hub& hub, QWidget* parent);
View* makeCoverageView(Hub& hub, QWidget* parent);
View* makePositionsView(Hub& hub, QWidget* parent);
View* makeMergeView(Hub& hub, QWidget* parent);
View* makeMemoryView(Hub& hub, QWidget* parent);
View* makeDiffView(Hub& hub, QWidget* parent);
View* makeTensorView(Hub& hub, QWidget* parent);
View* makeDoctorView(Hub& hub, QWidget* parent);
View* makeNowView(Hub& hub, QWidget* parent);

const std::vector<ViewEntry>& viewRegistry() {
  static const std::vector<ViewEntry> kViews = {
      {"ring", "Ring", makeRingView},
      {"coverage", "Coverage", makeCoverageView},
      {"positions", "Positions", makePositionsView},
      {"merge", "Merge", makeMergeView},
      {"memory", "Memory", makeMemoryView},
      {"diff", "Diff", makeDiffView},
      {"tensor", "Tensor", makeTensorView},
      {"doctor", "Doctor", makeDoctorView},
      {"now", "Now", makeNowView},
  };
  return kViews;
}

}  // namespace ringscope::viz
