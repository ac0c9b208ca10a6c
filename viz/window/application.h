// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QApplication>
#include <functional>

#include "viz/window/input_rules.h"

namespace ringscope::viz {

/// The border at which every exception of the window's thread becomes a sentence: whatever a file
/// makes a view do, the window goes on. Also installs the rules for wheel and keys.
class Application : public QApplication {
 public:
  Application(int& argc, char** argv) : QApplication(argc, argv) { installEventFilter(&rules_); }

  bool notify(QObject* receiver, QEvent* event) override;

  /// Shows a sentence; each is said once in a row, since what cannot be painted is painted often.
  std::function<void(const QString&)> show_problem;

 private:
  QString last_;
  InputRules rules_;
};

}  // namespace ringscope::viz
