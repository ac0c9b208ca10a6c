// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/shortcuts.h"

#include <QShortcut>

#include "viz/window/key_help.h"

namespace ringscope::viz {

void addShortcuts(QWidget& window, const ShortcutTargets& to) {
  const auto on = [&window](const QKeySequence& keys, auto action) {
    QObject::connect(new QShortcut(keys, &window), &QShortcut::activated, &window, action);
  };
  WindowPage& page = to.page;
  on(QKeySequence::Open, [&recordings = to.recordings] { recordings.chooseFile(); });
  on(QKeySequence("Ctrl+E"), [&page] { page.topBar()->exporter()->press(); });
  on(QKeySequence("Ctrl+T"), [&page] { Q_EMIT page.topBar()->themeClicked(); });
  on(QKeySequence("F1"), [&window] { showKeyHelp(&window); });
  on(QKeySequence("F3"), [&page] { page.toggleRunPanel(); });
  on(QKeySequence("F4"), [&page] { page.toggleInspector(); });
  on(QKeySequence("F5"), [&page, &runs = to.runs] { runs.start(page.runPanel()->config()); });
  on(QKeySequence("F6"), [&runs = to.runs] { runs.whatIf(); });
  on(QKeySequence("F8"), [to] { to.jobs.isShown() ? to.job.pause() : to.runs.pauseOrGo(); });
  on(QKeySequence("F10"), [to] {
    to.jobs.isShown() ? to.job.step() : to.engine.step(traces::control::StepUnit::kStage);
  });
  on(QKeySequence("F11"), [&page] { page.setPresenting(!page.isPresenting()); });
  on(QKeySequence("Alt+Left"), [&page] { page.stage()->goBack(); });
  on(QKeySequence("Esc"), [&page, &beside = to.beside] {
    if (page.stage()->problemCard()->isVisible()) return page.stage()->problemCard()->hide();
    page.isPresenting() ? page.setPresenting(false) : beside.close();
  });
  on(QKeySequence::Quit, [&window] { window.close(); });
  const auto& entries = viewRegistry();
  for (std::size_t i = 0; i < entries.size() && i < 9; ++i)
    on(QKeySequence(QString("Ctrl+%1").arg(i + 1)),
       [&page, name = entries[i].name] { page.stage()->show(name); });
}

}  // namespace ringscope::viz
