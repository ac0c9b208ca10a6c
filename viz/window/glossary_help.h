// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>
#include <QWidget>

namespace ringscope::viz {

/// Shows entries of the glossary behind the words of a window. When the mouse rests on a word of
/// the glossary, and the widget has no tip of its own there, the entry is the tip.
class GlossaryHelp : public QObject {
  Q_OBJECT
 public:
  explicit GlossaryHelp(QWidget& window);

  /// Shows the entry of the word under the mouse. Returns false when no word of the glossary is
  /// there.
  bool showAtMouse();

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  QWidget& window_;
  bool forwards_ = false;  // an event goes to its widget
};

/// Shows all entries in a dialog, with a field that filters them.
void showGlossary(QWidget* parent);

}  // namespace ringscope::viz
