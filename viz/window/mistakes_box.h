// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QCheckBox>
#include <QLabel>
#include <QPushButton>
#include <QWidget>

#include "viz/window/run_config.h"

namespace ringscope::viz {

/// Which mistakes the next run makes, and, of an opened recording, what it made: sealed until
/// somebody asks, and made again by its next run all the same.
class MistakesBox : public QWidget {
  Q_OBJECT
 public:
  explicit MistakesBox(QWidget* parent = nullptr);

  QStringList chosen() const;
  /// Returns the injected mistakes of the opened recording that the next run must repeat.
  QStringList sealed() const;
  void setChosen(const QStringList& mistakes);
  /// Greys the mistakes that would change nothing of the next run, with the reason. A ticked one
  /// stays, so that it can be unticked.
  void offerFor(const RunConfig& next);
  /// The recording that Reveal opens; empty: none.
  void setRecording(const QString& path);
  /// The same of one that was opened. `can_run_again`: the next run makes what was injected into
  /// it, and what was chosen for another is forgotten.
  void setOpened(const QString& path, bool can_run_again);

 Q_SIGNALS:
  void changed();

 private:
  QWidget* makeList();
  void reveal();
  void readSealed(const QString& path);
  void chosenChanged();

  QString recording_;
  QStringList sealed_;  // of the recording that was opened
  QString kept_;        // the same, in two words
  QCheckBox* keep_;     // hidden: of no opened recording it is known what was injected
  QList<QCheckBox*> boxes_;
  QLabel *count_, *revealed_;
  QPushButton* reveal_;
};

}  // namespace ringscope::viz
