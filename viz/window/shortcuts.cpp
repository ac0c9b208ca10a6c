// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/shortcuts.h"

#include <QAction>

#include "viz/session/selected_token.h"
#include "viz/window/command_palette.h"
#include "viz/window/glossary_help.h"
#include "viz/window/key_help.h"
#include "viz/window/keys.h"

namespace ringscope::viz {
namespace {

/// Adds commands to a window.
class CommandAdder {
 public:
  explicit CommandAdder(QWidget& window) : window_(window) {}

  template <typename Run>
  QAction* add(const QString& text, const QList<QKeySequence>& keys, const Run& run) const {
    auto* action = new QAction(text, &window_);
    action->setShortcuts(keys);
    QObject::connect(action, &QAction::triggered, &window_, [run] { run(); });
    window_.addAction(action);
    return action;
  }

 private:
  QWidget& window_;
};

void addViewCommands(const CommandAdder& commands, WindowPage& page) {
  const auto& entries = viewRegistry();
  for (std::size_t i = 0; i < entries.size(); ++i)
    commands.add("Show " + entries[i].title, {viewKey(i)},
                 [&page, name = entries[i].name] { page.stage()->show(name); });
  commands.add("Next view", {QKeySequence("Ctrl+Tab")}, [&page] { page.stage()->showNext(1); });
  commands.add("Previous view",
               {QKeySequence("Ctrl+Shift+Tab"), QKeySequence("Ctrl+Shift+Backtab")},
               [&page] { page.stage()->showNext(-1); });
  commands.add("Back to the place that was left", {QKeySequence("Alt+Left")},
               [&page] { page.stage()->goBack(); });
}

void addFindCommands(const CommandAdder& commands, QWidget& window, const ShortcutTargets& to) {
  WindowPage& page = to.page;
  auto* palette = new CommandPalette(window);
  commands.add("List all commands", {QKeySequence("Ctrl+Shift+P")}, [palette] { palette->open(); });
  commands.add("Go to a token, layer, rank, ring step or hop", {QKeySequence("Ctrl+G")},
               [&page] { page.stage()->goToBar()->open(); });
  commands.add("Search in this view", {QKeySequence("/"), QKeySequence("Ctrl+F")},
               [&page, palette] {
                 if (!page.stage()->focusSearch()) palette->open();
               });
  commands.add("Show the merge of the selected token", {QKeySequence("Ctrl+M")},
               [&viewing = to.viewing] { showMerge(viewing, viewing.navigator.cursor().token); });
}

void addRunCommands(const CommandAdder& commands, const ShortcutTargets& to) {
  WindowPage& page = to.page;
  commands.add("Open a recording", {QKeySequence::Open},
               [&recordings = to.recordings] { recordings.chooseFile(); });
  commands.add("History: all runs and recordings", {QKeySequence("Ctrl+H")},
               [&history = to.history] { history.toggle(); });
  commands.add("Save the recording as", {QKeySequence("Ctrl+Shift+S")},
               [&saves = to.saves] { saves.choose(); });
  commands.add("Export the recording, or stop the export", {QKeySequence("Ctrl+E")},
               [&page] { page.topBar()->exporter()->press(); });
  ExportButton* exporter = page.topBar()->exporter();
  for (QAction* entry : exporter->formats())
    commands.add("Export as " + entry->text(), {}, [&page, exporter, entry] {
      if (entry->isEnabled()) return entry->trigger();
      page.status()->tell(exporter->toolTip());
    });
  commands.add("Run again with these settings", {QKeySequence("F5")},
               [&page, &runs = to.runs] { runs.start(page.runPanel()->config()); });
  commands.add("What if: run again beside what is on show", {QKeySequence("F6")},
               [&runs = to.runs] { runs.whatIf(); });
  commands.add("Pause or continue the live run", {QKeySequence("F8")},
               [to] { to.jobs.isShown() ? to.job.pause() : to.runs.pauseOrGo(); });
  commands.add("Stop the live run", {}, [&engine = to.engine] {
    if (engine.active()) engine.stop();
  });
  commands.add("One ring step of the paused run", {QKeySequence("F10")}, [to] {
    to.jobs.isShown() ? to.job.step() : to.engine.step(traces::control::StepUnit::kStage);
  });
}

void addNoteCommands(const CommandAdder& commands, NotesControl& notes) {
  commands.add("Write a note about this moment", {QKeySequence("Ctrl+N")},
               [&notes] { notes.begin(); });
  commands.add("Show or hide the notes", {QKeySequence("Ctrl+Shift+N")},
               [&notes] { notes.togglePanel(); });
  commands.add("Undo the last change of the notes", {QKeySequence("Ctrl+Z")},
               [&notes] { notes.book().undo(); });
  commands.add("Redo the change of the notes", {QKeySequence("Ctrl+Shift+Z")},
               [&notes] { notes.book().redo(); });
}

void addWindowCommands(const CommandAdder& commands, QWidget& window, const ShortcutTargets& to) {
  WindowPage& page = to.page;
  commands.add("Theme: dark, light, high contrast", {QKeySequence("Ctrl+T")},
               [&page] { Q_EMIT page.topBar()->themeClicked(); });
  auto* glossary = new GlossaryHelp(window);
  commands.add("Explain the word under the mouse, or list all keys", {QKeySequence("F1")},
               [&window, glossary] {
                 if (!glossary->showAtMouse()) showKeyHelp(&window);
               });
  commands.add("List all keys", {}, [&window] { showKeyHelp(&window); });
  commands.add("Glossary", {QKeySequence("Shift+F1")}, [&window] { showGlossary(&window); });
  commands.add("Show or hide the run panel", {QKeySequence("F3")},
               [&page] { page.toggleRunPanel(); });
  commands.add("Show or hide the inspector", {QKeySequence("F4")},
               [&page] { page.toggleInspector(); });
  commands.add("Presenter mode", {QKeySequence("F11")},
               [&page] { page.setPresenting(!page.isPresenting()); });
  commands.add("Leave presenter mode or the comparison", {QKeySequence("Esc")},
               [&page, &beside = to.beside, &history = to.history] {
                 StageArea* stage = page.stage();
                 if (page.history()->isVisible()) return history.close();
                 if (stage->problemCard()->isVisible()) return stage->problemCard()->hide();
                 if (stage->goToBar()->isVisible()) return stage->goToBar()->hide();
                 page.isPresenting() ? page.setPresenting(false) : beside.close();
               });
  commands.add("Start page: explore, debug, teach", {}, [&page, &quiz = to.quiz] {
    if (!quiz.isRunning()) page.showStart(true);
  });
  commands.add("Lessons: six lessons beside the views", {},
               [&lessons = to.lessons] { lessons.isShown() ? lessons.close() : lessons.start(); });
  commands.add("In a quiz: pin what is on show as evidence", {QKeySequence("Ctrl+D")},
               [&quiz = to.quiz] { quiz.pin(); });
  commands.add("Close the window", {QKeySequence::Quit}, [&window] { window.close(); });
}

/// The keys without Ctrl are no shortcuts, because a view or a list may use the same key for
/// itself.
void addKeyCommands(const CommandAdder& commands, Viewing& viewing) {
  for (const KeyCommand& key : keyCommands())
    commands.add(key.text, {}, [run = key.run, &viewing] { run(viewing); })
        ->setData(QVariant::fromValue(key.key));
}

}  // namespace

void addShortcuts(QWidget& window, const ShortcutTargets& to) {
  const CommandAdder commands(window);
  addViewCommands(commands, to.page);
  addFindCommands(commands, window, to);
  addRunCommands(commands, to);
  addNoteCommands(commands, to.notes);
  addWindowCommands(commands, window, to);
  addKeyCommands(commands, to.viewing);
}

}  // namespace ringscope::viz
