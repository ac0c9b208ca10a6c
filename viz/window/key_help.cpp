// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/key_help.h"

#include <QDialog>
#include <QDialogButtonBox>
#include <QGridLayout>
#include <QLabel>
#include <iterator>

namespace ringscope::viz {
namespace {

const std::pair<const char*, const char*> kKeys[] = {
    {"Enter", "press the button, or open the choice, that has the focus"},
    {"Space", "play or hold; in presenter mode and in Now: the next ring step"},
    {"← →", "a ring step; Shift: a whole pass; Ctrl: a training step"},
    {"Home End", "the first, the last ring step"},
    {"1 … 8", "select a rank of the group; Alt: the ninth to the sixteenth"},
    {"R", "the next rank of the group; Shift: the one before"},
    {"G", "the next group of ranks, where a mesh has several"},
    {"Ctrl+1 … Ctrl+0", "the views, in the order of their tabs; then Ctrl+Shift+1 …"},
    {"Ctrl+Tab", "the next view; with Shift: the one before"},
    {"Ctrl+G", "go to a token, layer, rank, ring step or hop"},
    {"Ctrl+M", "the merge of the selected token, as a double click on it"},
    {"Ctrl+Shift+P", "all commands, filtered as one types"},
    {"N", "hold at the next divergence, in the order of dependence; in Compare: difference"},
    {"Alt+←", "back to where a finding, N or Ctrl+G led away from"},
    {"T", "ring step axis or time axis"},
    {"F", "follow the live head"},
    {"+ −", "speed of the animation"},
    {"M", "with or without motion"},
    {"W A S D", "in Timeline: closer, earlier, wider, later; so do the wheel and dragging"},
    {"F M R", "in Timeline: fit step or run; a mark; measure from here to the next R"},
    {"O C", "in Timeline: own devices, a model, or as recorded; the critical path"},
    {"/ Ctrl+F", "search in Timeline or Tensor; in other views: all commands"},
    {"↑ ↓ Enter", "in Compare: choose a place and go there; open or close it"},
    {"B", "in Compare: both recordings beside each other in every view; Esc ends it"},
    {"E", "in Compare: a second recording of the other run, for how far equal runs differ"},
    {"F3", "the run panel, shown or hidden"},
    {"F4", "the inspector, shown or hidden"},
    {"F5", "run again with these settings"},
    {"F6", "what if: run again beside what is on show"},
    {"F8", "pause or continue the live run"},
    {"F10", "one ring step of the paused run"},
    {"F11", "presenter mode"},
    {"Ctrl+O", "open a recording"},
    {"Ctrl+H", "history: all runs and recordings, with a search"},
    {"P C F2 Delete", "in the history: pin, compare, rename, delete"},
    {"Ctrl+Shift+S", "save the recording as: a whole copy, with its notes"},
    {"Ctrl+N", "a note about this moment; with Shift: the list of notes"},
    {"Ctrl+Z", "undo a change of the notes; with Shift: redo"},
    {"Ctrl+E", "export the recording, or stop it"},
    {"Ctrl+D", "in a quiz: pin what is on show as evidence"},
    {"Ctrl+T", "theme: dark, light, high contrast"},
    {"F1", "explain the word under the mouse; where there is none: this list"},
    {"Shift+F1", "the glossary"},
};

}  // namespace

void showKeyHelp(QWidget* parent) {
  QDialog dialog(parent);
  dialog.setWindowTitle("Keys");
  auto* grid = new QGridLayout(&dialog);
  grid->setContentsMargins(24, 20, 24, 16);
  grid->setHorizontalSpacing(24);
  // Two columns, so that the list fits a screen of 720 rows.
  constexpr int kRows = (static_cast<int>(std::size(kKeys)) + 1) / 2;
  int at = 0;
  for (const auto& [keys, meaning] : kKeys) {
    auto* name = new QLabel(keys, &dialog);
    name->setObjectName("mono");
    const int column = 2 * (at / kRows);
    grid->addWidget(name, at % kRows, column);
    grid->addWidget(new QLabel(meaning, &dialog), at % kRows, column + 1);
    ++at;
  }
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, &dialog);
  QObject::connect(buttons, &QDialogButtonBox::rejected, &dialog, &QDialog::reject);
  grid->addWidget(buttons, grid->rowCount(), 0, 1, 4);
  dialog.exec();
}

}  // namespace ringscope::viz
