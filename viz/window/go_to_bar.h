// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QWidget>

#include "viz/kit/elided_label.h"
#include "viz/kit/entry_field.h"
#include "viz/scene/go_to.h"
#include "viz/session/viewing.h"

namespace ringscope::viz {

/// The bar that takes the words of a place. While the user types, the bar says which place that is,
/// or what it accepts.
class GoToBar : public QWidget {
  Q_OBJECT
 public:
  GoToBar(const Viewing& viewing, QWidget* parent);

  /// Shows the bar and gives the focus to its field.
  void open();

 Q_SIGNALS:
  /// The user entered a place that the recording has.
  void chosen(const GoToTarget& target);
  /// The user closed the bar without a place.
  void left();

 private:
  void answer(bool entered);
  GoToTarget target() const;

  const Viewing& viewing_;
  EntryField* field_;
  ElidedLabel* answer_;
};

}  // namespace ringscope::viz
