// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QComboBox>
#include <QGridLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QWidget>

#include "viz/kit/tick_box.h"

namespace ringscope::viz {

/// The rows of a form: names, marks and boxes. Makes the boxes and marks those whose settings
/// differ from another run's.
class SettingsRows : public QWidget {
  Q_OBJECT
 public:
  explicit SettingsRows(QWidget* parent = nullptr);

  QComboBox* makeChoice(const QString& name, const QStringList& options);
  QSpinBox* makeNumber(const QString& name, int most, int value);
  QLineEdit* makeText(const QString& name, const QString& placeholder, const QString& explanation);
  TickBox* makeTick(const QString& text, const QString& name, const QString& explanation);
  QPushButton* makePicker(const QString& name);
  /// Adds a row with these widgets side by side. Returns the label with the row's name.
  QLabel* add(const QString& name, const QList<QWidget*>& widgets);
  /// Adds a widget over the whole width.
  void addWide(QWidget* widget);

  /// Shows a number. Widens the range of the box when the number lies outside.
  static void showNumber(QSpinBox* box, std::int64_t value);
  /// Shows an option. Adds it when the box does not offer it.
  static void showOption(QComboBox* box, const QString& option);

  /// Marks a box and names the value of the run on show. Removes the mark if the value is empty.
  void mark(QWidget* box, const QString& shown_value);
  void unmarkAll();
  /// Shows a dot beside the name of each row with a marked box: a border alone is easy to overlook.
  void markRows();

 Q_SIGNALS:
  /// Emitted when the value of a box has changed.
  void changed();

 private:
  struct Row {
    QLabel* mark;
    QList<QWidget*> boxes;
  };
  QGridLayout* grid_;
  QList<Row> rows_;
};

}  // namespace ringscope::viz
