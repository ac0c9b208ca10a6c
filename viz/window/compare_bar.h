// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QToolButton>
#include <QWidget>

#include "viz/session/viewing.h"

namespace ringscope::viz {

/// Says over two stages what differs between them, and what came of it.
class CompareBar : public QWidget {
  Q_OBJECT
 public:
  CompareBar(const Viewing& before, const Viewing& after, QWidget* parent = nullptr);
  /// Before and after a what-if.
  void setChange(const QString& change);
  /// A recording, at the right, and a second one; `settings` differ.
  void setPair(const QString& settings);
  /// Puts each text over what it is about: over the cards of the Compare view A is at the left,
  /// over two stages the recording that A is compared with.
  void setOverCards(bool over_cards);

 Q_SIGNALS:
  void closed();

 private:
  void refresh();

  QString name_ = "AFTER", other_name_ = "BEFORE";  // of A and of B
  bool over_cards_ = false;
  const Viewing &before_, &after_;
  QLabel *change_, *left_text_, *right_text_;
};

}  // namespace ringscope::viz
