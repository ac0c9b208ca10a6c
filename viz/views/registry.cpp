// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/view.h"

namespace ringscope::viz {

View* makeRingView(Hub& hub, QWidget* parent);

const std::vector<ViewEntry>& viewRegistry() {
  static const std::vector<ViewEntry> kViews = {
      {"ring", "Ring", makeRingView},
  };
  return kViews;
}

}  // namespace ringscope::viz
