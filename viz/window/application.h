// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QApplication>
#include <functional>

namespace ringscope::viz {

/// The border at which every exception of the window's thread becomes a sentence: whatever a file
/// makes a view do, the window goes on.
class Application : public QApplication {
 public:
  using QApplication::QApplication;

  bool notify(QObject* receiver, QEvent* event) override;

  /// Shows a sentence; each is said once in a row, since what cannot be painted is painted often.
  std::function<void(const QString&)> show_problem;

 private:
  QString last_;
};

}  // namespace ringscope::viz
