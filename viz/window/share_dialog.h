// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QCheckBox>
#include <QDialog>
#include <QLineEdit>
#include <QPushButton>

namespace ringscope::viz {

/// Asks which views and ring steps a shared page shows.
class ShareDialog : public QDialog {
  Q_OBJECT
 public:
  explicit ShareDialog(QWidget* parent = nullptr);

  /// Returns the choice as options of --export-html.
  QStringList arguments() const;

 private:
  void showState();

  QList<QCheckBox*> views_;  // their object names are the names of the views
  QLineEdit *from_, *until_;
  QPushButton* save_;
};

}  // namespace ringscope::viz
