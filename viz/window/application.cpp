// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/application.h"

#include <iostream>

#include "viz/session/problem.h"

namespace ringscope::viz {

bool Application::notify(QObject* receiver, QEvent* event) {
  try {
    return QApplication::notify(receiver, event);
  } catch (...) {
    const QString problem = describeProblem(std::current_exception());
    if (problem == last_) return true;
    last_ = problem;
    std::cerr << "ringscope-gui: " << problem.toStdString() << "\n";
    if (show_problem) show_problem(problem);
  }
  return true;
}

}  // namespace ringscope::viz
