// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QCheckBox>
#include <QLabel>
#include <QPushButton>
#include <QWidget>

namespace ringscope::viz {

/// Which mistakes the next run makes, and, of an opened recording, what it made: sealed until
/// somebody asks.
class MistakesBox : public QWidget {
  Q_OBJECT
 public:
  explicit MistakesBox(QWidget* parent = nullptr);

  QStringList chosen() const;
  void setChosen(const QStringList& mistakes);
  /// The recording that Reveal opens; empty: none.
  void setRecording(const QString& path);

 Q_SIGNALS:
  void changed();

 private:
  QWidget* makeList();
  void reveal();

  QString recording_;
  QList<QCheckBox*> boxes_;
  QLabel *count_, *revealed_;
  QPushButton* reveal_;
};

}  // namespace ringscope::viz
