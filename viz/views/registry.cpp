// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/base/view.h"

namespace ringscope::viz {

View* makeRingView(Viewing& viewing, QWidget* parent);
View* makePositionsView(Viewing& viewing, QWidget* parent);
View* makeMergeView(Viewing& viewing, QWidget* parent);
View* makeMemoryView(Viewing& viewing, QWidget* parent);
View* makeCurvesView(Viewing& viewing, QWidget* parent);
View* makeQueryView(Viewing& viewing, QWidget* parent);
View* makeCompareView(Viewing& viewing, QWidget* parent);
View* makeTimelineView(Viewing& viewing, QWidget* parent);
View* makeDiffView(Viewing& viewing, QWidget* parent);
View* makeTensorView(Viewing& viewing, QWidget* parent);
View* makeTokensView(Viewing& viewing, QWidget* parent);
View* makeDoctorView(Viewing& viewing, QWidget* parent);
View* makeCoverageView(Viewing& viewing, QWidget* parent);
View* makeNowView(Viewing& viewing, QWidget* parent);

const std::vector<ViewEntry>& viewRegistry() {
  static const std::vector<ViewEntry> kViews = {
      {"ring", "Ring", makeRingView},
      {"coverage", "Coverage", makeCoverageView},
      {"positions", "Positions", makePositionsView},
      {"merge", "Merge", makeMergeView},
      {"memory", "Memory", makeMemoryView},
      {"timeline", "Timeline", makeTimelineView},
      {"diff", "Diff", makeDiffView, true},
      {"tensor", "Tensor", makeTensorView},
      {"doctor", "Doctor", makeDoctorView, true},
      {"now", "Now", makeNowView},
      {"curves", "Curves", makeCurvesView},
      {"query", "Query", makeQueryView, true},
      {"compare", "Compare", makeCompareView, true},
      {"tokens", "Tokens", makeTokensView},
  };
  return kViews;
}

}  // namespace ringscope::viz
