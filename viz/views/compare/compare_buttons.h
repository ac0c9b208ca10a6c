// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPushButton>

#include "viz/session/comparison.h"
#include "viz/views/compare/compare_cards.h"

namespace ringscope::viz {

/// The buttons of the Compare view: on the card of the second recording or, where there is none
/// yet, under the sentence that says so.
class CompareButtons {
 public:
  explicit CompareButtons(QWidget* parent);

  QPushButton* open() { return open_; }
  QPushButton* close() { return close_; }
  QPushButton* beside() { return beside_; }
  /// In a view of this size before it is enlarged by `zoom`.
  void place(const Comparison& of, const CompareCards& cards, const QSizeF& view, double zoom);

 private:
  QPushButton *open_, *close_, *beside_;
};

}  // namespace ringscope::viz
