// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QFrame>
#include <QLabel>

namespace ringscope::viz {

/// A card in the middle of the stage that says why a recording cannot be shown, where it was looked
/// for, and what to do.
class ProblemCard : public QFrame {
  Q_OBJECT
 public:
  explicit ProblemCard(QWidget* parent);

  /// Shows why the recording at the path cannot be opened.
  void show(const QString& path, const QString& reason);

 Q_SIGNALS:
  void openRequested();

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void place();

  QLabel *what_, *where_, *advice_;
};

}  // namespace ringscope::viz
